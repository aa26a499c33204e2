"""What a reader may write behind --args, and the usual signatures told by their names."""

from typing import Any

import pytest
from in_node import answers
from test_cuda_file import parameters as of_kernel
from test_cuda_file import sources

from sgemm_lab.errors import LabError


def parameters(kernel: str, signature: str, before: str = "") -> dict[str, Any]:
    text = f"{before}\n__global__ void {kernel}({signature}) {{}}"
    return of_kernel(sources(text), kernel)


MODULES = {
    "args": "external_cuda/arguments.ts",
    "elements": "external_cuda/elements.ts",
    "packing": "external_cuda/packing.ts",
}


def asked(function: str, *given: Any) -> Any:
    """Return what a function of ``arguments.ts`` and ``elements.ts`` answers.

    Raises:
        LabError: as the function throws.
    """
    [answer] = answers(MODULES, function, [given])
    if answer.get("kind") == "LabError":
        raise LabError(answer["says"])
    return answer["gives"]


def read(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked("(text) => args.readArguments(text)", text)
    return found


def test_words_become_arguments() -> None:
    given = read("M N, ceil(K / 2) 1.0f A B:col -2e-3 C:zero:col")
    assert [one["text"] for one in given if one["kind"] == "number"] == [
        "M", "N", "ceil(K / 2)", "1.0f", "-2e-3",
    ]  # fmt: skip
    assert [
        (one["name"], one["byColumns"], one["zero"]) for one in given if one["kind"] == "matrix"
    ] == [("A", False, False), ("B", True, False), ("C", True, True)]
    *arrays, number = read("x:in:n y:out:2*n:half z:inout:z.npy n=64")
    assert [(one["name"], one["use"], one["size"], one["type"]) for one in arrays] == [
        ("x", "in", "n", ""), ("y", "out", "2*n", "half"), ("z", "inout", "z.npy", ""),
    ]  # fmt: skip
    assert (number["name"], number["text"]) == ("n", "64")


def test_an_image_has_sides_an_element_and_modes() -> None:
    text = "p:texture:w:2*w:uchar4:linear:wrap q:surface:n"
    (one, sides, sampling), (two, of_two, usual) = asked(
        "(text) => args.readArguments(text).map((one) => "
        "[one, args.sidesOf(one, { w: 3, n: 9 }), args.samplingOf(one.modes)])",
        text,
    )
    assert (one["use"], one["type"], sides) == ("texture", "uchar4", [3, 6, 1])
    assert sampling == {"linear": True, "normalized": False, "beyond": "wrap"}
    assert (of_two, two["type"]) == ([9, 1, 1], "")
    assert usual == {"linear": False, "normalized": False, "beyond": "clamp"}


@pytest.mark.parametrize("text", [
    "M N K 1.0 A B 0.0 C:zero", "x:in:4*n y:out:9:int n=64", "", "x:in:12@n:half n=4",
    "v:texture:8:8:4:float2:linear:normalized:mirror s:surface:64:48:uchar",
])  # fmt: skip
def test_arguments_are_written_as_they_are_read(text: str) -> None:
    assert asked("(text) => args.textsOf(args.readArguments(text))", text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A B", "C is missing"), ("t:texture:8:8:8:8", "'t:texture:8:8:8:8' is no texture"),
        ("t:texture:float", "is no texture"), ("x:in:4 x:in:4", "'x' stands twice"),
        ("A A B C", "'A' stands twice"), ("A:up B C", "'A:up' is no matrix"),
        ("x:in", "'x:in' is no argument"), ("x:in:4:int:5", "names no array"),
        ("M=4", "names no number"), ("4=n", "names no number"),
    ],
)  # fmt: skip
def test_words_that_are_no_arguments(text: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        read(text)


def test_numbers_have_values() -> None:
    names = {"M": 5, "N": 7, "K": 9}
    named = "(text, names) => args.namedNumbers(args.readArguments(text), names)"
    assert asked(named, "n=2*M m=ceil(n/4) h=0.5", names) == {**names, "n": 10, "m": 3}
    value = "(text) => args.numberOf(args.readArguments(text)[0], {})"
    assert (asked(value, "1.5e3f"), asked(value, "-3")) == (1500.0, -3)
    whole = "(text, names) => args.whole(text, names, 'grid')"
    assert asked(whole, "(N+3)/4", names) == 2
    assert asked(whole, "ceil(N/4)*ceil(M/4)", names) == 4
    with pytest.raises(LabError, match=r"The grid is 'N/X', "):
        asked(whole, "N/X", names)


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
    assert len(read(text)) == 4


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
    element = "(type) => { const one = elements.elementOf(type); "
    found, is_whole = asked(element + "return [one, elements.isWhole(one)]; }", type_)
    assert (found["stored"], found["lanes"], is_whole) == (stored, lanes, whole_)


def test_typedefs_macros_and_templates_are_followed() -> None:
    before = "typedef float real;\nusing word = uint32_t;\n#define DATA real\ntypedef struct {} S;"
    slots = parameters("k", "DATA* a, word b, S* c", before)["slots"]
    elements = [one["element"] for slot in slots for one in slot["fields"]]
    assert [one and one["name"] for one in elements] == ["float", "uint32_t", None]


def test_bfloat16_is_rounded_to_the_nearest_even() -> None:
    turned, exact = asked(
        "(numbers) => { const [brief, half] = ['__nv_bfloat16', 'half'].map(elements.elementOf);"
        " const packed = packing.pack(brief, Float64Array.from(numbers, Number));"
        " return [[...packing.unpack(brief, packed)], [brief, half].map(packing.exactOf)]; }",
        [1, 257, 258, 259, -0.5, "Infinity"],
    )
    assert turned == [1, 256, 258, 260, -0.5, "Infinity"]
    assert exact == [256, 2048]
