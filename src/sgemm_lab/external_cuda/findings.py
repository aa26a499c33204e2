"""Findings of a check: what is wrong, where, and how much it weighs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "information"]

WRONG_RESULT, ORDER, ENDLESS = "wrong result", "order", "endless"
"""Kinds of a finding that is no hazard: an array differs from what it should hold, or from what it
holds after blocks or warps ran in another order; or the kernel never ends."""


@dataclass(frozen=True)
class Finding:
    """One finding at a source line."""

    severity: Severity
    """"warning" for what rests on an assumed launch or content: see ``severity.ts``."""
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


def finding_of(found: Mapping[str, Any]) -> Finding:
    """Return a finding of Node."""
    return Finding(
        found["severity"], found["kind"], found["message"], found["file"], found["line"],
        found["otherLine"], found["array"], found["order"],
    )  # fmt: skip
