"""CUDA graphs of captured streams, which keep the priorities of the streams.

CuPy's own graphs do not keep them: it instantiates without the flag that this takes. Then the
blocks of NCCL, whose stream has the higher priority, wait for those of a product.
"""

import ctypes
import sys
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError

_USE_NODE_PRIORITY = 8
"""CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY (CUDA Driver API, CUgraphInstantiate_flags)."""


class Graph:
    """What a stream, and those that it let wait for it, were given while it was captured."""

    def __init__(self, pointer: int) -> None:
        """Make it ready to launch, on the current GPU.

        Args:
            pointer: a cudaGraph_t, such as ``streamEndCapture`` returns; this object frees it.

        Raises:
            LabError: the driver refuses.
        """
        self._runtime = require_gpu().cuda.runtime
        self._graph = pointer
        found = ctypes.c_void_p()
        status = _driver().cuGraphInstantiateWithFlags(
            ctypes.byref(found), ctypes.c_void_p(pointer), ctypes.c_ulonglong(_USE_NODE_PRIORITY)
        )
        if status:
            self._runtime.graphDestroy(pointer)
            raise LabError(
                f"The driver makes no graph of it (CUresult {status}). Run it without a graph."
            )
        self._ready = found.value

    def launch(self, stream: Any) -> None:
        """Queue all of it on a stream of the current GPU."""
        self._runtime.graphLaunch(self._ready, stream.ptr)

    def free(self) -> None:
        """Let it go; it cannot be launched any more."""
        self._runtime.graphExecDestroy(self._ready)
        self._runtime.graphDestroy(self._graph)


def _driver() -> Any:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
