"""What takes the place of the headers that a file includes, and where CUDA's own are found.

The compiler knows CUDA by itself, so most headers are only wanted by host code. A few declare types
and numbers that kernels use too: the texts in ``headers/`` have those. Half precision, cooperative
groups and tensor cores stand in CUDA's own headers, which come with the CUDA toolkit or with
NVIDIA's packages of Python.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

WHEELS = "nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12 nvidia-cuda-nvcc-cu12"
"""The packages of Python that hold CUDA's headers."""

CURAND_WHEEL = "nvidia-curand-cu12"
"""The package with the headers of random numbers."""

_FOLDER = Path(__file__).with_name("headers")
_FILLED = {
    "stdint.h": "stdint.h", "cstdint": "stdint.h", "inttypes.h": "stdint.h",
    "cinttypes": "stdint.h", "sys/types.h": "stdint.h",
    "limits.h": "limits.h", "climits": "limits.h", "float.h": "limits.h", "cfloat": "limits.h",
    "math.h": "math.h", "cmath": "math.h", "math_constants.h": "math_constants.h",
    "assert.h": "assert.h", "cassert": "assert.h", "stdio.h": "stdio.h", "cstdio": "stdio.h",
    "stddef.h": "stdint.h", "cstddef": "stdint.h",
    "algorithm": "utility", "utility": "utility", "functional": "utility",
    "type_traits": "utility", "limits": "limits", "tuple": "utility", "array": "utility",
    "bits/stdc++.h": "everything", "cufft.h": "cufft.h",
    "cuda_runtime.h": "cuda_runtime.h", "cuda_runtime_api.h": "cuda_runtime.h",
    "cuda.h": "cuda_runtime.h", "device_launch_parameters.h": "cuda_runtime.h",
    "device_functions.h": "cuda_runtime.h", "vector_types.h": "cuda_runtime.h",
    "vector_functions.h": "cuda_runtime.h", "sm_20_atomic_functions.h": "cuda_runtime.h",
}  # fmt: skip
_HOST_HEADERS = frozenset(Path(__file__).with_name("host_headers.txt").read_text().split())
"""Headers that only host code wants."""

LIBRARIES = frozenset({"cublas_v2.h", "cublas.h", "cublasLt.h", "cudnn.h"})
"""NVIDIA's libraries whose headers include those of small floats."""

FROM_CUDA = (
    "cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4", "mma.h", "crt/", "cooperative_",
    "cuda_pipeline", "cuda_awbarrier", "cuda/", "cub/", "nv/", "cuComplex.h", "vector_functions",
    "cuda_texture_types.h", "texture_", "curand_",
)  # fmt: skip
"""How the names of CUDA's own headers begin, those that kernels use."""


def filled(name: str) -> str | None:
    """Return the text that takes the place of a header; None if it has to be found."""
    if name in _FILLED:
        return (_FOLDER / _FILLED[name]).read_text(encoding="utf-8")
    return "" if name in _HOST_HEADERS else None


@cache
def every_fill() -> dict[str, str]:
    """Return all texts that take the place of headers, by name: they include each other."""
    names = {*_FILLED, *_HOST_HEADERS, *_FILLED.values()}
    return {name: filled(name) or "" for name in sorted(names)}


def is_cudas(name: str) -> bool:
    """Say whether a header is one of CUDA's own that kernels use."""
    return name.startswith(FROM_CUDA)


@cache
def cuda_folders() -> tuple[Path, ...]:
    """Return the folders of CUDA's headers: of CUDA_PATH, of the toolkit, or of Python packages."""
    for root in _toolkits():
        include = root / "include"
        if (include / "cuda_fp16.h").is_file():
            return (include, *(f for f in (include / "cccl",) if f.is_dir()))
    return tuple(dict.fromkeys(_packages()))


def _toolkits() -> Iterator[Path]:
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    compiler = shutil.which("nvcc")
    if compiler:
        yield Path(compiler).resolve().parents[1]
    yield Path("/usr/local/cuda")


def _packages() -> Iterator[Path]:
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations if found else None) or ():
        for include in sorted(Path(folder).glob("*/include")):
            yield include
            yield from (f for f in (include / "cccl",) if f.is_dir())
