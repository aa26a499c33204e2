"""Records of ``compute-sanitizer`` on kernels with one bug each: one file per GPU model."""

from dataclasses import dataclass

from sgemm_lab.records.gpu_record import Count, Dated, Device, Name, NotNegative
from sgemm_lab.records.json_files import Kind


@dataclass(frozen=True)
class ToolRun:
    """One tool on one kernel: whether it found the bug, and the seconds that it took."""

    tool: Name
    """One of the four of ``compute-sanitizer``, or ``check``."""
    found: bool
    seconds: NotNegative


@dataclass(frozen=True)
class JudgedKernel:
    """A kernel of the tests with one bug, and what each tool made of it."""

    start: Name
    """Which kernel: as the tests' list of bugs calls it."""
    old: Name
    new: str
    """What the bug puts in the place of ``old``."""
    bug: Name
    """Of what kind."""
    tools: tuple[ToolRun, ...]

    def ran(self, tool: str) -> ToolRun:
        """Return the run of a tool."""
        return next(one for one in self.tools if one.tool == tool)


@dataclass(frozen=True)
class SanitizerRun(Dated):
    """The latest run on a GPU model."""

    gpu: Device
    driver: Name
    version: Name
    """Of ``compute-sanitizer``."""
    side_by_side: Count
    """Tools that ran at the same time."""
    limit: Count
    """Seconds after which a tool was stopped."""
    kernels: tuple[JudgedKernel, ...]


SANITIZER_RUNS = Kind(SanitizerRun, "sanitizer")
