"""FP32 products in CUDA C++ that others wrote, compiled from a checkout on this machine.

A small adapter in ``adapters/`` includes the checkout's headers and launches its kernel.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sgemm_lab.cuda.launch import device_target, require_gpu
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.measuring.interleaved import Product

INCLUDES = {
    "cutlass": ("include",),
    "salykova": ("src", "common"),
    "siboehm": ("src",),
}
"""Folders of headers in each checkout. CUTLASS's may be the folder ``source`` in its wheel."""

_COMPILE_SECONDS = 300


def checkout_product(name: str, folder: Path) -> tuple[Product, str]:
    """Compile the product of a checkout, one of ``INCLUDES``; return it, and the commit.

    The product raises a LabError at sizes that the kernel does not take.

    Raises:
        LabError: nvcc does not compile the checkout.
        MissingToolError: there is no nvcc or no GPU.
    """
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise MissingToolError("A checkout is compiled by nvcc, which is not installed.")
    target = device_target()
    source = Path(__file__).parent / "adapters" / f"{name}.cu"
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / f"{name}.so"
        done = subprocess.run(
            [
                nvcc, "-O3", "-std=c++17", f"-arch={target}", f"-DGPUCC={target[3:]}", "-shared",
                "-Xcompiler=-fPIC", *(f"-I{folder / part}" for part in INCLUDES[name]), source,
                "-o", path,
            ],
            capture_output=True, text=True, timeout=_COMPILE_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            said = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise LabError(f"nvcc does not compile {name} in {folder}: {said}")
        library = ctypes.CDLL(str(path))  # it stays loaded without its file
    return _product(name, library), _commit(folder)


def _product(name: str, library: Any) -> Product:
    cupy = require_gpu()

    def multiply(a: Any, b: Any, c: Any) -> None:
        (m, k), n = a.shape, b.shape[1]
        pointers = (ctypes.c_void_p(x.data.ptr) for x in (a, b, c))
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        status = library.product(*pointers, m, n, k, stream)
        if status < 0:
            raise LabError("its tiles do not divide the matrices")
        if status:
            raise LabError(f"{name} fails with CUDA error {status}")

    return multiply


def _commit(folder: Path) -> str:
    """Return the commit of a checkout, or the folder's name if Git knows none."""
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return folder.name
    return done.stdout.strip()
