"""NCCL through CuPy: its settings, and the communicators of this process's GPUs."""

import os
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError, MissingToolError

_BLOCK_LIMIT = "NCCL_MAX_CTAS"
_SETTINGS = {"NCCL_NVLS_ENABLE": "0"}
"""NVLink multicast stays off, because tiles are sent point to point."""

_limits_in_use: list[str | None] = []


def set_block_limit(blocks: int | None) -> None:
    """Limit the number of NCCL's blocks per transfer, which NCCL reads once per process.

    Raises:
        LabError: this process has a communicator with another limit.
    """
    limit = None if blocks is None else str(blocks)
    if _limits_in_use and _limits_in_use[0] != limit:
        raise LabError(
            "NCCL reads its block limit once, before its first communicator, and this process has "
            f"made one with {_limits_in_use[0] or 'none'}. Start a new process, or restart the "
            "kernel of the notebook."
        )
    if limit is None:
        os.environ.pop(_BLOCK_LIMIT, None)
    else:
        os.environ[_BLOCK_LIMIT] = limit


def nccl_library() -> Any:
    """Set NCCL's environment variables and return CuPy's NCCL.

    Raises:
        MissingToolError: it is not installed.
    """
    require_gpu()
    os.environ.update(_SETTINGS)
    from cupy.cuda import nccl

    if not nccl.available:
        raise MissingToolError(
            "CuPy finds no NCCL. Install it with 'pip install nvidia-nccl-cu12' (CUDA 12) or "
            "'nvidia-nccl-cu13' (CUDA 13), or copy without it: --transport copy."
        )
    return nccl


@lru_cache(maxsize=8)
def communicators(gpus: int) -> list[Any]:
    """Return the communicators of the first GPUs; NCCL needs a second or two to make them.

    Raises:
        MissingToolError: NCCL is not installed.
        LabError: NCCL cannot connect the GPUs.
    """
    nccl = nccl_library()
    _limits_in_use.append(os.environ.get(_BLOCK_LIMIT))
    try:
        return list(nccl.NcclCommunicator.initAll(gpus))
    except RuntimeError as fault:
        raise LabError(
            f"NCCL could not connect the GPUs: {fault}. NCCL_DEBUG=WARN in the environment prints "
            "details."
        ) from None
