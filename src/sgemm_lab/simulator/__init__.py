"""Run CUDA kernels on any CPU, and count their memory requests as the hardware does.

``simulate`` takes the PTX text that NVRTC makes of a kernel and returns a ``Result``: the arrays
after the launch, counts per source line, what is wrong with the kernel, and a trace of every
access if wanted. Nothing here needs a GPU, CuPy or a notebook.
"""

from sgemm_lab.simulator.counts import Counts, LineCounts
from sgemm_lab.simulator.errors import DeadlockError, EndlessLoopError, PtxError, TimeLimitError
from sgemm_lab.simulator.hazards import Hazard
from sgemm_lab.simulator.simulation import Result, simulate
from sgemm_lab.simulator.source_locations import Location
from sgemm_lab.simulator.trace import Trace
from sgemm_lab.simulator.warp_requests import WarpRequest

__all__ = [
    "Counts",
    "DeadlockError",
    "EndlessLoopError",
    "Hazard",
    "LineCounts",
    "Location",
    "PtxError",
    "Result",
    "TimeLimitError",
    "Trace",
    "WarpRequest",
    "simulate",
]
