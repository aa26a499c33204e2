"""Sources cut into statements, each named by what it makes."""

import pytest

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.wgsl.programs import load_programs
from sgemm_lab.wgsl.statements import statements

ALIKE = {
    "a constant": ("constexpr int BM = 64;  // rows", "const BM = 64u;  // rows", "BM"),
    "a declaration": ("const int row = ty;", "let row = ty;", "row"),
    "an array": ("float acc[TM][TN] = {};", "var acc: array<array<f32, TN>, TM>;", "acc"),
    "shared memory": (
        "__shared__ __align__(16) float As[BK][BM + PAD];",
        "var<workgroup> As: array<array<f32, BM + PAD>, BK>;",
        "shared As",
    ),
    "a store": ("*reinterpret_cast<float4*>(&Bs[k][c]) = v;", "Bs[k][c / 4] = v;", "Bs"),
    "a sum": ("acc[i][j] += a * b;", "acc[i][j] += a * b;", "acc"),
    "a store within the edges": (
        "if (row < M && col < N) C[size_t(row) * N + col] = acc;",
        "if (row < M && col < N) { C[row * N + col] = acc; }",
        "C",
    ),
    "a loop of one line": (
        "for (int i = 0; i < TM; ++i) fragA[i] = As[k][i];",
        "for (var i = 0u; i < TM; i++) { fragA[i] = As[k][i]; }",
        "fragA",
    ),
    "a barrier": ("__syncthreads();  // all", "workgroupBarrier();  // all", "barrier"),
    "an end": ("if (row >= M) return;", "if (row >= M) { return; }", "return"),
    "what must hold": (
        'static_assert(BK % 4 == 0,\n              "BK must be a multiple of 4.");',
        "// BK must be a multiple of 4.\nconst_assert BK % 4 == 0;",
        "assert BK",
    ),
}


@pytest.mark.parametrize(("cuda", "wgsl", "name"), ALIKE.values(), ids=ALIKE)
def test_what_makes_the_same_has_one_name_in_both_languages(
    cuda: str, wgsl: str, name: str
) -> None:
    for source in (cuda, wgsl):
        (one,) = statements(f"\n{source}")  # a comment in the first line would be a head
        assert one.names == {name}


def test_a_line_may_declare_several_things() -> None:
    (one,) = statements("const int r = (l + tid) / BK, k = min(l, tid) % BK;")
    assert one.names == {"r", "k"}


def test_a_statement_knows_its_lines_its_comments_and_what_is_around_it() -> None:
    source = (
        "\n// Window by window.\nfor (int k = 0; k < K; ++k) {\n    // Add.\n    acc += k;\n}\n"
    )
    loop, add, end = statements(source)
    assert [(one.first, one.last) for one in (loop, add, end)] == [(2, 3), (4, 5), (6, 6)]
    assert add.inside == (loop,)
    assert add.code == "acc += k;"
    assert end.names == {"end for k"}
    assert end.is_end
    assert end.inside == ()


@pytest.mark.parametrize(
    "source",
    [one.source for one in (*load_programs(), *load_kernels()[:18])],
    ids=[one.name for one in (*load_programs(), *load_kernels()[:18])],
)
def test_every_line_below_the_head_stands_in_one_statement(source: str) -> None:
    numbers = [n for one in statements(source) for n in range(one.first, one.last + 1)]
    assert numbers == sorted(set(numbers))
    lines = source.splitlines()
    head = next(n for n, line in enumerate(lines) if not line.startswith("//"))
    written = {n for n, line in enumerate(lines, 1) if line.strip() and n > head}
    assert written <= set(numbers)
    assert statements(source)[-1].inside == ()
