"""Predict the time of a Strassen plan: 7^levels leaf products, plus the additions.

The time of a leaf comes from the dispatch table. An addition reads or writes each number once, at
the bandwidth of a copy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.recorded import predicted_from_record
from sgemm_lab.gemm.strassen.plan import MOST_LEVELS, Plan, make_plan
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import load_tables, nearest_table
from sgemm_lab.records.gpu_record import Device, Record
from sgemm_lab.records.store import load_records

WORTH = 1.02
"""Least predicted speedup of a further level. Predictions of the speedup were too high by at most
4 % per level for leaves with 2048 rows or more (7 % without float4 alignment). No chosen plan was
slower than the plain product."""

LeafSeconds = Callable[[Size], float]


@dataclass(frozen=True)
class Machine:
    """Rates of a GPU."""

    gpu: str
    """Name."""
    leaf_seconds: LeafSeconds
    """Time of one product of M, N, K by the book's fastest kernel."""
    bytes_per_second: float
    """Bandwidth of a copy, bytes read and written."""


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds of a plan by part."""

    plan: Plan
    products: float
    additions: float

    @property
    def seconds(self) -> float:
        """Total; the steps run in sequence."""
        return self.products + self.additions


def with_leaf_kernel(machine: Machine, kernel: Kernel, record: Record) -> Machine:
    """Return a machine whose leaves all run one kernel, with times from its record.

    A leaf far from all recorded sizes gets an infinite time, so no plan uses it.
    """

    def seconds(size: Size) -> float:
        found = predicted_from_record(kernel, size, record, record.gpu.sms)
        return math.inf if found is None else found

    return replace(machine, leaf_seconds=seconds)


def book_machine(gpu: Device | None = None) -> Machine:
    """Return the rates of a GPU from the book's records, or of the most similar one.

    None: the first GPU with a table.
    """
    tables = load_tables()
    if not tables:
        raise LabError(
            "There is no table of tuned kernels. Make one with 'sgemm-lab tune' on a GPU."
        )
    gpu = gpu or tables[0].gpu
    copies = {
        record.gpu.name: reading.median
        for record in load_records()
        for run in record.runs
        for reading in run.readings
        if reading.benchmark == "bandwidth.copy"
    }
    if gpu.name not in copies:
        gpu = nearest_table(gpu, tables).gpu
    if gpu.name not in copies:
        raise LabError(
            f"The bandwidth of a copy was not measured on {gpu.name}. Run 'sgemm-lab record'."
        )
    picker = Picker(gpu, tables)
    return Machine(gpu.name, lambda size: picker.pick(*size).seconds, copies[gpu.name] * 1e9)


def predict(plan: Plan, machine: Machine) -> Prediction:
    """Return the predicted time of a plan."""
    products = plan.products * machine.leaf_seconds(plan.leaf)
    return Prediction(plan, products, plan.moved_bytes / machine.bytes_per_second)


def best_plan(
    size: Size, machine: Machine, limit: int | None = None, most: int = MOST_LEVELS
) -> Plan:
    """Return the plan that is predicted to be the fastest.

    ``limit`` is the workspace in bytes, by default ``default_workspace``. n further levels must
    give a speedup of WORTHⁿ, so two may pay where one does not. Zero levels are the plain product.
    """
    best = predict(make_plan(size, 0, limit), machine)
    for levels in range(1, most + 1):
        try:
            found = predict(make_plan(size, levels, limit), machine)
        except LabError:  # not enough workspace
            break
        if found.seconds * WORTH ** (levels - best.plan.levels) <= best.seconds:
            best = found
    return best.plan
