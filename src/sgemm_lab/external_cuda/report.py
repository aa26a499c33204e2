"""The report on one kernel of a file, and what a caller may say about all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.external_cuda.findings import Finding
from sgemm_lab.external_cuda.index_overflow import IndexOverflow
from sgemm_lab.external_cuda.launch import Prepared
from sgemm_lab.kernel import Size

Verdict = Literal["right", "wrong", "would be wrong", "no fault found", "not run"]

LAUNCH_SECONDS = 20.0
"""Default time limit of one launch."""

FILE_SECONDS, KERNEL_SECONDS = 30.0, 6.0
"""Processor time for a whole file, and for a kernel of many while any is left."""


@dataclass(frozen=True)
class Options:
    """What the caller says about every kernel of the file."""

    sizes: Sequence[Size] | None = None
    """Sizes M, N, K of products; None for those that reach the kernel's branches."""
    seed: int = 0
    time_limit: float = LAUNCH_SECONDS
    """Seconds of one launch."""
    seconds: float = FILE_SECONDS
    """Processor time for the file: what is begun later is left out, and the report says so."""
    expect: tuple[str, ...] = ()
    """Expected arrays, such as "y = 2 * x"."""
    tolerance: float | None = None


@dataclass(frozen=True)
class KernelReport:
    """What a check says of one kernel."""

    kernel: str
    """With the values of its template: "tiled<16>"."""
    file: str
    line: int
    """Where it stands; 0 if it was not found."""
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    said: tuple[str, ...] = ()
    """What was assumed, compared and tried, in sentences; why it was not run."""
    sizes: tuple[CheckResult, ...] = ()
    """Of a product: the result at each size."""
    limits: tuple[IndexOverflow, ...] = ()
    """Of a product: sizes at which an index or the grid overflows."""

    @property
    def judged(self) -> bool:
        """Whether the kernel was run."""
        return self.verdict != "not run"


def verdict_of(findings: Sequence[Finding], clean: Verdict) -> Verdict:
    """Return the verdict that findings lead to; ``clean`` where none is an error or a warning."""
    severities = {one.severity for one in findings}
    if "error" in severities:
        return "wrong"
    return "would be wrong" if "warning" in severities else clean


def place_of(prepared: Prepared) -> tuple[str, int]:
    """Return the file and the line in which a kernel stands."""
    return prepared.opened.file, prepared.opened.line
