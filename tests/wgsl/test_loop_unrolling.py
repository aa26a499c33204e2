"""Loops of known bounds are written out, alike in Python and in JavaScript."""

import re

import pytest
from in_node import answers

from sgemm_lab.kernel import Kernel
from sgemm_lab.wgsl.loop_unrolling import written_out
from sgemm_lab.wgsl.native import all_programs
from sgemm_lab.wgsl.programs import roof_sources

PLACES = {
    "const N = 2u;\nfor (var i = 0u; i < N; i++) { f(i); }\n": [
        "{ const i = 0u; f(i); }",
        "i = 1u",
    ],
    "const N = 8u;\nconst S = N / 3;\nfor (var l = 0u; l < N; l += S) { f(l); }": [
        *("l = 0u", "l = 2u", "l = 4u", "l = 6u"),
    ],
    "for (var i = 0u; i < 2; i++) { for (var j = 0u; j < 2; j++) { f(i, j); } }": [
        *("i = 0u", "i = 1u", "j = 0u", "j = 1u"),
    ],
}
KEPT = [
    "for (var k = 0u; k < K; k++) { f(k); }",  # not known
    "for (var k0 = 0u; k0 < K; k0 += 8) { f(k0); }",
    "for (var i = 1u; i < 4; i++) { f(i); }",  # another form
    "for (var i = 0u; i < 4; j++) { f(i); }",
    "for (var i = 0u; i < 33; i++) { f(i); }",  # too long
]
SOURCES = [*(one.source for one in all_programs()), *roof_sources().values(), *PLACES, *KEPT]


@pytest.mark.parametrize("source", PLACES)
def test_a_loop_of_known_bounds_is_written_out(source: str) -> None:
    text = written_out(source)
    assert "for (" not in text
    assert all(piece in text for piece in PLACES[source])
    turns = source.count("for (")
    assert text.count("f(") == {1: len(PLACES[source]), 2: 4}[turns]


@pytest.mark.parametrize("source", KEPT)
def test_another_loop_stays(source: str) -> None:
    assert written_out(source) == source


@pytest.mark.parametrize("program", all_programs(), ids=lambda program: program.name)
def test_of_a_program_only_the_loops_along_all_of_k_stay(program: Kernel) -> None:
    heads = re.findall(r"for \(([^)]*)\)", written_out(program.source))
    along_k, *others = heads
    assert along_k.startswith(("var k = 0u; k < K;", "var k0 = 0u; k0 < K;"))
    # How many lanes a subgroup has, only the card knows.
    assert others == (["var l0 = 0u; l0 < lanes; l0 += 4"] if program.name == "lanes" else [])


def test_javascript_writes_out_alike() -> None:
    function = "(source) => twin.writtenOut(source)"
    said = answers({"twin": "wgsl/loop_unrolling.ts"}, function, [(one,) for one in SOURCES])
    assert [one["gives"] for one in said] == [written_out(one) for one in SOURCES]
