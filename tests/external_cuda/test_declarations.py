"""Where the declarations of CUDA files end, and what they are called."""

from pathlib import Path

import pytest
from in_node import answers

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.cuda_file import Pasted, own_kernels, read_sources

MODULES = {"reading": "external_cuda/declarations.ts", "words": "external_cuda/tokens.ts"}
READ = """(source) => reading.declarationsOf(source).map(
  (one) => [one.kind, one.names.toSorted(), one.namespace, one.isKernel])"""
TOKENS = "(source) => words.tokensOf(source).map(({ text, start, end }) => [text, start, end])"
FUNCTION, OTHER, TYPE, USING = "function", "other", "type", "using"
ONE = [
    ("void f(int a) { g({1}); }", FUNCTION, ["f"]),
    ("template <int N = (3 > 2)> __global__ void f(float* x) {}", FUNCTION, ["f"]),
    ("__global__ void __launch_bounds__(32 * 8, 2) f(float* x) {}", FUNCTION, ["f"]),
    ("template <> __global__ void f<float, 3>(float* x) {}", FUNCTION, ["f"]),
    ("inline float4 operator+=(float4 a, float4 b) { return a; }", FUNCTION, ["operator"]),
    ("bool operator==(X a, X b) { return a.x == b.x; }", FUNCTION, ["operator"]),
    ("const int N = 4, M = N * 2;", OTHER, ["M", "N"]),
    ("__constant__ float table[3][N];", OTHER, ["table"]),
    ("constexpr int n{3};", OTHER, ["n"]),
    ("std::vector<int> host = {1, 2};", OTHER, ["host"]),
    ("template <class T> constexpr bool good = sizeof(T) > 4;", OTHER, ["good"]),
    ("struct __align__(16) P { int a; void f() {} };", TYPE, ["P"]),
    ("typedef struct { float x; } Vec, *Ptr;", TYPE, ["Ptr", "Vec"]),
    ("typedef float (*fn)(int);", TYPE, ["fn"]),
    ("typedef unsigned int uint;", TYPE, ["uint"]),
    ("enum Kind { ONE, TWO = 2 };", TYPE, ["Kind", "ONE", "TWO"]),
    ("struct P make(int a) { return {a}; }", FUNCTION, ["make"]),
    ("using T = float;", USING, ["T"]),
    ("using namespace std;", USING, []),
    ("namespace cg = cooperative_groups;", USING, ["cg"]),
    ("CHECK(x)\n", OTHER, []),
    ("auto f = [](int a) { return a; };", OTHER, ["f"]),
]


def declarations(*sources: str) -> list[list[list[object]]]:
    return [one["gives"] for one in answers(MODULES, READ, [[source] for source in sources])]


def test_comments_are_no_tokens_and_a_directive_is_one_with_its_continued_lines() -> None:
    source = '#define A \\\n  1 // one\nint a; /* b; */ // c;\nchar* s = "}\\"{"; x<<<1, 2>>>'
    raw = 'auto r = R"x(a "b" } )x" + 1\'000.5e+3f;'
    first, second = (one["gives"] for one in answers(MODULES, TOKENS, [[source], [raw]]))
    assert [text for text, *_ in first] == [
        "#define A \\\n  1 ", "int", "a", ";", "char", "*", "s", "=", '"}\\"{"', ";",
        "x", "<<<", "1", ",", "2", ">", ">", ">",
    ]  # fmt: skip
    assert [text for text, *_ in second][3:6] == ['R"x(a "b" } )x"', "+", "1'000.5e+3f"]
    assert all(raw[start:end] == text for text, start, end in second)


def test_each_kind_of_declaration() -> None:
    found = declarations(*(source + "int last;" for source, *_ in ONE))
    assert [[one[:2] for one in file] for file in found] == [
        [[kind, names], [OTHER, ["last"]]] for _, kind, names in ONE
    ]


def test_namespaces_are_frames_that_kernels_know() -> None:
    source = (
        'namespace a { namespace b::c { __global__ void f() {} } extern "C" { int g(); } } int x;'
    )
    [found] = declarations(source)
    assert [kind for kind, *_ in found] == [
        "open", "open", FUNCTION, "close", "open", FUNCTION, "close", "close", OTHER,
    ]  # fmt: skip
    assert [space for *_, space, kernel in found if kernel] == [["a", "b", "c"]]
    assert found[-1][2] == []


def test_each_branch_of_an_if_opens_the_same_brace() -> None:
    around = "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  g();\n}\nint last;"
    inside = "void f() {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nint last;"
    first, second = declarations(around, inside)
    assert first[-1][1] == ["last"]
    assert [one[:2] for one in second] == [[FUNCTION, ["f"]], [OTHER, ["last"]]]


def test_macro_without_a_semicolon_does_not_hide_the_kernel_after_it() -> None:
    [found] = declarations("REGISTER(a, b)\n__global__ void f() {}\n")
    assert [one[:2] for one in found] == [[OTHER, []], [FUNCTION, ["f"]]]


def test_a_bracket_that_never_closes_is_said() -> None:
    sources = read_sources(Pasted("a.cu", "__global__ void f() { if (1) {", Path()))
    with pytest.raises(LabError, match=r"a\.cu cannot be read\. Its brackets do not match"):
        own_kernels(sources)
