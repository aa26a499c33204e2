"""Loops of known bounds are unrolled."""

import re

from in_node import answers

from sgemm_lab.wgsl.programs import all_programs

PLACES = {
    "const N = 2u;\nfor (var i = 0u; i < N; i++) { f(i); }\n": [
        "{ const i = 0u; f(i); }",
        "i = 1u",
    ],
    "const N = 8u;\nconst S = N / 3;\nfor (var l = 0u; l < N; l += S) { f(l); }": [
        *("l = 0u", "l = 2u", "l = 4u", "l = 6u")
    ],
    "for (var i = 0u; i < 2; i++) { for (var j = 0u; j < 2; j++) { f(i, j); } }": [
        *("i = 0u", "i = 1u", "j = 0u", "j = 1u")
    ],
}
KEPT = [
    "for (var k = 0u; k < K; k++) { f(k); }",  # not known
    "for (var k0 = 0u; k0 < K; k0 += 8) { f(k0); }",
    "for (var i = 1u; i < 4; i++) { f(i); }",  # another form
    "for (var i = 0u; i < 4; j++) { f(i); }",
    "for (var i = 0u; i < 33; i++) { f(i); }",  # too long
]


def unrolled(*sources: str) -> list[str]:
    said = answers(
        {"loops": "wgsl/loop_unrolling.ts"},
        "(source) => loops.writtenOut(source)",
        [(source,) for source in sources],
    )
    return [one["gives"] for one in said]


def test_a_loop_of_known_bounds_is_unrolled() -> None:
    for (source, pieces), text in zip(PLACES.items(), unrolled(*PLACES), strict=True):
        assert "for (" not in text
        assert all(piece in text for piece in pieces)
        assert text.count("f(") == {1: len(pieces), 2: 4}[source.count("for (")]


def test_another_loop_stays() -> None:
    assert unrolled(*KEPT) == KEPT


def test_of_a_program_only_the_loops_along_all_of_k_stay() -> None:
    programs = all_programs()
    texts = unrolled(*(program.source for program in programs))
    for program, text in zip(programs, texts, strict=True):
        [along_k] = re.findall(r"for \(([^)]*)\)", text)
        assert along_k.startswith(("var k = 0u; k < K;", "var k0 = 0u; k0 < K;")), program.name
