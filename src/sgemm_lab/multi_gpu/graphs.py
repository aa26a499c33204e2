"""CUDA graphs of captured streams that preserve stream priorities.

CuPy instantiates its graphs without the flag for priorities. Then NCCL's blocks wait for those of a
product, although NCCL's stream has the higher priority.
"""

import ctypes
import sys
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError

_USE_NODE_PRIORITY = 8
"""CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY (CUDA Driver API, CUgraphInstantiate_flags)."""


class Graph:
    """The captured work of a stream and of the streams forked from it."""

    def __init__(self, pointer: int) -> None:
        """Instantiate the graph on the current GPU.

        Args:
            pointer: a cudaGraph_t from ``streamEndCapture``; this object frees it.

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
                f"The driver cannot instantiate the graph (CUresult {status}). Run without a graph."
            )
        self._ready = found.value

    def launch(self, stream: Any) -> None:
        """Queue the graph on a stream of the current GPU."""
        self._runtime.graphLaunch(self._ready, stream.ptr)

    def free(self) -> None:
        """Free the graph."""
        self._runtime.graphExecDestroy(self._ready)
        self._runtime.graphDestroy(self._graph)


def _driver() -> Any:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
