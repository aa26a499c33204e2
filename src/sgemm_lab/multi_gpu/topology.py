"""The GPUs of this machine: how many, who is busy, who reaches whom, how much memory is free."""

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
"""From here on a GPU that should be idle is at work for someone else. A display needs less."""
_SECONDS = 20
"""How long nvidia-smi may take: on a machine with many GPUs it wakes them all."""
_ASKS = 4
_ASK_LOAD = ["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits"]
_ALREADY_ENABLED = 704
"""cudaErrorPeerAccessAlreadyEnabled (CUDA Runtime API, cudaError)."""
_EXTRA = 2**29
"""Bytes beside the buffers: the CUDA context's, cuBLAS's workspace, NCCL's own buffers."""


def gpu_count() -> int:
    """Return how many GPUs this process sees.

    Raises:
        MissingToolError: there is none, or no CuPy.
    """
    return int(require_gpu().cuda.runtime.getDeviceCount())


def check_count(wanted: int) -> None:
    """Raise a LabError unless there are so many GPUs."""
    found = gpu_count()
    if found < wanted:
        raise LabError(
            f"The plan is for {plural(wanted, 'GPU')}, and this process sees {found}. Take a plan "
            "for fewer, or run it in NumPy: 'sgemm-lab several' does where there is no GPU."
        )


def check_idle(devices: Sequence[int]) -> None:
    """Find out whether another program works on the GPUs; ask before this one does.

    A GPU counts as busy for a moment after its program has ended, so it is asked more than once.
    Where nvidia-smi is missing nobody knows, and nothing is said.

    Raises:
        LabError: a GPU is busy.
    """
    busy: list[str] = []
    for ask in range(_ASKS):
        time.sleep(1.0 if ask else 0.0)
        try:
            answer = subprocess.run(
                _ASK_LOAD, capture_output=True, text=True, check=True, timeout=_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return
        busy = busy_gpus(answer.stdout, devices)
        if not busy:
            return
    raise LabError(
        f"{' and '.join(busy)} for another program. Wait until that has ended, or choose other "
        "GPUs with CUDA_VISIBLE_DEVICES."
    )


def busy_gpus(answer: str, devices: Sequence[int]) -> list[str]:
    """Return words for each busy GPU in nvidia-smi's answer; lines it cannot read are left out."""
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
    """Find out whether a GPU can hold its share of a plan.

    Args:
        plan: what is to run.
        gpu: the number in the plan.
        device: the number of the GPU in this process; it is the current one.
        scratch: bytes that the product wants beside the plan's buffers.

    Raises:
        LabError: it cannot.
    """
    cupy = require_gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    wanted = plan.shares[gpu].bytes + scratch + _EXTRA
    if wanted > free:
        raise LabError(
            f"GPU {device} has {bytes_text(free)} of free memory, and its share takes "
            f"{bytes_text(wanted)}. Take a smaller size or more GPUs."
        )


def enable_peer_access(devices: Sequence[int]) -> None:
    """Let the GPUs copy straight into each other's memory.

    Without it a copy goes through the host's memory, at a tenth of the pace, and nothing says so.

    Raises:
        LabError: two of them cannot.
    """
    cupy = require_gpu()
    runtime = cupy.cuda.runtime
    for one in devices:
        for other in devices:
            if one == other:
                continue
            if not runtime.deviceCanAccessPeer(one, other):
                raise LabError(
                    f"GPU {one} cannot reach the memory of GPU {other}. "
                    "Let NCCL carry the tiles: --transport nccl."
                )
            with cupy.cuda.Device(one):
                try:
                    runtime.deviceEnablePeerAccess(other)
                except runtime.CUDARuntimeError as error:
                    if error.status != _ALREADY_ENABLED:
                        raise _refused(one, error) from None


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Turn what CUDA and NCCL complain of into a sentence.

    Raises:
        LabError: they complained: memory ran out, a GPU is another's alone, or it failed.
    """
    cupy = require_gpu()
    faults = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError)
    try:
        yield
    except faults as fault:
        raise LabError(
            f"A GPU refuses: {fault}. Look with nvidia-smi whether another program has it or its "
            "memory, or take a smaller size."
        ) from None
    except RuntimeError as fault:
        if type(fault).__name__ != "NcclError":  # its class exists only where NCCL does
            raise
        raise LabError(
            f"NCCL gave up: {fault}. Has a rank died? NCCL_DEBUG=WARN in the environment makes it "
            "say more."
        ) from None


def _refused(device: int, error: Any) -> LabError:
    return LabError(f"GPU {device} refuses: {error}. Restart the process, or choose other GPUs.")
