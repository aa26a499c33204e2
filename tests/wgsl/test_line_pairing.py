"""A program beside its CUDA kernel: each line has its fellow, or a reason why it has none."""

import json
import re
from dataclasses import replace

import pytest

from sgemm_lab.catalogue import book_kernel, load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import PACKAGE
from sgemm_lab.kernel import Kernel
from sgemm_lab.wgsl.line_pairing import Row, rows
from sgemm_lab.wgsl.programs import load_program, load_programs
from sgemm_lab.wgsl.statements import Statement, statements

PROGRAMS = [one for one in load_programs() if book_kernel(one.name)]
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def laid(name: str) -> list[Row]:
    return rows(load_kernel(name), load_program(name))


def codes(some: tuple[Statement, ...]) -> list[str]:
    return [one.code for one in some]


@every_program
def test_each_line_of_both_stands_in_one_row_with_its_fellow_or_a_reason(program: Kernel) -> None:
    kernel = load_kernel(program.name)
    found = rows(kernel, program)
    assert [one for row in found for one in row.cuda] == statements(kernel.source)
    theirs = [one for row in found for one in row.wgsl]
    assert sorted(theirs, key=lambda one: one.first) == statements(program.source)
    for row in found:
        assert row.why or (row.cuda and row.wgsl)
        assert not row.why or row.why.endswith(".")


@every_program
def test_what_one_statement_begins_its_fellows_end_ends(program: Kernel) -> None:
    kernel = load_kernel(program.name)
    fellow = {
        ours: theirs
        for row in rows(kernel, program)
        for ours, theirs in zip(row.cuda, row.wgsl, strict=False)
    }
    for ours, theirs in fellow.items():
        if ours.is_end and theirs.is_end:
            begins = opener(ours, statements(kernel.source))
            assert fellow[begins] == opener(theirs, statements(program.source))


def opener(end: Statement, some: list[Statement]) -> Statement:
    """Return the statement that begins what another ends."""
    above = [one for one in some[: some.index(end)] if one.opens and one.inside == end.inside]
    return [one for one in above if not one.code.startswith("}")][-1]  # an else goes on


@every_program
def test_fellows_have_words_in_common(program: Kernel) -> None:
    spoken = {"__syncthreads": "workgroupBarrier", "float4": "vec4f", "load4": "loadA"}
    for row in rows(load_kernel(program.name), program):
        if not (row.cuda and row.wgsl) or row.cuda[0].is_end:
            continue
        ours = " ".join(codes(row.cuda))
        for cuda, wgsl in spoken.items():
            ours = ours.replace(cuda, wgsl)
        assert words_of(ours) & words_of(" ".join(codes(row.wgsl)))


def words_of(code: str) -> set[str]:
    return set(re.findall(r"\w+", code)) - {"if", "for", "const", "return"}


def test_the_barrier_stands_beside_the_barrier_and_the_copy_beside_the_copy() -> None:
    pairs = {row.cuda[0].code: codes(row.wgsl) for row in laid("tiled") if row.cuda}
    assert pairs["__syncthreads();"] == ["workgroupBarrier();"]
    assert pairs["const int tx = threadIdx.x;"] == ["let tx = thread.x;"]
    (copy,) = [codes(row.wgsl) for row in laid("tiled") if codes(row.cuda)[:1] == [
        "As[ty][tx] = row < M && k0 + tx < K ? A[size_t(row) * K + k0 + tx] : 0.0f;"
    ]]  # fmt: skip
    assert copy == ["As[ty][tx] = select(0.0, A[row * K + k0 + tx], row < M && k0 + tx < K);"]


def test_one_line_may_stand_beside_several() -> None:
    found = laid("double_buffer")
    (fours,) = [row for row in found if len(row.cuda) == 4 and row.wgsl]
    assert codes(fours.cuda)[3] == "As[window][kA + 3][rA] = a.w;"
    assert codes(fours.wgsl) == ["for (var i = 0u; i < 4; i++) { As[0][kA + i][rA] = a[i]; }"]
    (block,) = [row for row in found if codes(row.cuda) == ["if (more) fetch(k0 + BK);"]]
    assert codes(block.wgsl)[0] == "if (more) {"
    assert codes(block.wgsl)[-1] == "}"
    assert len(block.wgsl) == 4


def test_what_stands_elsewhere_says_so() -> None:
    (shared,) = [row for row in laid("tiled") if row.cuda and row.cuda[0].names == {"shared As"}]
    assert shared.wgsl[0].code.startswith("var<workgroup> As")
    assert shared.why == "WGSL declares shared memory outside of functions."


def changed(program: Kernel, old: str, new: str) -> Kernel:
    assert program.source.count(old) == 1
    return replace(program, source=program.source.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("    let ty = thread.y;\n", "", r"in CUDA, “const int ty = threadIdx\.y;”, has no fellow"),
        ("    let ty = thread.y;\n", "    let ty = thread.y;\n    let twice = 2 * ty;\n",
         r"'tiled', line 36 in WGSL, “let twice = 2 \* ty;”, has no fellow, .* add “twice” to"),
        ("        workgroupBarrier();  // no one reads a tile before all of it is there\n", "",
         r"“__syncthreads\(\);”, has no fellow"),
        ("    let row = block.y * TILE + ty;\n    let col", "    let col",
         r"in CUDA, “const int row"),
    ],
)  # fmt: skip
def test_a_line_without_fellow_or_reason_is_refused(old: str, new: str, says: str) -> None:
    program = changed(load_program("tiled"), old, new)
    with pytest.raises(LabError, match=says):
        rows(load_kernel("tiled"), program)


def test_what_stands_in_another_order_without_a_reason_is_refused() -> None:
    tx, ty = "    let tx = thread.x;\n", "    let ty = thread.y;\n"
    program = changed(load_program("tiled"), tx + ty, ty + tx)
    with pytest.raises(LabError, match="does not stand where WGSL has it"):
        rows(load_kernel("tiled"), program)


def test_every_reason_is_told_somewhere() -> None:
    told = {row.why for program in PROGRAMS for row in rows(load_kernel(program.name), program)}
    kept = json.loads((PACKAGE / "wgsl" / "line_pairing.json").read_text(encoding="utf-8"))
    assert {one["why"] for some in kept.values() for one in some} == told - {""}
