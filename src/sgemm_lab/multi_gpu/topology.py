"""The GPUs of this machine: count, load, peer access and free memory."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.text import bytes_text, plural

BUSY_PERCENT = 20
"""Utilization at which a GPU counts as busy with another program. A display uses less."""
_SECONDS = 20
"""Time limit of nvidia-smi, which wakes all GPUs of the machine."""
_LOAD_QUERIES = 4
_LOAD_COMMAND = ["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits"]
_ALREADY_ENABLED = 704
"""cudaErrorPeerAccessAlreadyEnabled (CUDA Runtime API, cudaError)."""
_RESERVE_BYTES = 2**29
"""Bytes reserved for the CUDA context, cuBLAS's workspace and NCCL's buffers."""


def gpu_count() -> int:
    """Return the number of GPUs visible to this process.

    Raises:
        MissingToolError: there is no GPU, or no CuPy.
    """
    return int(require_gpu().cuda.runtime.getDeviceCount())


def check_count(wanted: int) -> None:
    """Raise a LabError if there are fewer GPUs than ``wanted``."""
    found = gpu_count()
    if found < wanted:
        raise LabError(
            f"The plan is for {plural(wanted, 'GPU')}, but this process sees {found}. Use a plan "
            "for fewer GPUs, or run it in NumPy on a machine without GPU: 'sgemm-lab multi-gpu'."
        )


def check_idle(devices: Sequence[int]) -> None:
    """Check that no other program uses the GPUs.

    A GPU reports load for a moment after its program has ended, so it is queried more than once.
    Without nvidia-smi there is no check.

    Raises:
        LabError: a GPU is busy.
    """
    busy: list[str] = []
    for attempt in range(_LOAD_QUERIES):
        time.sleep(1.0 if attempt else 0.0)
        try:
            answer = subprocess.run(
                _LOAD_COMMAND, capture_output=True, text=True, check=True, timeout=_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return
        busy = busy_gpus(answer.stdout, devices)
        if not busy:
            return
    raise LabError(
        f"{' and '.join(busy)} for another program. Wait until it has ended, or choose other GPUs "
        "with CUDA_VISIBLE_DEVICES."
    )


def busy_gpus(answer: str, devices: Sequence[int]) -> list[str]:
    """Return a text for each busy GPU in nvidia-smi's output; malformed lines are ignored."""
    busy = []
    for line in answer.splitlines():
        number, _, used = line.partition(",")
        try:
            gpu, percent = int(number), int(used)
        except ValueError:
            continue
        if gpu in devices and percent >= BUSY_PERCENT:
            busy.append(f"GPU {gpu} works at {percent} %")
    return busy


def check_memory(plan: Plan, gpu: int, device: int, scratch: int = 0) -> None:
    """Check that a GPU can hold its share of a plan.

    Args:
        plan: to run.
        gpu: its number in the plan.
        device: its number in this process; the current device.
        scratch: bytes in addition to the plan's buffers.

    Raises:
        LabError: not enough memory.
    """
    cupy = require_gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    needed = plan.shares[gpu].bytes + scratch + _RESERVE_BYTES
    if needed > free:
        raise LabError(
            f"GPU {device} has {bytes_text(free)} of free memory, but its share takes "
            f"{bytes_text(needed)}. Take a smaller size or more GPUs."
        )


def enable_peer_access(devices: Sequence[int]) -> None:
    """Enable direct copies between the GPUs.

    Without peer access a copy silently goes through the host's memory, at a tenth of the speed.

    Raises:
        LabError: two GPUs do not support it.
    """
    cupy = require_gpu()
    runtime = cupy.cuda.runtime
    for one in devices:
        for other in devices:
            if one == other:
                continue
            if not runtime.deviceCanAccessPeer(one, other):
                raise LabError(
                    f"GPU {one} cannot access the memory of GPU {other}. "
                    "Use NCCL: --transport nccl."
                )
            with cupy.cuda.Device(one):
                try:
                    runtime.deviceEnablePeerAccess(other)
                except runtime.CUDARuntimeError as error:
                    if error.status != _ALREADY_ENABLED:
                        raise _refused(one, error) from None


@contextmanager
def cuda_errors_as_messages() -> Iterator[None]:
    """Convert exceptions of CUDA and NCCL to a LabError.

    Raises:
        LabError: out of memory, a GPU in exclusive use, or a failure.
    """
    cupy = require_gpu()
    faults = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError)
    try:
        yield
    except faults as fault:
        raise LabError(
            f"A GPU refuses: {fault}. Check with nvidia-smi whether another program uses it or its "
            "memory, or take a smaller size."
        ) from None
    except RuntimeError as fault:
        if type(fault).__name__ != "NcclError":  # the class exists only with NCCL
            raise
        raise LabError(
            f"NCCL failed: {fault}. A rank may have died. NCCL_DEBUG=WARN in the environment "
            "prints details."
        ) from None


def _refused(device: int, error: Any) -> LabError:
    return LabError(f"GPU {device} refuses: {error}. Restart the process, or choose other GPUs.")
