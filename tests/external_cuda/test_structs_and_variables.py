"""Structs as arguments and variables of the file, as a reader gives them."""

from pathlib import Path

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.count import ExternalRun, count_external
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.launch import ExternalKernel
from sgemm_lab.kernel import Size

GUIDE = """
typedef struct { int width; int height; int stride; float* elements; } Matrix;
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int e = 0; e < A.width; ++e)
        sum += A.elements[row * A.stride + e] * B.elements[e * B.stride + col];
    C.elements[row * C.stride + col] = sum;
}
"""
MIXED = """
struct Inner { char tag; double weight; };
struct Settings {
    unsigned char flag; short steps[3]; Inner inner; float3 at; const int* list;
    __host__ __device__ int more() const { return flag + 1; }
    static const int ignored = 3;
};
__constant__ float mask[3];
__constant__ int width, height = 5;
namespace deep { __device__ int hits; }
__global__ void k(Settings s, float* y, half2 h, char c) {
    int i = threadIdx.x;
    y[i] = s.more() + s.steps[1] + s.inner.weight + s.at.z + s.list[i] + mask[i % 3] + width * 100
         + height + (float)h.y + c;
    atomicAdd(&deep::hits, 1);
}
"""
FIELDS = "1 2 3 4 5 6.5 0 0 7 list:in:32"


def run(
    text: str, arguments: str | None, expect: tuple[str, ...] = (), size: Size = (8, 8, 8)
) -> ExternalRun:
    pasted = Pasted(
        "a.cu", f"#include <cuda_fp16.h>\n{text}" if "half2" in text else text, Path(".")
    )
    grid, block = ((), ()) if arguments is None else (("1",), ("32",))
    kernel = ExternalKernel(pasted, grid, block, "0", arguments)
    return count_external(kernel, size, expect=expect)


def test_matrices_that_are_structs_are_told_by_their_fields() -> None:
    done = run(GUIDE, None, size=(16, 32, 8))
    assert done.arguments == "K M K A N K N B N M N C"
    assert not done.wrong
    assert (done.grid, done.block) == ((2, 1), (16, 16))


def test_fields_lie_where_c_puts_them_and_variables_are_set() -> None:
    total = "y = 1 + 1 + 3 + 6.5 + 7 + list + 300 + 5 + 0.5 - 4"
    done = run(MIXED, f"{FIELDS} y:out:32 0 0.5 -4 mask=0 width=3", (total, "hits = 32"))
    assert [(v.name, v.wrong) for v in done.verdicts] == [("y", 0), ("hits", 0)]


def test_what_is_assumed_of_variables_is_said() -> None:
    said = " ".join(run(MIXED, f"{FIELDS} y:out:32 0 0.5 -4").sentences)
    assert "mask holds small whole numbers, as only host code sets it" in said
    assert "width holds zeros, as only host code sets it" in said
    assert "height" not in said.replace("height = 5", "")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (f"{FIELDS} y:out:32 0 0.5 -4 depth=3", "may set the variables of the file: mask"),
        (
            f"{FIELDS} y:out:32 0 0.5 -4 mask:in:4",
            "mask has 3 elements, but --args gives mask:in:4",
        ),
        (f"{FIELDS} y:out:32 0 0.5 200", "takes numbers from -128 to 127, not 200"),
        ("1 2 y:out:32", "takes 14 arguments"),
    ],
)
def test_what_does_not_fit_is_a_sentence(arguments: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        run(MIXED, arguments)


def test_a_struct_that_is_not_known_is_a_sentence() -> None:
    text = """struct Base { int x; }; struct P : Base { int y; };
__global__ void k(P p, int* y) { *y = p.x; }"""
    with pytest.raises(LabError, match="cannot be taken apart into numbers and pointers"):
        run(text, "1 2 y:out:1")


def test_sizes_in_a_struct_may_be_macros_and_parts_may_be_left_out() -> None:
    text = """
#define WIDE (2 + 1)
#define SHORT
struct Parts { int head[WIDE];
#ifndef SHORT
    double gone;
#else
    float tail;
#endif
};
__global__ void k(Parts p, float* y) { y[threadIdx.x] = p.head[2] + p.tail; }
"""
    done = run(text, "1 2 3 0.5 y:out:32", ("y = 3.5",))
    assert not done.wrong
