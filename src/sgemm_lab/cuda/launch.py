"""Launch a kernel through CuPy: find the GPU, check the arrays, load the machine code, run it."""

import ctypes
import sys
import tempfile
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sgemm_lab.cuda.arrays import check_matrix, product_size
from sgemm_lab.cuda.compiler import Compiled, compile_kernel, import_cupy
from sgemm_lab.cuda.encoded_maps import encoded
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.hardware import FLOAT_BYTES, STATIC_SHARED
from sgemm_lab.kernel import COUNTER_BYTES, ENTRY, Kernel, Size
from sgemm_lab.records.gpu_record import Device
from sgemm_lab.tensor_map import TensorMap

MAX_GRID_Y = 65535
"""Blocks along y that a grid can have (CUDA C++ Programming Guide, technical specifications)."""


def require_gpu() -> Any:
    """Return CuPy, once it has found a GPU.

    Raises:
        MissingToolError: CuPy is not installed, or there is no GPU it can use.
    """
    try:
        cupy = import_cupy()
    except ImportError:
        raise MissingToolError(
            "CuPy is not installed, so nothing can run on a GPU here. "
            "Install it with 'pip install cupy-cuda12x' (CUDA 12) or 'cupy-cuda13x' (CUDA 13)."
        ) from None
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise MissingToolError(_no_gpu(str(error))) from None
    if found == 0:
        raise MissingToolError(_no_gpu("no device"))
    return cupy


def has_gpu() -> bool:
    """Say whether kernels can be launched here."""
    if sys.platform == "linux" and not _has_driver():
        return False  # known without CuPy, which takes a good part of a short answer to load
    try:
        require_gpu()
    except LabError:
        return False
    return True


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def device_target() -> str:
    """Return the compiler target of the current GPU, such as "sm_90"."""
    return f"sm_{require_gpu().cuda.Device().compute_capability}"


@lru_cache(maxsize=1)
def device_sms() -> int:
    """Return how many SMs the current GPU has."""
    return int(require_gpu().cuda.Device().attributes["MultiProcessorCount"])


def current_device() -> Device:
    """Return the description of the current GPU."""
    cupy = require_gpu()
    attributes = cupy.cuda.Device().attributes
    capability = str(cupy.cuda.Device().compute_capability)
    return Device(
        name=cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(
            errors="replace"
        ),
        compute_capability=f"{capability[:-1]}.{capability[-1]}",
        sms=int(attributes["MultiProcessorCount"]),
        max_clock_mhz=attributes["ClockRate"] / 1e3,
        memory_clock_mhz=attributes["MemoryClockRate"] / 1e3,
        memory_bus_bits=int(attributes["GlobalMemoryBusWidth"]),
        l2_bytes=int(attributes["L2CacheSize"]),
        shared_per_sm=int(attributes["MaxSharedMemoryPerMultiprocessor"]),
        shared_per_block=int(attributes["MaxSharedMemoryPerBlockOptin"]),
        registers_per_sm=int(attributes["MaxRegistersPerMultiprocessor"]),
    )


def load_function(compiled: Compiled, entry: str) -> Any:
    """Load machine code on the current GPU and return the CuPy function called ``entry``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(compiled.cubin)
        return require_gpu().RawModule(path=str(path)).get_function(entry)


class LoadedKernel:
    """A kernel's machine code on the current GPU, ready to multiply matrices."""

    _keeps_workspace = True

    def __init__(self, kernel: Kernel, *, keeps_workspace: bool = True) -> None:
        """Compile and load.

        Args:
            kernel: the kernel.
            keeps_workspace: keep the workspace between launches, or return it to CuPy's pool.

        Raises:
            LabError: no GPU, no compiler, a GPU too old for the kernel, or a compile error.
        """
        self._cupy = require_gpu()
        self.kernel = kernel
        self._keeps_workspace = keeps_workspace
        self.compiled = compile_kernel(kernel, device_target())
        self._raw = load_function(self.compiled, ENTRY)
        self._function = self._raw.kernel  # of this GPU; it takes a stream
        self._launches: dict[Size, list[_Launch]] = {}
        self._workspaces: dict[int, Any] = {}
        self._halves = HalfCopies()

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute c = a·b. a is m×k, b is k×n, c is m×n: float32, on the GPU, row-major.

        A kernel that takes FP16 gets copies of a and b, made by the first call with them.

        Raises:
            LabError: an array does not fit, or the tile needs more shared memory than there is.
        """
        size = check_arrays(self._cupy, a, b, c)
        if self.kernel.input_bytes == FLOAT_BYTES:
            self.launch(a.data.ptr, b.data.ptr, c.data.ptr, size)
        else:
            halves = self._halves.of(a, b)
            self.launch(halves[0].data.ptr, halves[1].data.ptr, c.data.ptr, size)

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, which are not checked.

        A kernel with a workspace has one for each stream: launches on different streams may
        overlap.

        Args:
            a: address of M×K floats, row-major.
            b: of K×N floats.
            c: of M×N floats.
            size: M, N, K, each 1 or more.
            stream: has the handle of a CUDA stream as ``ptr``; by default CuPy's current stream.
        """
        launches = self._launches.get(size)
        if launches is None:
            launches = self._launches[size] = self._planned(size)
        for one in launches:
            matrices = a + one.skip_a, b, c + one.skip_c
            arguments: tuple[Any, ...] = (*matrices, *one.sizes)
            if one.workspace_bytes:
                workspace = self._workspace(one.workspace_bytes, stream)
                arguments += (workspace, *self._encoded_maps(one, matrices, workspace))
            self._function(one.grid, one.block, arguments, one.shared_bytes, stream)

    def release(self) -> None:
        """Return the workspaces of all streams to CuPy's pool."""
        self._workspaces.clear()

    def _encoded_maps(
        self, launch: "_Launch", matrices: tuple[int, int, int], workspace: Any
    ) -> list[Any]:
        a, b, c = matrices
        width = self.kernel.input_bytes
        return [
            encoded(one, one.address(a, b, workspace.data.ptr, c, width)) for one in launch.maps
        ]

    def _planned(self, size: Size) -> "list[_Launch]":
        """Return the launches for a size: several if C has more rows than a grid has blocks."""
        m, n, k = size
        sms, int32 = device_sms(), self._cupy.int32

        def blocks_along_y(rows: int) -> int:
            return self.kernel.launch_shape(rows, n, k, sms=sms).grid[1]

        band = m
        if blocks_along_y(m) > MAX_GRID_Y:
            band = bisect_right(range(1, m + 1), MAX_GRID_Y, key=blocks_along_y)
        launches = []
        for first in range(0, m, band):
            rows = min(band, m - first)
            shape = self.kernel.launch_shape(rows, n, k, sms=sms)
            self._reserve_shared(shape.shared_bytes)
            launches.append(
                _Launch(
                    shape.grid, shape.block, shape.shared_bytes, shape.workspace_bytes,
                    (int32(rows), int32(n), int32(k)),
                    self.kernel.input_bytes * first * k, FLOAT_BYTES * first * n, shape.maps,
                )
            )  # fmt: skip
        return launches

    def _workspace(self, wanted: int, stream: Any) -> Any:
        """Return a stream's workspace: zeros at first, then what the last launch left.

        Of a workspace with copies of A and B, only ``COUNTER_BYTES`` are zero.
        """
        here = self._cupy.cuda.get_current_stream()
        key = here.ptr if stream is None else stream.ptr
        held = self._workspaces.get(key)
        if held is None or held.nbytes < wanted:
            held = self._cupy.empty(wanted, dtype="uint8")
            (held[:COUNTER_BYTES] if self.kernel.copies_factors else held).fill(0)
            if self._keeps_workspace:
                self._workspaces[key] = held
            if stream is not None:
                here.synchronize()  # the zeros must be there before a launch on the other stream
        return held

    def _reserve_shared(self, dynamic_bytes: int) -> None:
        if dynamic_bytes <= STATIC_SHARED:
            return
        limit = _shared_limit()
        wanted = dynamic_bytes + self.compiled.shared_bytes
        if wanted > limit:
            raise LabError(
                f"The kernel '{self.kernel.name}' wants {wanted:,} bytes of shared memory for a "
                f"block; this GPU has {limit:,}. Choose a smaller tile or a smaller K."
            )
        # Launches of other sizes remain valid.
        if dynamic_bytes > self._raw.max_dynamic_shared_size_bytes:
            self._raw.max_dynamic_shared_size_bytes = dynamic_bytes


class _Launch(NamedTuple):
    """A launch of a kernel for a band of rows of C."""

    grid: tuple[int, int]
    block: tuple[int, int]
    shared_bytes: int
    workspace_bytes: int
    sizes: tuple[Any, Any, Any]
    """M, N, K as the kernel takes them."""
    skip_a: int
    """Bytes of A before the band."""
    skip_c: int
    maps: tuple[TensorMap, ...]
    """The last arguments."""


class HalfCopies:
    """FP16 copies of A and B, made when a pair is first asked for."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}
        """By address: the array, so that no other gets its place in memory, and its copy."""
        self._shapes: tuple[Any, ...] = ()

    def of(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return A and B in FP16. Copies are kept until a call with other shapes."""
        if self._shapes != (a.shape, b.shape):
            self._copies.clear()
            self._shapes = a.shape, b.shape
        for one in (a, b):
            if one.data.ptr not in self._copies:
                self._copies[one.data.ptr] = one, one.astype("float16")
        return self._copies[a.data.ptr][1], self._copies[b.data.ptr][1]


def fits(kernel: Kernel, size: Size) -> bool:
    """Say whether the GPU's blocks have the shared memory that the kernel wants at a size."""
    shape = kernel.launch_shape(*size, sms=device_sms())
    return shape.shared_bytes <= max(STATIC_SHARED, _shared_limit())


def multiply(kernel: Kernel, a: Any, b: Any) -> Any:
    """Return a·b as a new CuPy array, computed by the kernel."""
    cupy = require_gpu()
    loaded = LoadedKernel(kernel)
    for name, array in (("A", a), ("B", b)):
        _check_operand(cupy, name, array)
    c = cupy.empty((a.shape[0], b.shape[1]), dtype=cupy.float32)
    loaded(a, b, c)
    return c


def check_arrays(library: Any, a: Any, b: Any, c: Any) -> Size:
    """Return (m, n, k) if the three arrays can be given to a kernel.

    ``library`` is the array library they must belong to: CuPy for a launch.
    """
    for name, array in (("A", a), ("B", b), ("C", c)):
        _check_operand(library, name, array)
    m, n, k = product_size(a, b)
    if c.shape != (m, n):
        raise LabError(f"C is {c.shape[0]}×{c.shape[1]}. The product of A and B is {m}×{n}.")
    return m, n, k


def _check_operand(library: Any, name: str, array: Any) -> None:
    check_matrix(library, name, array)
    if array.size == 0:
        raise LabError(f"{name} is empty ({array.shape[0]}×{array.shape[1]}). Give it elements.")
    if not array.flags.c_contiguous:
        raise LabError(
            f"{name} is not stored row by row without gaps (it is a transposed or sliced view). "
            f"Copy it with cupy.ascontiguousarray({name})."
        )


@lru_cache(maxsize=1)
def _shared_limit() -> int:
    cupy = require_gpu()
    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def _no_gpu(reason: str) -> str:
    return (
        f"This machine has no NVIDIA GPU that CUDA can use ({reason}). "
        "Kernels can be compiled and counted here, but not run."
    )
