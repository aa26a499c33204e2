"""Simulate one kernel of a CUDA file, count its memory requests and check its result."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.compile_file import open_file
from sgemm_lab.external_cuda.cuda_file import own_kernels, read_sources
from sgemm_lab.external_cuda.findings import Finding, Severity, finding_of
from sgemm_lab.external_cuda.launch import ExternalKernel, Settings, for_node
from sgemm_lab.external_cuda.program import follow_program, launch_of
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import Hazard, Result, worker
from sgemm_lab.simulator.simulation import hazard_of, result_of

SAME_VALUE = "All write the same value, so any order will do."


@dataclass(frozen=True)
class Verdict:
    """How one array after a launch compares with its expected values."""

    name: str
    wrong: int
    elements: int
    max_abs_error: float
    """The largest difference; infinite where an element is not a number."""


@dataclass(frozen=True)
class ExternalRun:
    """One simulated launch of an external kernel: counts and verdicts."""

    kernel: ExternalKernel
    name: str
    """With the values of its template: "tiled<16>"."""
    size: Size
    depends_on_size: bool
    """Whether grid, block or arguments name M, N or K."""
    multiplies: bool
    """Whether it is given the matrices of a product."""
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: str
    """As ``--args`` has them."""
    notes: tuple[str, ...]
    """What was left out, and assumed of variables of the file."""
    assumed: tuple[str, ...]
    """What was assumed about arguments and launch, or read from the host code."""
    sentences: tuple[str, ...]
    """What was left out and assumed, what is right or wrong, and why."""
    result: Result
    severities: tuple[Severity, ...]
    """Of each hazard."""
    harmless: tuple[Hazard, ...]
    """Races of threads that write the same value; they are not among the hazards."""
    verdicts: tuple[Verdict, ...]
    """One per checked array; empty if no result was expected."""
    changed: tuple[str, ...]
    """Input arrays that the kernel overwrote."""
    wrong: bool
    cause: str
    """The likely cause of a wrong C, in a sentence; "" if none is known or a hazard or a warning
    about an uninitialised variable explains more."""
    others: tuple[Finding, ...]
    """What other orders of blocks and warps show."""
    tried: tuple[str, ...]
    """The options of those orders."""
    before: Mapping[str, npt.NDArray[Any]]
    """The numbers of all arrays before the launch, by name."""
    after: Mapping[str, npt.NDArray[Any]]
    """The numbers of all arrays after it."""
    types: Mapping[str, str]
    """The C++ type of the elements of each array, such as "half"."""

    def _of(self, is_error: bool) -> list[Hazard]:
        hazards = zip(self.result.hazards, self.severities, strict=True)
        return [one for one, severity in hazards if (severity == "error") == is_error]

    @property
    def errors(self) -> list[Hazard]:
        """The hazards that do not rest on an assumption."""
        return self._of(True)

    @property
    def would_happen(self) -> list[Hazard]:
        """The hazards that another launch than the assumed one need not have."""
        return self._of(False)

    def findings(self) -> list[str]:
        """Return a sentence for each hazard and warning; what was assumed is named."""
        would = [f"Would happen with the assumed launch: {one}" for one in self.would_happen]
        information = [f"Information: {one} {SAME_VALUE}" for one in self.harmless]
        return [*map(str, self.errors), *would, *map(str, self.result.warnings), *information]


def count_external(
    kernel: ExternalKernel,
    size: Size,
    *,
    expect: tuple[str, ...] = (),
    tolerance: float | None = None,
    settings: Settings | None = None,
    other_orders: bool = False,
    contents: Mapping[str, npt.NDArray[Any]] | None = None,
) -> ExternalRun:
    """Simulate one launch and check C = alpha·A·B + beta·C or the expected arrays.

    Matrices and arrays hold small integers, so their product is exact.

    Args:
        kernel: which kernel, and how it is launched.
        size: M, N and K.
        expect: expected arrays, such as "y = 2 * x".
        tolerance: their tolerance, relative to the larger of 1 and the expected value; None for
            that of their type.
        settings: settings of the simulation.
        other_orders: whether to run it in other orders of blocks and warps too.
        contents: what arrays hold instead of small integers.

    Raises:
        CompileError: the file does not compile.
        LabError: the file cannot be read, or the launch is unknown or does not fit the kernel.
    """
    settings = settings or Settings()
    launch = None
    if not (kernel.grid and kernel.block):
        launch, kernel = _by_its_program(kernel, settings.target)
    opened = open_file(kernel.pasted, settings.target)
    given = {
        "kernel": for_node(kernel, opened, expect),
        "size": size,
        "expect": expect,
        "tolerance": tolerance,
        "settings": {
            "checkHazards": settings.check_hazards,
            "countRequests": settings.count_requests,
            "schedule": settings.schedule,
            "order": settings.order,
            "timeLimit": settings.time_limit,
        },
        "takesOrders": other_orders,
        "contents": contents or {},
        "program": launch,
    }
    found = worker.ask("count_kernel", given, settings.progress)
    arrays = found["arrays"]
    empty = {one["symbol"]: np.empty(0, one["element"]["stored"]) for one in arrays}
    return ExternalRun(
        kernel=kernel,
        name=found["kernel"],
        size=size,
        depends_on_size=found["dependsOnSize"],
        multiplies=found["multiplies"],
        grid=tuple(found["grid"]),
        block=tuple(found["block"]),
        arguments=found["arguments"],
        notes=tuple(found["notes"]),
        assumed=tuple(found["assumed"]),
        sentences=tuple(found["sentences"]),
        result=result_of(found["result"], empty),
        severities=tuple(found["severities"]),
        harmless=tuple(map(hazard_of, found["harmless"])),
        verdicts=tuple(map(_verdict, found["verdicts"])),
        changed=tuple(found["changed"]),
        wrong=found["wrong"],
        cause=found["cause"],
        others=tuple(map(finding_of, found["others"])),
        tried=tuple(found["tried"]),
        before=found["before"],
        after=found["after"],
        types={one["name"]: one["element"]["name"] for one in arrays},
    )


def _by_its_program(
    kernel: ExternalKernel, target: str
) -> tuple[Mapping[str, Any] | None, ExternalKernel]:
    """Return how a kernel is launched by its file's program, and the kernel there."""
    with suppress(LabError):
        own = own_kernels(read_sources(kernel.pasted))
        name = kernel.pasted.entry or (own[0]["name"] if len(own) == 1 else "")
        program = follow_program(kernel.pasted, target) if name else None
        launch = program and launch_of(program, name)
        if program and launch:
            pasted = replace(kernel.pasted, text=program["text"], entry=launch["name"])
            return launch, replace(kernel, pasted=pasted)
    return None, kernel


def _verdict(found: Mapping[str, Any]) -> Verdict:
    error = found["maxAbsError"]
    # JSON has no infinity.
    return Verdict(
        found["name"], found["wrong"], found["elements"], math.inf if error is None else error
    )
