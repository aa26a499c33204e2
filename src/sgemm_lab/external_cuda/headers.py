"""Replacements for headers that a file includes, and where CUDA's own headers are.

NVRTC declares CUDA itself, so host code alone needs most headers. The texts in ``headers/`` replace
those whose types and constants kernels use. Half precision, cooperative groups and tensor cores
need CUDA's own headers, from the toolkit or NVIDIA's Python packages.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

WHEELS = "nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12 nvidia-cuda-nvcc-cu12"
"""Python packages with CUDA's headers."""

_FOLDER = Path(__file__).with_name("headers")
_FILLED = {
    "stdint.h": "stdint.h", "cstdint": "stdint.h", "inttypes.h": "stdint.h",
    "cinttypes": "stdint.h", "sys/types.h": "stdint.h",
    "limits.h": "limits.h", "climits": "limits.h", "float.h": "limits.h", "cfloat": "limits.h",
    "math.h": "math.h", "cmath": "math.h", "math_constants.h": "math_constants.h",
    "assert.h": "assert.h", "cassert": "assert.h", "stdio.h": "stdio.h", "cstdio": "stdio.h",
    "stddef.h": "stdint.h", "cstddef": "stdint.h",
    "algorithm": "utility", "utility": "utility", "functional": "utility",
    "type_traits": "utility", "concepts": "utility", "tuple": "utility", "array": "utility",
    "limits": "limits",
    "bits/stdc++.h": "everything", "cufft.h": "cufft.h", "c10/util/Half.h": "torch.h",
    "cuda_runtime.h": "cuda_runtime.h", "cuda_runtime_api.h": "cuda_runtime.h",
    "cuda.h": "cuda_runtime.h", "device_launch_parameters.h": "cuda_runtime.h",
    "device_functions.h": "cuda_runtime.h", "vector_types.h": "cuda_runtime.h",
    "vector_functions.h": "cuda_runtime.h", "sm_20_atomic_functions.h": "cuda_runtime.h",
}  # fmt: skip
_HOST_HEADERS = frozenset(Path(__file__).with_name("host_headers.txt").read_text().split())
"""Headers that only host code needs."""

LIBRARIES = frozenset({"cublas_v2.h", "cublas.h", "cublasLt.h", "cudnn.h"})
"""Library headers that include those of 16-bit floats."""

FROM_CUDA = (
    "cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4", "mma.h", "crt/", "cooperative_",
    "cuda_pipeline", "cuda_awbarrier", "cuda/", "cub/", "nv/", "cuComplex.h", "vector_functions",
    "cuda_texture_types.h", "texture_", "curand_",
)  # fmt: skip
"""Prefixes of CUDA's headers that kernels use."""


def filled(name: str) -> str | None:
    """Return the replacement text of a header; None if it has none."""
    if name in _FILLED:
        return (_FOLDER / _FILLED[name]).read_text(encoding="utf-8")
    return "" if name in _HOST_HEADERS else None


@cache
def every_fill() -> dict[str, str]:
    """Return all replacement texts by name; they include each other."""
    names = {*_FILLED, *_HOST_HEADERS, *_FILLED.values()}
    own = {"cub/cub.cuh": (_FOLDER / "cub.cuh").read_text(encoding="utf-8")}
    return own | {name: filled(name) or "" for name in sorted(names)}


def is_cudas(name: str) -> bool:
    """Return whether a header is one of CUDA's own that kernels use."""
    return name.startswith(FROM_CUDA)


def stand_in(name: str) -> str:
    """Return the text for one of CUDA's own headers that was not found: random numbers, or none."""
    is_random = name == "curand_kernel.h"
    return (_FOLDER / name).read_text(encoding="utf-8") if is_random else ""


@cache
def cuda_folders() -> tuple[Path, ...]:
    """Return CUDA's header folders, from CUDA_PATH, the toolkit or Python packages."""
    for root in _toolkits():
        include = root / "include"
        if (include / "cuda_fp16.h").is_file():
            return (include, *(f for f in (include / "cccl",) if f.is_dir()), *_packages())
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
