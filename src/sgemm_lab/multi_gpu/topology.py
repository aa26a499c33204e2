"""The GPUs of this machine: count, peer access and free memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.text import bytes_text

_ALREADY_ENABLED = 704
"""cudaErrorPeerAccessAlreadyEnabled (CUDA Runtime API, cudaError)."""
_RESERVE_BYTES = 2**29
"""Bytes reserved for the CUDA context and cuBLAS's workspace."""


def gpu_count() -> int:
    """Return the number of GPUs visible to this process."""
    return int(require_gpu().cuda.runtime.getDeviceCount())


def check_memory(plan: Plan, gpu: int, scratch: int) -> None:
    """Check that the current device, one of the plan, can hold its share and ``scratch`` bytes."""
    cupy = require_gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    needed = plan.shares[gpu].bytes + scratch + _RESERVE_BYTES
    if needed > free:
        raise LabError(
            f"GPU {gpu} has {bytes_text(free)} of free memory, but its share takes "
            f"{bytes_text(needed)}. Take a smaller size or more GPUs."
        )


def enable_peer_access(gpus: int) -> None:
    """Enable direct copies between the first GPUs.

    Without peer access a copy silently goes through the host's memory, at a tenth of the speed.
    """
    cupy = require_gpu()
    runtime = cupy.cuda.runtime
    for one, other in permutations(range(gpus), 2):
        if not runtime.deviceCanAccessPeer(one, other):
            raise LabError(
                f"GPU {one} cannot access the memory of GPU {other}, which copies of tiles need."
            )
        with cupy.cuda.Device(one):
            try:
                runtime.deviceEnablePeerAccess(other)
            except runtime.CUDARuntimeError as error:
                if error.status != _ALREADY_ENABLED:
                    raise LabError(
                        f"GPU {one} refuses: {error}. Restart the process, or choose other GPUs."
                    ) from None


@contextmanager
def cuda_errors_as_messages() -> Iterator[None]:
    """Convert exceptions of CUDA to a LabError."""
    cupy = require_gpu()
    faults = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError)
    try:
        yield
    except faults as fault:
        raise LabError(
            f"A GPU refuses: {fault}. Check with nvidia-smi whether another program uses it or its "
            "memory, or take a smaller size."
        ) from None
