"""The main loop in machine code: found, sorted by kind, and its register banks priced."""

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import archive, shipped_loops
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.cuda.machine_code import disassemble
from sgemm_lab.cuda.main_loop import (
    BARRIER,
    BRANCH,
    GLOBAL,
    MULTIPLY,
    OTHER,
    SHARED,
    STORE,
    Instruction,
    Loop,
    loop_text,
    main_loop,
)
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.kernel import Kernel

LISTING = """
sgemm:
        /*0000*/                   S2R R13, SR_TID.X ;
.L_x_0:
        /*0010*/                   LDS.128 R4, [R20+0x80] ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
        /*0030*/                   LDG.E R60, desc[UR8][R72.64] ;
.L_x_1:
        /*0040*/                   FFMA R8, R4.reuse, R6, R8 ;
        /*0050*/                   FFMA R9, R4, R7, R9 ;
        /*0060*/                   FFMA R11, R5, R7, -R11 ;
        /*0070*/                   STS [R73], R60 ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   IADD3 R1, R1, 0x1, RZ ;
        /*00a0*/              @P0  BRA `(.L_x_0) ;
.L_x_2:
        /*00b0*/                   BRA `(.L_x_2) ;
"""


def compiled(name: str) -> Loop:
    return main_loop(disassemble(compile_kernel(load_kernel(name)).cubin))


@pytest.fixture(scope="module")
def small() -> Loop:
    return main_loop(LISTING)


def test_the_loop_with_the_multiply_adds_is_found_and_sorted(small: Loop) -> None:
    kinds = [step.instruction.kind for step in small.steps]
    assert kinds == [
        *(SHARED, BRANCH, GLOBAL, MULTIPLY, MULTIPLY, MULTIPLY, STORE, BARRIER, OTHER, BRANCH)
    ]


def test_reads_that_stand_right_behind_another_are_counted(small: Loop) -> None:
    assert small.reads_in_a_row == 0
    read = "        /*0010*/                   LDS.128 R4, [R20+0x80] ;\n"
    assert main_loop(LISTING.replace(read, 3 * read)).reads_in_a_row == 2


def test_what_a_branch_jumps_over_is_not_in_every_turn(small: Loop) -> None:
    assert [step.always for step in small.steps] == [True, True, False, *[True] * 7]
    assert small.multiply_adds == 3
    assert len(small.each_turn) == 9


def test_a_bank_gives_one_register_per_clock(small: Loop) -> None:
    first, second, third = (s for s in small.steps if s.instruction.kind == MULTIPLY)
    assert (first.fetched, first.extra) == ((4, 6, 8), 2)  # three even ones
    assert (second.fetched, second.extra) == ((7, 9), 1)  # R4 is still there
    assert (third.fetched, third.extra) == ((5, 7, 11), 2)  # nothing was marked
    assert (small.extra, small.multiply_adds) == (5, 3)


@pytest.mark.parametrize(
    ("before", "now", "extra"),
    [
        ("FFMA R0, R2, R3, R0", "FFMA R1, R2, R3, R5", 1),
        ("FFMA R0, R2, R3.reuse, R0", "FFMA R1, R2, R3, R5", 0),  # left at the same place
        ("FFMA R0, R3.reuse, R2, R0", "FFMA R1, R2, R3, R5", 1),  # left at another place
        ("IADD3 R0, R2, R3.reuse, R0", "FFMA R1, R2, R3, R5", 0),  # by any instruction
        ("FFMA R0, R2, R3.reuse, R0;\n LDS R9, [R8]", "FFMA R1, R2, R3, R5", 0),  # across a load
        ("FFMA R0, R2, R3.reuse, R0;\n MOV R9, R8", "FFMA R1, R2, R3, R5", 1),
        ("FFMA R0, R2, R4, R0", "FFMA R1, R2, R2, R5", 0),  # the same register is read once
        ("FFMA R0, R2, R4, R0", "FFMA R1, R2, c[0x0][0x10], R4", 1),
        ("FFMA R0, R2, R4, R0", "FFMA R1, R2, RZ, R5", 0),
    ],
)
def test_what_is_left_for_the_next_instruction(before: str, now: str, extra: int) -> None:
    loop = main_loop(f".L_x_0:\n {before};\n {now};\n @P0 BRA `(.L_x_0);\n")
    assert loop.steps[-2].extra == extra


def test_signs_and_guards_do_not_hide_a_register() -> None:
    guarded = Instruction("@!UP1 FFMA.FTZ R1, -R2, |R4|, R6")
    assert (guarded.kind, guarded.operands) == (MULTIPLY, ["R1", "-R2", "|R4|", "R6"])
    loop = main_loop(".L_x_0:\n @P1 FFMA R1, -R2, |R4|, R6;\n BRA P0, `(.L_x_0);\n")
    assert loop.steps[0].fetched == (2, 4, 6)
    assert Instruction("@P0 BRA `(.L_x_0)").goes_on
    assert Instruction("BRA P0, `(.L_x_0)").goes_on
    assert not Instruction("BRA `(.L_x_0)").goes_on


@pytest.mark.parametrize("name", ["naive", "register_cache", "double_buffer", "column_order"])
def test_a_loop_is_kept_in_few_letters_and_read_back(name: str) -> None:
    loop = compiled(name)
    text = loop_text(loop)
    again = main_loop(text)
    assert loop_text(again) == text
    assert [s.always for s in again.steps] == [s.always for s in loop.steps]
    assert [s.extra for s in again.steps] == [s.extra for s in loop.steps]
    assert len(text) < 35 * len(loop.steps)


def test_a_turn_of_the_books_kernels_has_the_multiply_adds_of_its_tile() -> None:
    tile = load_kernel("column_order").values
    assert compiled("column_order").multiply_adds == tile["TM"] * tile["TN"] * tile["BK"] == 1024
    tile = load_kernel("double_buffer").values
    assert compiled("double_buffer").multiply_adds == 4 * tile["TM"] * tile["TN"]  # chapter 8


def test_the_order_of_the_products_decides_over_banks() -> None:
    inside, column_order = compiled("hoisted_guard"), compiled("column_order")
    assert inside.multiply_adds == column_order.multiply_adds
    assert len(inside.each_turn) == len(column_order.each_turn)  # the same instructions
    assert column_order.extra < inside.extra


def test_without_multiply_adds_there_is_no_main_loop() -> None:
    with pytest.raises(LabError, match="No loop of this machine code has multiply-adds"):
        main_loop(".L_x_0:\n BRA `(.L_x_0);\n")


# The text that travels.


@pytest.fixture
def chapters(tmp_path, monkeypatch):
    """A book whose only chapter shows the machine code of one kernel."""
    (tmp_path / "page.md").write_text('lab.machine_code("register_cache", size=4096)')
    monkeypatch.setattr(shipped_loops, "data_folder", lambda _: tmp_path)
    monkeypatch.setattr(archive, "ARCHIVE", tmp_path / "compiled.zip")


def test_what_a_chapter_shows_needs_no_compiler(chapters, monkeypatch) -> None:
    shipped_loops.write_all()
    assert list(archive.sources("sass")) == ["register_cache.sass"]
    here = compiled("register_cache")

    def missing(*_):
        raise MissingToolError("The CUDA compiler NVRTC is not installed.")

    monkeypatch.setattr(shipped_loops, "compile_kernel", missing)
    there = shipped_loops.kernel_loop(load_kernel("register_cache"))
    assert (len(there.each_turn), there.extra) == (len(here.each_turn), here.extra)
    with pytest.raises(MissingToolError):
        shipped_loops.kernel_loop(load_kernel("tiled"))
    with pytest.raises(MissingToolError):  # other constants are another kernel
        shipped_loops.kernel_loop(load_kernel("register_cache:BM=128,BN=128"))


def test_the_archive_has_the_loop_of_each_kernel_that_a_chapter_shows_and_no_other() -> None:
    shown = shipped_loops.shown()
    assert all(archive.is_current(kernel, "sass") for kernel in shown), "run: make counts"
    assert len(archive.sources("sass")) == len(shown), "run: make counts"


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("kernel", shipped_loops.shown(), ids=lambda kernel: kernel.name)
def test_what_travels_is_current(kernel: Kernel) -> None:
    assert archive.read(kernel, "sass") == loop_text(compiled(kernel.name)), "run: make counts"
