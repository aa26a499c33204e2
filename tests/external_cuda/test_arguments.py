"""What a reader may write behind --args, and the usual signatures told by their names."""

from typing import Any

import numpy as np
import pytest
from test_cuda_file import parameters as of_kernel
from test_cuda_file import sources

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.arguments import (
    Array,
    Image,
    Matrix,
    Number,
    named_numbers,
    read_arguments,
    value_of,
    whole,
)
from sgemm_lab.external_cuda.elements import element_of
from sgemm_lab.simulator.arguments import Sampling


def parameters(kernel: str, signature: str, before: str = "") -> dict[str, Any]:
    text = f"{before}\n__global__ void {kernel}({signature}) {{}}"
    return of_kernel(sources(text), kernel)


def test_words_become_arguments() -> None:
    assert read_arguments("M N, ceil(K / 2) 1.0f A B:col -2e-3 C:zero:col") == (
        Number("M"),
        Number("N"),
        Number("ceil(K / 2)"),
        Number("1.0f"),
        Matrix("A"),
        Matrix("B", by_columns=True),
        Number("-2e-3"),
        Matrix("C", by_columns=True, zero=True),
    )
    assert read_arguments("x:in:n y:out:2*n:half z:inout:z.npy n=64") == (
        Array("x", "in", "n"),
        Array("y", "out", "2*n", "half"),
        Array("z", "inout", "z.npy"),
        Number("64", "n"),
    )


def test_an_image_has_sides_an_element_and_modes() -> None:
    one, two = read_arguments("p:texture:w:2*w:uchar4:linear:wrap q:surface:n")
    assert isinstance(one, Image)
    assert isinstance(two, Image)
    assert (one.use, one.type, one.sides({"w": 3})) == ("texture", "uchar4", (3, 6, 1))
    assert one.sampling == Sampling(linear=True, normalized=False, beyond="wrap")
    assert (two.elements({"n": 9}), two.type, two.sampling) == (9, "", Sampling())


@pytest.mark.parametrize("text", [
    "M N K 1.0 A B 0.0 C:zero", "x:in:4*n y:out:9:int n=64", "", "x:in:12@n:half n=4",
    "v:texture:8:8:4:float2:linear:normalized:mirror s:surface:64:48:uchar",
])  # fmt: skip
def test_arguments_are_written_as_they_are_read(text: str) -> None:
    assert " ".join(map(str, read_arguments(text))) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A B", "C is missing"),
        ("t:texture:8:8:8:8", "'t:texture:8:8:8:8' is no texture"),
        ("t:texture:float", "is no texture"),
        ("x:in:4 x:in:4", "'x' stands twice"),
        ("A A B C", "'A' stands twice"),
        ("A:up B C", "'A:up' is no matrix"),
        ("x:in", "'x:in' is no argument"),
        ("x:in:4:int:5", "names no array"),
        ("M=4", "names no number"),
        ("4=n", "names no number"),
    ],
)
def test_words_that_are_no_arguments(text: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        read_arguments(text)


def test_numbers_have_values() -> None:
    names = {"M": 5, "N": 7, "K": 9}
    given = read_arguments("n=2*M m=ceil(n/4) h=0.5")
    assert named_numbers(given, names) == {**names, "n": 10, "m": 3}
    assert value_of(Number("1.5e3f"), names) == 1500.0
    assert value_of(Number("-3"), names) == -3
    assert whole("(N+3)/4", names, "grid") == 2
    assert whole("ceil(N/4)*ceil(M/4)", names, "grid") == 4
    with pytest.raises(LabError, match=r"The grid is 'N/X', "):
        whole("N/X", names, "grid")


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        ("const float* A, const float* B, float* C, int M, int N, int K", "A B C M N K"),
        ("int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C",
         "M N K 1 A B 0 C"),
        ("float* a, float* b, float* c, int M, int K, int N", "A B C M K N"),
        ("float* C, float* A, float* B, int wA, int wB", "C A B K N"),
        ("float *d_M, float *d_N, float *d_P, int width", "A B C N"),
        ("int m, int n, int k, float a, const float* A, int lda, float* B, int ldb, float beta, "
         "float* C, int ldc", "M N K 1 A K B N 0 C N"),
        ("const int* x, const int* y, int* z, int numARows, int numAColumns, int numBRows, "
         "int numBColumns", "A B C M K K N"),
        ("const float*, const float*, float*, int, int, int", "A B C M N K"),
        ("float* out, const half* lhs, const half* rhs, size_t rows, size_t cols, size_t inner",
         "C A B M N K"),
        ("float beta, float alpha, float* A, float* B, float* C, int n", "0 1 A B C N"),
    ],
)  # fmt: skip
def test_usual_signatures_are_told_by_their_names(signature: str, arguments: str) -> None:
    assert parameters("gemm", signature)["product"] == arguments


def test_leading_dimensions_by_columns() -> None:
    signature = "int m, int n, int k, float* A, int lda, float* B, int ldb, float* C, int ldc"
    assert parameters("gemm", signature)["byColumns"] == "M N K A:col M B:col K C:col M"


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        ("vectorAdd", "const float* A, const float* B, float* C, int n"),
        ("softmax", "float* A, float* B, float* C, int M, int N, int K"),
        ("gemm", "float* A, float* B, int n"),
        ("gemm", "float* A, float* B, float* C"),
        ("gemm", "float* A, float* B, float* C, float x, float y, float z, int n"),
        ("gemm", "float* A, float* B, float* C, struct Params p, struct Other o, dim3 q, int n"),
    ],
)
def test_other_kernels_are_not_taken_for_products(kernel: str, signature: str) -> None:
    assert parameters(kernel, signature)["product"] is None


def test_suggestion_can_be_read_again() -> None:
    text = " ".join(parameters("k", "const float* x, vec3* y, float a, int n")["suggested"])
    assert text == "x:in:4096 y:inout:4096:float 1.0 n=4096"
    assert len(read_arguments(text)) == 4


@pytest.mark.parametrize(
    ("type_", "stored", "lanes", "whole_"),
    [
        ("float", "f4", 1, False), ("float4", "f4", 4, False), ("uint2", "u4", 2, True),
        ("half", "f2", 1, False), ("__half2", "f2", 2, False), ("std::uint8_t", "u1", 1, True),
        ("unsigned long long", "u8", 1, True), ("__nv_bfloat16", "u2", 1, False),
        ("longlong2", "i8", 2, True), ("bool", "?", 1, True),
    ],
)  # fmt: skip
def test_types_of_elements(type_: str, stored: str, lanes: int, whole_: bool) -> None:
    found = element_of(type_)
    assert found is not None
    assert (found.stored, found.lanes, found.whole) == (np.dtype(stored), lanes, whole_)


def test_typedefs_macros_and_templates_are_followed() -> None:
    before = "typedef float real;\nusing word = uint32_t;\n#define DATA real\ntypedef struct {} S;"
    slots = parameters("k", "DATA* a, word b, S* c", before)["slots"]
    elements = [one["element"] for slot in slots for one in slot["fields"]]
    assert [one and one["name"] for one in elements] == ["float", "uint32_t", None]


def test_bfloat16_is_rounded_to_the_nearest_even() -> None:
    element = element_of("__nv_bfloat16")
    assert element is not None
    values = np.array([1, 257, 258, 259, -0.5, np.inf], "f4")
    assert element.unpack(element.pack(values)).tolist() == [1, 256, 258, 260, -0.5, np.inf]
    assert (element.exact, element_of("half").exact) == (256, 2048)  # type: ignore[union-attr]
