"""What the simulator raises besides ``LabError``."""

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.source_locations import Location


class PtxError(LabError):
    """The PTX text cannot be read, or uses something the simulator does not know."""


class TimeLimitError(LabError):
    """A simulation that took longer than it may. The message says how far it came."""


class _StuckError(LabError):
    def __init__(self, message: str, location: Location | None) -> None:
        super().__init__(message)
        self.location = location
        """The first line of the code that ran or waited, where one is known."""


class EndlessLoopError(_StuckError):
    """A kernel that ran on and on. The message says where it was."""


class DeadlockError(_StuckError):
    """Threads that wait for something that no thread will do."""
