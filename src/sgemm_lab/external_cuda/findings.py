"""Findings of a check: what is wrong, where, and how much it weighs."""

from dataclasses import dataclass

from sgemm_lab.external_cuda.launch import Prepared
from sgemm_lab.external_cuda.severity import Severity, severity_of
from sgemm_lab.simulator import Hazard

WRONG_RESULT, ORDER, ENDLESS = "wrong result", "order", "endless"
"""Kinds of a finding that is no hazard: an array differs from what it should hold, or from what it
holds after blocks or warps ran in another order; or the kernel never ends."""


@dataclass(frozen=True)
class Finding:
    """One finding at a source line."""

    severity: Severity
    kind: str
    """A kind of hazard or warning of the simulator, or ``WRONG_RESULT``."""
    message: str
    file: str
    line: int
    """The line it points to; 0 where no line is known."""
    other_line: int | None = None
    """The other line of a race."""
    array: str | None = None
    order: str = ""
    """The options of ``count`` under which it shows; "" if it shows in any order."""

    def __str__(self) -> str:
        shows = f" It shows with {self.order}." if self.order else ""
        return f"{self.severity}: {self.message}{shows}"


def finding_of(
    hazard: Hazard, prepared: Prepared, severity: Severity | None = None, order: str = ""
) -> Finding:
    """Return a hazard or a warning of the simulator as a finding.

    ``severity`` overrules what follows from the hazard and from what was assumed of its launch;
    ``order`` is the order that shows it.
    """
    other = hazard.other_location
    weight = severity or severity_of(hazard, prepared)
    return Finding(
        weight,
        hazard.kind,
        str(hazard),
        hazard.location.file,
        hazard.location.line,
        None if other is None else other.line,
        hazard.array,
        order,
    )
