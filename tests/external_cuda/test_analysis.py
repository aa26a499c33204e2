"""Kernels of others: counted, judged, and told why they are wrong."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from in_node import answers

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.count import ExternalRun, count_external
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.launch import ExternalKernel, Settings
from sgemm_lab.kernel import Size

GRID, BLOCK = ("ceil(N/8)", "ceil(M/8)"), ("8", "8")
SIZE = (13, 20, 9)


def product(signature: str, store: str = "alpha * acc + beta * C[i * N + j]", **other: str) -> str:
    """Return a naive kernel: ``a`` and ``b`` are how its loop reads A and B."""
    a, b = other.get("a", "A[i * K + k]"), other.get("b", "B[k * N + j]")
    place, guard = other.get("place", "i * N + j"), other.get("guard", "i < M && j < N")
    return (
        f"__global__ void gemm({signature}) {{\n"
        "    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;\n"
        f"    if (!({guard})) return;\n"
        "    auto acc = C[0] * 0;\n    acc = 0;\n"
        f"    for (int k = 0; k < K; ++k) acc += {a} * {b};\n"
        f"    C[{place}] = {store};\n}}\n"
        "int main() { cudaMalloc(0, 1); gemm<<<1, 1>>>(); }\n"
    ).replace("auto acc = C[0] * 0;\n    acc = 0;", f"{other.get('acc', 'float')} acc = 0;")


BLAS = "int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C"
PLAIN = "const float* A, const float* B, float* C, int M, int N, int K"


def launch(
    text: str,
    arguments: str | None = None,
    *,
    size: Size = SIZE,
    grid: Sequence[str] = GRID,
    block: Sequence[str] = BLOCK,
    expect: tuple[str, ...] = (),
    entry: str | None = None,
) -> ExternalRun:
    kernel = ExternalKernel(
        Pasted("a.cu", text, Path("."), entry), tuple(grid), tuple(block), "0", arguments
    )
    return count_external(kernel, size, expect=expect, settings=Settings(time_limit=20))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (product(PLAIN, "acc"), None),
        (product(BLAS), None),
        (product(BLAS), "M N K 2 A B -1 C"),
        (product("float* C, float* A, float* B, int M, int K, int N", "acc"), None),
        (product("const int* A, const int* B, int* C, int M, int N, int K", "acc", acc="int"),
         None),
        (product("const unsigned* A, const unsigned* B, unsigned* C, int M, int N, int K",
                 "acc", acc="unsigned"), None),
        (product(PLAIN, "acc", a="A[k * M + i]", b="B[j * K + k]", place="j * M + i"),
         "A:col B:col C:col M N K"),
        (product("float* A, int lda, float* B, int ldb, float* C, int ldc, int M, int N, int K",
                 "acc", a="A[i * lda + k]", b="B[k * ldb + j]", place="i * ldc + j"), None),
        ("template <typename T, int W> " + product(PLAIN.replace("float", "T"), "acc + W - W"),
         None),
    ],
)  # fmt: skip
def test_right_kernels_are_right(text: str, arguments: str | None) -> None:
    entry = "gemm<float, 3>" if "template" in text else None
    done = launch(text, arguments, entry=entry)
    assert not done.wrong
    assert (done.result.hazards, done.cause, done.changed) == ([], "", ())
    assert done.result.counts.total.global_store_requests > 0
    assert done.verdicts[0].elements == 13 * 20


@pytest.mark.parametrize(
    ("text", "arguments", "grid", "cause"),
    [
        (product(PLAIN, "acc", a="A[k * M + i]", b="B[j * K + k]", place="j * M + i"), None, GRID,
         "C is right if A and B and C lie by columns: --args 'A:col B:col C:col M N K'."),
        (product(PLAIN, "acc", b="B[j * K + k]"), None, GRID,
         "C is right if B lies by columns: --args 'A B:col C M N K'."),
        (product(PLAIN, "acc"), None, ("2", "2"),
         "Only the first 13 rows and 16 columns of 13 × 20 were written"),
        (product(PLAIN, "acc", guard="i < M && j < N && (i + j) % 3"), None, GRID,
         "elements were never written; all others are right"),
        (product(PLAIN, "acc", guard="i < 0 && j < N"), None, GRID, "Nothing was written to C."),
        (product(PLAIN, "C[i * N + j] + acc"), None, GRID,
         "the kernel adds to what C holds, so C must start with zeros: --args 'A B C:zero M N K'"),
        (product(BLAS, "acc + beta * C[i * N + j]"), "M N K 2 A B 1 C", GRID,
         "C is right without alpha:"),
        (product(BLAS, "alpha * acc"), "M N K 2 A B 1 C", GRID, "C is right without beta"),
        (product(BLAS, "acc"), "M N K 2 A B 1 C", GRID, "C is right without alpha and beta"),
        (product(PLAIN, "acc", a="(k == 3 ? 0.f : A[i * K + k])"), None, GRID, ""),
        (product(PLAIN, "acc + (i == 12 && j == 19)"), None, GRID, ""),
        (product(PLAIN, "acc * 1.0001f"), None, GRID, ""),
        # It is written, though by a NaN, with which C begins.
        (product(PLAIN, "acc + sqrtf(-1.0f - acc * acc)"), None, GRID, ""),
    ],
)  # fmt: skip
def test_wrong_kernels_are_wrong_and_the_usual_cause_is_named(
    text: str, arguments: str | None, grid: Sequence[str], cause: str
) -> None:
    done = launch(text, arguments, grid=grid)
    assert done.wrong
    assert done.verdicts[0].wrong > 0
    assert cause in done.cause if cause else done.cause == ""


def test_beta_zero_meets_no_nan_and_an_element_not_written_is_seen() -> None:
    assert not launch(product(BLAS)).wrong
    done = launch(product(BLAS, guard="i < M && j < N && i != 5"))
    assert (done.verdicts[0].wrong, done.result.hazards) == (20, [])


def test_an_input_that_is_written_is_a_fault() -> None:
    text = product("float* A, float* B, float* C, int M, int N, int K", "A[0] = acc")
    done = launch(text.replace("C[i * N + j] = A[0] = acc", "C[i * N + j] = acc; B[0] = 77"))
    assert done.changed == ("B",)
    assert done.wrong


def test_one_size_means_square_matrices() -> None:
    text = product(
        "float* A, float* B, float* C, int N", "acc", guard="i < N && j < N", a="A[i*N+k]"
    )
    text = text.replace("k < K", "k < N")
    assert not launch(text, size=(10, 10, 10)).wrong
    with pytest.raises(LabError, match="takes one size, so its matrices are square"):
        launch(text)


REDUCE = """
__global__ void reduce(const float* x, float* y, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 32; step; step /= 2) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
"""


def reduce(
    text: str = REDUCE, arguments: str = "x:in:256 y:out:4 n=256", **more: str
) -> ExternalRun:
    expect = (more.get("expect", "y = sum(reshape(x, 4, 64), axis=1)"),)
    return launch(text, arguments, grid=("ceil(n/64)",), block=("64",), expect=expect)


def test_any_kernel_is_counted_and_judged_by_what_is_expected() -> None:
    done = reduce()
    assert not done.wrong
    assert done.result.hazards == []
    assert done.result.counts.total.global_load_requests == 8
    assert (done.verdicts[0].name, done.verdicts[0].elements) == ("y", 4)
    assert reduce(expect="y = sum(x)").wrong
    assert reduce(expect="x = x").wrong is False


@pytest.mark.parametrize(
    ("old", "new", "hazard"),
    [
        ("    __syncthreads();\n    for", "    for", "with no barrier between"),
        ("        __syncthreads();\n    }", "    }", "with no barrier between"),
        ("i < n ? x[i] : 0", "x[i + 1]", "reads element 256 of x, which has 256 elements"),
        ("y[blockIdx.x]", "y[blockIdx.x + 1]", "writes element 4 of y, which has 4 elements"),
        ("y[blockIdx.x] =", "y[blockIdx.x] +=", "reads y[0], which nothing has written"),
    ],
)
def test_hazards_of_any_kernel_are_found(old: str, new: str, hazard: str) -> None:
    assert old in REDUCE
    done = reduce(REDUCE.replace(old, new))
    assert any(hazard in str(found) for found in done.result.hazards)


@pytest.mark.parametrize(
    ("arguments", "expect", "reason"),
    [
        ("x:in:256 y:out:4", "y = x", "takes 3 arguments"),
        ("x:in:256 n=256 y:out:4", "y = x", "takes an array as 'float. y', but --args gives n=256"),
        ("x:in:256 y:out:4 n=0.5", "y = 1", "takes a whole number, not 0.5"),
        ("x:in:256 y:out:4 n=256", "z = x", "'z' is no array of the arguments. There are: x, y"),
        ("x:in:256 y:out:4 n=256", "y = x", "has 256 elements, but y has 4"),
        ("x:in:0 y:out:4 n=256", "y = x", "has 0 elements"),
        ("x:in:9**9 y:out:4 n=256", "y = x", r"The size of x is '9\*\*9', "),
        ("x:in:256:vec y:out:4 n=256", "y = x", "'vec' is no type of numbers"),
    ],
)
def test_arguments_that_do_not_fit_are_a_sentence(arguments: str, expect: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        reduce(arguments=arguments, expect=expect)


def test_arrays_come_from_files_too(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full(256, 0.5))
    np.save(tmp_path / "y.npy", np.full(4, 32))
    done = reduce(arguments=f"x:in:{tmp_path}/x.npy y:out:4 n=256", expect=f"y = {tmp_path}/y.npy")
    assert not done.wrong


def test_numbers_of_small_floats_stay_exact() -> None:
    modules = {
        "values": "external_cuda/initial_values.ts",
        "elements": "external_cuda/elements.ts",
    }
    largest = "(c, k) => values.largest(elements.elementOf(c), k)"
    cases = {
        ("float", 256): 8, ("float", 2**20): 1, ("half", 64): 8, ("half", 1024): 5,
        ("__nv_bfloat16", 4096): 1,
    }  # fmt: skip
    found = answers(modules, largest, list(map(list, cases)))
    assert [one["gives"] for one in found] == list(cases.values())
