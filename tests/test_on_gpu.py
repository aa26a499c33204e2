"""What only a GPU can tell. Needs NumPy, CuPy, pytest and hypothesis, and nothing else."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sgemm_lab
from sgemm_lab.catalogue import load_kernel, load_kernel_file, load_kernels
from sgemm_lab.checking.judge import AWKWARD_SIZES, Rounding
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.checking.sandbox import check_sandboxed, try_out
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import MAX_GRID_Y, LoadedKernel, device_target, fits
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import candidates
from sgemm_lab.gemm.strassen.engine import GpuProduct
from sgemm_lab.gemm.strassen.error import norm_error, sampled_rows
from sgemm_lab.gemm.strassen.plan import make_plan
from sgemm_lab.kernel import Kernel, Size, parse_kernel
from sgemm_lab.measuring.interleaved import Budget, contenders, cublas, time_interleaved
from sgemm_lab.records.store import load_record

pytestmark = pytest.mark.gpu

TESTS = Path(__file__).parent
EVERY_KERNEL = load_kernels(variants=True)
each_kernel = pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=lambda kernel: kernel.name)


@pytest.fixture
def cupy() -> Iterator[Any]:
    import cupy

    yield cupy
    cupy.get_default_memory_pool().free_all_blocks()


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own: a kernel that faults takes its process's GPU."""
    return subprocess.run(
        [sys.executable, "-m", "sgemm_lab", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src")},
    )


# Right kernels pass.


def faults(kernel: Kernel, sizes: Any, shift: int = 0) -> list[str]:
    """Check a kernel, and return what is wrong; a size that does not fit this GPU is not."""
    found = []
    for verdict in check(kernel, sizes, shift=shift):
        size = (verdict.m, verdict.n, verdict.k)
        if not (verdict.passed or (verdict.refusal and not fits(kernel, size))):
            found.append(f"{size}: {verdict.fault or verdict.refusal}")
    return found


@each_kernel
def test_every_kernel_is_right_at_awkward_sizes(kernel: Kernel) -> None:
    assert faults(kernel, AWKWARD_SIZES) == []


@pytest.mark.parametrize("shift", [1, 2, 3])
@each_kernel
def test_every_kernel_is_right_at_unaligned_addresses(kernel: Kernel, shift: int) -> None:
    sizes = [(128, 128, 128), (64, 132, 8), (37, 44, 20), (130, 129, 33), (1, 1, 1)]
    assert faults(kernel, sizes, shift) == []


@each_kernel
def test_every_kernel_is_right_at_any_size(kernel: Kernel) -> None:
    dimension = st.integers(1, 300)

    @settings(max_examples=25, deadline=None)
    @given(dimension, dimension, dimension, st.integers(0, 3))
    def right(m: int, n: int, k: int, shift: int) -> None:
        assert faults(kernel, [(m, n, k)], shift) == []

    right()


@pytest.mark.parametrize("name", ["naive", "tiled", "double_buffer"])
def test_a_c_with_more_rows_than_a_grid_has_blocks(name: str) -> None:
    kernel = load_kernel(name)
    rows_per_block = kernel.values.get("BM") or kernel.values["TILE"]
    m = MAX_GRID_Y * rows_per_block + 5
    assert kernel.launch_shape(m, 1, 1).grid[1] > MAX_GRID_Y
    assert faults(kernel, [(m, 1, 1)]) == []


# Matrices of more than 2³¹ elements. Whole numbers small enough for every sum to be exact.

LONG = 50_000
assert LONG * LONG > 2**31
ROWS = 1000
"""Rows to fill or to compare at once: the double-precision copies must fit beside the matrices."""


@pytest.fixture
def roomy(cupy: Any) -> Any:
    if cupy.cuda.runtime.memGetInfo()[1] < 40e9:
        pytest.skip("A matrix of more than 2³¹ floats and its check want a GPU of 40 GB.")
    return cupy


def whole_numbers(cupy: Any, rows: int, columns: int) -> Any:
    matrix = cupy.empty((rows, columns), dtype="float32")
    random = cupy.random.RandomState(seed=1)
    for first in range(0, rows, ROWS):
        part = matrix[first : first + ROWS]
        part[...] = random.randint(-8, 9, part.shape)
    return matrix


@pytest.mark.parametrize("size", [(LONG, 1, LONG), (1, LONG, LONG), (LONG, LONG, 3)])
@pytest.mark.parametrize("name", ["naive", "tiled", "register_cache", "double_buffer"])
def test_matrices_of_more_than_2_to_the_31_elements(name: str, size: Size, roomy: Any) -> None:
    m, n, k = size
    a, b = whole_numbers(roomy, m, k), whole_numbers(roomy, k, n)
    c = roomy.full((m, n), roomy.nan, dtype="float32")
    LoadedKernel(load_kernel(name))(a, b, c)
    for first in range(0, m, ROWS):
        rows = slice(first, first + ROWS)
        expected = roomy.zeros(c[rows].shape, dtype="float64")
        for start in range(0, k, ROWS):
            part = slice(start, start + ROWS)
            expected += a[rows, part].astype("float64") @ b[part].astype("float64")
        assert roomy.array_equal(c[rows], expected), first


# Wrong kernels are rejected, and told what is wrong with them.

REASONS = {
    "clobbered_input": "of A, which it may only read",
    "double_buffer_race": "wrong on whole numbers|gave different results",
    "doubled_term": "wrong on whole numbers",
    "dropped_tail": "wrong on whole numbers",
    "hidden_nan": "wrong where A and B hold NaN and infinity",
    "misaligned_vector": "The GPU stopped the kernel",
    "missing_filled_wait": "wrong on whole numbers|gave different results",
    "missing_first_barrier": "wrong on whole numbers|gave different results",
    "missing_second_barrier": "wrong on whole numbers|gave different results",
    "outside_load": "spoiled by a read outside A or B",
    "outside_store": "It wrote outside C",
    "skipped_zeros": "wrong where A and B hold NaN and infinity",
    "transposed_index": "wrong on whole numbers",
    "unwritten_edge": "never written",
}
"""What is said of each. missing_copy_wait is not here: on an H200 its copies arrived in time."""


@pytest.mark.parametrize("name", REASONS)
def test_a_wrong_kernel_is_rejected(name: str) -> None:
    done = command("check", str(TESTS / "wrong_kernels" / f"{name}.cu"), "--json")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    said = [verdict["fault"] for verdict in json.loads(done.stdout) if verdict["fault"]]
    assert any(re.search(REASONS[name], fault) for fault in said), said


ENDLESS = "\n    for (float x = 1.0f; x != 0.0f; x += 1e-30f * A[0]) C[0] = x;\n"


def endless() -> Kernel:
    """A kernel that ends only where A begins with something else than a zero or a small number."""
    source = load_kernel("naive").source
    return parse_kernel(
        "endless", source.replace("{\n    const int row", "{" + ENDLESS + "    const int row", 1)
    )


def test_a_kernel_that_never_ends_is_stopped_and_the_gpu_lives_on(cupy: Any) -> None:
    kept = cupy.arange(5)
    (verdict,) = check_sandboxed(endless(), [(64, 64, 64)], time_limit=3.0)
    assert verdict.fault is not None
    assert verdict.fault.startswith("It did not end within 3 seconds and was stopped.")
    with pytest.raises(LabError, match="cannot be measured at 64×64×64: It did not end"):
        try_out(endless(), [(64, 64, 64)], time_limit=3.0)
    assert (kept + 1).get().tolist() == [1, 2, 3, 4, 5]
    assert faults(load_kernel("naive"), [(64, 64, 64)]) == []


def test_an_illegal_address_leaves_this_process_its_gpu(cupy: Any) -> None:
    path = TESTS / "wrong_kernels" / "misaligned_vector.cu"
    verdicts = list(check_sandboxed(load_kernel_file(path), AWKWARD_SIZES))
    assert "The GPU stopped the kernel" in str(verdicts[-1].fault)
    assert int(cupy.arange(5).sum()) == 10


def test_a_right_kernel_of_ones_own_passes_apart_as_it_does_here() -> None:
    mine = parse_kernel("mine", load_kernel("tiled").source)
    assert list(check_sandboxed(mine, AWKWARD_SIZES[:5])) == list(check(mine, AWKWARD_SIZES[:5]))
    try_out(mine, AWKWARD_SIZES[:5])


# Arrays of the GPU, cuBLAS, and a record.


def test_cublas_multiplies_rows_as_the_kernels_do(cupy: Any) -> None:
    a, b = whole_numbers(cupy, 37, 29), whole_numbers(cupy, 29, 53)
    c = cupy.full((37, 53), cupy.nan, dtype="float32")
    cublas()(a, b, c)
    assert cupy.array_equal(c, a.astype("float64") @ b.astype("float64"))


def test_cublas_rounds_to_tf32_only_where_it_may(cupy: Any) -> None:
    """TF32 keeps 10 bits of a factor: it would lose the last bit of 1 + 2⁻²³."""
    has_tf32 = int(cupy.cuda.Device().compute_capability) >= 80
    a = cupy.full((512, 512), 1 + 2.0**-23, dtype="float32")
    c = cupy.empty_like(a)
    cublas(tf32=True)(a, cupy.eye(512, dtype="float32"), c)
    assert (c == (1 if has_tf32 else a)).all()
    cublas()(a, cupy.eye(512, dtype="float32"), c)
    assert (c == a).all()


def test_a_race_gives_speeds_that_the_gpu_can_reach() -> None:
    kernels = [load_kernel("naive_rows"), load_kernel("double_buffer")]
    size = (1024, 1024, 1024)
    slow, fast, blas = time_interleaved(
        contenders(kernels), size, Budget(0.05, warm_up_seconds=0.02)
    )
    assert (slow.kernel, fast.kernel, blas.kernel) == ("naive_rows", "double_buffer", "cublas")
    assert 1 < slow.gflops < fast.gflops < 1.5 * blas.gflops < 500_000
    for measured in (slow, fast, blas):
        assert len(measured.seconds) >= 5


# The dispatcher: whatever kernel it takes, the product is right.


def uniform(cupy: Any, *shape: int) -> Any:
    return cupy.random.default_rng(seed=sum(shape)).random(shape, dtype="float32") - 0.5


def right(a: Any, b: Any, c: Any) -> bool:
    """Whether c is a·b up to rounding, and holds no NaN."""
    return bool((Rounding(a, b).shares(c) <= 1).all())


@pytest.mark.parametrize("kernel", candidates(), ids=lambda kernel: kernel.name)
def test_every_candidate_of_the_search_is_right(kernel: Kernel) -> None:
    if not suits(kernel, device_target()):
        pytest.skip(f"{kernel.name} needs {kernel.needs}.")
    sizes = [*AWKWARD_SIZES[::3], (257, 513, 1025), (1, 300, 5000), (300, 1, 5000)]
    assert faults(kernel, sizes) == []


@pytest.mark.parametrize(
    "size",
    [*AWKWARD_SIZES, (4097, 129, 513), (129, 4097, 513), (70, 70, 40_000), (4096, 4096, 1)],
    ids=str,
)
def test_matmul_is_right_at_awkward_sizes(size: Any, cupy: Any) -> None:
    m, n, k = size
    a, b = uniform(cupy, m, k), uniform(cupy, k, n)
    out = cupy.full((m, n), cupy.nan, dtype="float32")
    assert sgemm_lab.matmul(a, b, out) is out
    assert right(a, b, out)
    assert cupy.array_equal(sgemm_lab.matmul(a, b), out)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(1, 700), st.integers(1, 700), st.integers(0, 3))
def test_matmul_is_right_at_any_size_and_address(m: int, n: int, k: int, shift: int) -> None:
    import cupy

    def matrix(rows: int, columns: int) -> Any:
        zone = uniform(cupy, rows * columns + shift)
        return zone[shift:].reshape(rows, columns)

    a, b, c = matrix(m, k), matrix(k, n), matrix(m, n)
    c.fill(cupy.nan)
    sgemm_lab.matmul(a, b, c)
    assert right(a, b, c)


def test_matmul_takes_any_strides_and_leaves_its_inputs_alone(cupy: Any) -> None:
    x = uniform(cupy, 301, 203)
    before = x.copy()
    for a, b in ((x.T, x), (x, x.T), (x[::2, ::3], x[:68]), (x[::-1], x.T[:, ::-1])):
        assert right(a, b, sgemm_lab.matmul(a, b))
    assert cupy.array_equal(x, before)


@pytest.mark.parametrize(
    "size", [(300, 301, 302), (2048, 2048, 2048), (1, 999, 1001), (64, 64, 9000)]
)
def test_matmul_carries_nan_and_infinity_where_they_belong(size: Any, cupy: Any) -> None:
    m, n, k = size
    a, b = uniform(cupy, m, k), uniform(cupy, k, n)
    a[m // 2, k // 3], b[k - 1, n // 2] = cupy.nan, cupy.inf
    c = sgemm_lab.matmul(a, b)
    strange = ~cupy.isfinite(c)
    assert bool(strange[m // 2].all())
    assert bool(strange[:, n // 2].all())
    strange[m // 2], strange[:, n // 2] = False, False
    assert not bool(strange.any())


@pytest.mark.parametrize(
    "size",
    [(17, 19, 23), (1, 300, 5000), (1000, 999, 1001), (4096, 4096, 4096), (4095, 4097, 4093),
     (8192, 8192, 8192), (12_001, 12_003, 12_007)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("error", ["fp32", 1e-6, 3e-5, 1e-3])
def test_matmul_keeps_the_error_it_is_asked_for(size: Any, error: float | str, cupy: Any) -> None:
    m, n, k = size
    a, b = uniform(cupy, m, k), uniform(cupy, k, n)
    try:
        way = sgemm_lab.choice(m, n, k, error=error)
    except LabError as refusal:
        with pytest.raises(LabError, match=re.escape(str(refusal))):
            sgemm_lab.matmul(a, b, error=error)
        return
    out = cupy.full((m, n), cupy.nan, dtype="float32")
    assert sgemm_lab.matmul(a, b, out, error=error) is out, way
    found = norm_error(cupy, a, b, out, sampled_rows(m))
    cublas = norm_error(cupy, a, b, a @ b, sampled_rows(m))
    assert found <= (1.05 * cublas if error == "fp32" else float(error)), (way, found, cublas)


@pytest.mark.parametrize("inside", [None, "wgmma_3xfp16"])
def test_strassens_product_works_on_two_streams_at_once(inside: str | None, cupy: Any) -> None:
    n = 4096
    if inside and not suits(load_kernel(inside), device_target()):
        pytest.skip(f"{inside} needs {load_kernel(inside).needs}.")
    plan = make_plan((n, n, n), 2)
    a, b = uniform(cupy, n, n), uniform(cupy, n, n)
    leaf = LoadedKernel(load_kernel(inside)) if inside else None
    alone = cupy.empty((n, n), dtype="float32")
    GpuProduct(plan, leaf)(a, b, alone)
    assert norm_error(cupy, a, b, alone, sampled_rows(n)) < 1e-5
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    results = [cupy.full((n, n), cupy.nan, dtype="float32") for _ in range(6)]
    cupy.cuda.Device().synchronize()
    for i, c in enumerate(results):
        with streams[i % 2]:
            GpuProduct(plan, leaf)(a, b, c)
    cupy.cuda.Device().synchronize()
    assert all(cupy.array_equal(each, alone) for each in results)


@pytest.mark.parametrize("size", [(1024, 1024, 1024), (3072, 3072, 3072), (128, 128, 60_000)])
def test_matmul_works_on_two_streams_at_once(size: Any, cupy: Any) -> None:
    m, n, k = size
    pairs = [(uniform(cupy, m, k), uniform(cupy, k, n)) for _ in range(2)]
    expected = [sgemm_lab.matmul(a, b) for a, b in pairs]
    results = [cupy.full((8, m, n), cupy.nan, dtype="float32") for _ in pairs]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in pairs]
    cupy.cuda.Device().synchronize()
    for i in range(8):
        for stream, (a, b), c in zip(streams, pairs, results, strict=True):
            with stream:
                sgemm_lab.matmul(a, b, c[i])
    cupy.cuda.Device().synchronize()
    for found, right_one in zip(results, expected, strict=True):
        assert all(cupy.array_equal(each, right_one) for each in found)


def test_matmul_waits_for_nothing_but_its_stream(cupy: Any) -> None:
    a = uniform(cupy, 2048, 2048)
    sgemm_lab.matmul(a, a)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(20):
            c = sgemm_lab.matmul(a, a)
        assert not stream.done
    stream.synchronize()
    assert right(a, a, c)


def test_the_dispatcher_is_recorded_and_shown(tmp_path: Path) -> None:
    out = str(tmp_path)
    sizes = ["--size", "256", "--size", "4096"]
    done = command("record", "matmul", *sizes, "--seconds", "0.05", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    small, large = json.loads(command("scoreboard", "--json", "--records", out).stdout)
    assert (small["kernel"], large["kernel"]) == ("matmul", "matmul")
    assert load_kernel(small["picked"]).name != load_kernel(large["picked"]).name
    graphs = {
        m.size: m.graph for m in load_record(next(tmp_path.glob("*.json"))).runs[0].measurements
    }
    assert graphs == {(256, 256, 256): True, (4096, 4096, 4096): None}


def test_a_launch_for_a_profiler_ends_well() -> None:
    done = command("launch", "naive", "strip", "--size", "131,133,67")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
