"""Where the declarations of CUDA files end, and what they are called."""

import pytest

from sgemm_lab.external_cuda.declarations import UnevenError, declarations_of
from sgemm_lab.external_cuda.tokens import tokens_of


def said(source: str) -> list[tuple[str, list[str]]]:
    return [(d.kind, sorted(d.names)) for d in declarations_of(source)]


def test_comments_are_no_tokens_and_a_directive_is_one_with_its_continued_lines() -> None:
    source = '#define A \\\n  1 // one\nint a; /* b; */ // c;\nchar* s = "}\\"{"; x<<<1, 2>>>'
    texts = [token.text for token in tokens_of(source)]
    assert texts[0] == "#define A \\\n  1 "
    assert texts[1:] == [
        "int", "a", ";", "char", "*", "s", "=", '"}\\"{"', ";",
        "x", "<<<", "1", ",", "2", ">", ">", ">",
    ]  # fmt: skip


def test_tokens_know_their_place() -> None:
    source = 'auto r = R"x(a "b" } )x" + 1\'000.5e+3f;'
    found = tokens_of(source)
    assert all(source[token.start : token.end] == token.text for token in found)
    assert [token.text for token in found][3:6] == [
        'R"x(a "b" } )x"',
        "+",
        "1'000.5e+3f",
    ]


@pytest.mark.parametrize(
    ("source", "kind", "names"),
    [
        ("void f(int a) { g({1}); }", "function", ["f"]),
        ("template <int N = (3 > 2)> __global__ void f(float* x) {}", "function", ["f"]),
        ("__global__ void __launch_bounds__(32 * 8, 2) f(float* x) {}", "function", ["f"]),
        ("template <> __global__ void f<float, 3>(float* x) {}", "function", ["f"]),
        ("inline float4 operator+=(float4 a, float4 b) { return a; }", "function", ["operator"]),
        ("bool operator==(X a, X b) { return a.x == b.x; }", "function", ["operator"]),
        ("const int N = 4, M = N * 2;", "other", ["M", "N"]),
        ("__constant__ float table[3][N];", "other", ["table"]),
        ("constexpr int n{3};", "other", ["n"]),
        ("std::vector<int> host = {1, 2};", "other", ["host"]),
        ("template <class T> constexpr bool good = sizeof(T) > 4;", "other", ["good"]),
        ("struct __align__(16) P { int a; void f() {} };", "type", ["P"]),
        ("typedef struct { float x; } Vec, *Ptr;", "type", ["Ptr", "Vec"]),
        ("typedef float (*fn)(int);", "type", ["fn"]),
        ("typedef unsigned int uint;", "type", ["uint"]),
        ("enum Kind { ONE, TWO = 2 };", "type", ["Kind", "ONE", "TWO"]),
        ("struct P make(int a) { return {a}; }", "function", ["make"]),
        ("using T = float;", "using", ["T"]),
        ("using namespace std;", "using", []),
        ("namespace cg = cooperative_groups;", "using", ["cg"]),
        ("CHECK(x)\n", "other", []),
        ("auto f = [](int a) { return a; };", "other", ["f"]),
    ],
)
def test_one_declaration(source: str, kind: str, names: list[str]) -> None:
    after = "int last;"
    assert said(source + after) == [(kind, names), ("other", ["last"])]


def test_namespaces_are_frames_that_kernels_know() -> None:
    source = (
        'namespace a { namespace b::c { __global__ void f() {} } extern "C" { int g(); } } int x;'
    )
    found = declarations_of(source)
    assert [d.kind for d in found] == [
        "open", "open", "function", "close", "open", "function", "close", "close", "other",
    ]  # fmt: skip
    assert [d.namespace for d in found if d.is_kernel] == [("a", "b", "c")]
    assert found[-1].namespace == ()


def test_each_branch_of_an_if_opens_the_same_brace() -> None:
    source = "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  g();\n}\nint last;"
    assert [d.names for d in declarations_of(source)][-1] == {"last"}
    inside = "void f() {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nint last;"
    assert said(inside) == [("function", ["f"]), ("other", ["last"])]


def test_macro_without_a_semicolon_does_not_hide_the_kernel_after_it() -> None:
    source = "REGISTER(a, b)\n__global__ void f() {}\n"
    assert said(source) == [("other", []), ("function", ["f"])]


def test_a_bracket_that_never_closes_is_said() -> None:
    with pytest.raises(UnevenError, match="brackets do not match"):
        declarations_of("__global__ void f() { if (1) {")
