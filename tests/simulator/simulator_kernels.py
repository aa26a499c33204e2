"""Throwaway kernels for the simulator's tests, and a way to compile and run them."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sgemm_lab.cuda.compiler import load_nvrtc
from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result, simulate

FOLDER = Path(__file__).parent / "kernels"


def kernel_text(name: str) -> str:
    """CUDA C++ that several tests share."""
    return (FOLDER / f"{name}.cu").read_text("utf-8")


LDMATRIX_16_BIT, MMA_TF32, MMA_HALF = map(kernel_text, ("ldmatrix", "mma_tf32", "mma_half"))
SHIFTED_STORE, TWO_BRANCHES, NAMED, PIPELINE = map(
    kernel_text, ("shifted_store", "two_branches", "named_barriers", "pipeline")
)

GEMMS: dict[str, tuple[str, tuple[int, int], tuple[int, int], str]] = {
    # name: source, rows and columns of C per block, threads per block, oldest target
    "naive": (kernel_text("naive"), (8, 8), (8, 8), "sm_75"),
    "tiled": (kernel_text("tiled"), (8, 8), (8, 8), "sm_75"),
    "strip": (kernel_text("strip"), (8, 8), (8, 8), "sm_75"),
    "thread_tile": (kernel_text("thread_tile"), (32, 64), (64, 1), "sm_75"),
    "async": (kernel_text("asynchronous"), (8, 8), (8, 8), "sm_80"),
}


@lru_cache(maxsize=256)
def compile_for(source: str, target: str = "sm_90", options: tuple[str, ...] = ()) -> Any:
    """PTX text for a ``compute_`` target, machine code for an ``sm_`` one."""
    try:
        nvrtc = load_nvrtc()
    except LabError as error:
        pytest.skip(str(error))
    program = nvrtc.createProgram(source, "test.cu", (), ())
    defaults = ("-std=c++17", "-lineinfo", "--device-as-default-execution-space")
    try:
        nvrtc.compileProgram(program, (f"-arch={target}", *defaults, *options))
        if target.startswith("compute"):
            return nvrtc.getPTX(program).decode().rstrip("\0")
        # CuPy takes the last byte for a string's end, but machine code has none.
        return nvrtc.getCUBIN(program) + b"\0"
    finally:
        nvrtc.destroyProgram(program)


def ptx_of(source: str, target: str = "sm_90", *defines: str) -> str:
    """PTX of a source, for example with ``"T=4"`` defined."""
    options = tuple(f"-D{define}" for define in defines)
    return str(compile_for(source, target.replace("sm_", "compute_"), options))


def gemm_inputs(m: int, n: int, k: int, seed: int = 0) -> dict[str, Any]:
    """The book's arguments, with C full of NaN."""
    random = np.random.default_rng(seed)
    return {
        "A": random.uniform(-0.5, 0.5, (m, k)).astype(np.float32),
        "B": random.uniform(-0.5, 0.5, (k, n)).astype(np.float32),
        "C": np.full((m, n), np.nan, dtype=np.float32),
        "M": m,
        "N": n,
        "K": k,
    }


def run_gemm(
    name: str,
    m: int,
    n: int,
    k: int,
    *,
    target: str = "sm_90",
    defines: tuple[str, ...] = (),
    seed: int = 0,
    **options: Any,
) -> tuple[dict[str, Any], Result]:
    """Simulate one of ``GEMMS``; gives its arguments and the result."""
    source, (rows, columns), block, _ = GEMMS[name]
    args = gemm_inputs(m, n, k, seed)
    result = simulate(
        ptx_of(source, target, *defines),
        name,
        (-(-n // columns), -(-m // rows)),
        block,
        args,
        shared_bytes=2 * 8 * k * 4 if name == "strip" else 0,
        unwritten=["C"],
        **options,
    )
    return args, result


def run_warps(source: str, args: dict[str, Any], threads: int = 32, **options: Any) -> Result:
    """Simulate one block of the kernel ``k`` of a source."""
    return simulate(ptx_of(source), "k", (1,), (threads,), args, **options)


def words(*values: int) -> npt.NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


SURFACE = {"linear": False, "normalized": False, "beyond": "clamp"}
"""How a surface is read, and a texture where nothing else is said."""
