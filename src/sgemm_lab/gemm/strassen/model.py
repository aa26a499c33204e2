"""How long a plan takes, predicted: seven to the levels times a leaf's product, and the additions.

A leaf takes what the table of tuned kernels foretells for its size. An addition reads or writes
each number once, at the bandwidth of a copy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.recorded import recorded_seconds
from sgemm_lab.gemm.strassen.plan import MOST_LEVELS, Plan, make_plan
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import Table, load_tables, nearest_table
from sgemm_lab.records.gpu_record import Device, Record
from sgemm_lab.records.store import load_records

WORTH = 1.02
"""Levels more are taken where each is predicted to pay this factor, or several together its power.
Where leaves have 2048 rows and more, the gain over no levels is predicted at most 4 % a level too
high, and that of one level over another too, but where no float4 can read the rows: 7 %. A plan
must not be slower than the plain product, and none taken was."""

LeafSeconds = Callable[[Size], float]


@dataclass(frozen=True)
class Machine:
    """What a GPU is known to do."""

    gpu: str
    """Its name."""
    leaf_seconds: LeafSeconds
    """Of one product of M, N, K by the book's fastest kernel."""
    bytes_per_second: float
    """Of a copy, bytes read and written."""


@dataclass(frozen=True)
class Prediction:
    """Seconds of a plan, by parts."""

    plan: Plan
    products: float
    additions: float

    @property
    def seconds(self) -> float:
        """Of the whole plan: one step runs after the other."""
        return self.products + self.additions


def machine_of(table: Table, copy_gbs: float) -> Machine:
    """Return what the table of a GPU and its recorded copy, in GB/s, tell.

    Raises:
        LabError: the table has no kernel of today's book.
    """
    picker = Picker(table, table.gpu.sms)
    return Machine(table.gpu.name, lambda size: picker.pick(*size).seconds, copy_gbs * 1e9)


def with_leaves(machine: Machine, kernel: Kernel, record: Record) -> Machine:
    """Return a machine whose leaves are all multiplied by one kernel, as its record tells.

    A leaf of a size far from all recorded ones takes infinitely long: no plan has it.
    """

    def seconds(size: Size) -> float:
        found = recorded_seconds(kernel, size, record, record.gpu.sms)
        return math.inf if found is None else found

    return replace(machine, leaf_seconds=seconds)


def book_machine(gpu: Device | None = None) -> Machine:
    """Return what the book's records tell of a GPU, or of the one most like it; None: the first.

    Raises:
        LabError: there is no table of tuned kernels, or no copy was measured on its GPU.
    """
    tables = load_tables()
    if not tables:
        raise LabError(
            "There is no table of tuned kernels. Make one with 'sgemm-lab tune' on a GPU."
        )
    table = nearest_table(gpu or tables[0].gpu, tables)
    for record in load_records():
        copies = [r for run in record.runs for r in run.readings if r.benchmark == "bandwidth.copy"]
        if record.gpu.name == table.gpu.name and copies:
            return machine_of(table, copies[-1].median)
    raise LabError(
        f"The bandwidth of a copy was not measured on {table.gpu.name}. Run 'sgemm-lab record'."
    )


def foretell(plan: Plan, machine: Machine) -> Prediction:
    """Return how long a plan takes."""
    products = plan.products * machine.leaf_seconds(plan.leaf)
    return Prediction(plan, products, plan.moved_bytes / machine.bytes_per_second)


def best_plan(
    size: Size, machine: Machine, limit: int | None = None, most: int = MOST_LEVELS
) -> Plan:
    """Return the plan that is predicted to be fastest within a limit of workspace, in bytes.

    It has ``most`` levels at most. Each has to pay by ``WORTH``, or two together by its square:
    where one alone does not, two can. Without levels the plan is the plain product.
    """
    best = foretell(make_plan(size, 0, limit), machine)
    for levels in range(1, most + 1):
        try:
            found = foretell(make_plan(size, levels, limit), machine)
        except LabError:  # the workspace does not hold so many levels
            break
        if found.seconds * WORTH ** (levels - best.plan.levels) <= best.seconds:
            best = found
    return best.plan
