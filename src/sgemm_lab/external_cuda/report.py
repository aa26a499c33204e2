"""The report on one kernel of a file, and what a caller may say about all of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.external_cuda.findings import Finding, finding_of
from sgemm_lab.kernel import Size

Verdict = Literal["right", "wrong", "would be wrong", "no fault found", "not run"]

LAUNCH_SECONDS = 20.0
"""Default time limit of one launch."""

FILE_SECONDS, KERNEL_SECONDS = 60.0, 6.0
"""Processor time for a whole file, and for a kernel of many while any is left."""


WRONG_SECONDS = 2.0
"""Processor time for a kernel that is known to be wrong already."""


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
class IndexOverflow:
    """An index or a grid that overflows for large matrices: see ``index_overflow.ts``."""

    kind: str
    """"index" or "grid"."""
    side: int
    """The smallest M = N = K at which it overflows."""
    file: str | None
    line: int | None
    """The access whose address has the narrow index."""
    message: str

    def __str__(self) -> str:
        return self.message


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


def report_of(found: Mapping[str, Any]) -> KernelReport:
    """Return a report of Node."""
    return KernelReport(
        found["kernel"],
        found["file"],
        found["line"],
        found["verdict"],
        tuple(map(finding_of, found["findings"])),
        tuple(found["said"]),
        # JSON has no infinity.
        tuple(CheckResult(**{**one, "error": math.inf if one["fault"] else one["error"]})
              for one in found["sizes"]),
        tuple(IndexOverflow(**one) for one in found["limits"]),
    )  # fmt: skip
