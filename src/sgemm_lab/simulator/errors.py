"""What the simulator raises besides ``LabError``."""

from sgemm_lab.errors import LabError


class PtxError(LabError):
    """The PTX text cannot be read, or uses something the simulator does not know."""


class TimeLimitError(LabError):
    """A simulation that took longer than it may. The message says how far it came."""


class EndlessLoopError(LabError):
    """A kernel that ran on and on. The message says where it was."""


class DeadlockError(LabError):
    """Threads that wait for something that no thread will do."""
