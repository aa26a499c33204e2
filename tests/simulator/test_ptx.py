"""PTX as text, read into instructions."""

from typing import Any

import pytest
from inside import inside
from simulator_kernels import GEMMS, ptx_of

from sgemm_lab.simulator import PtxError, simulate

END = -1
"""What follows the last basic block."""

TEXT = """
.version 8.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 strips[];
.global .align 4 .u32 TILE = 16;
.visible .entry k(
	.param .u64 k_param_0, .param .u32 k_param_1 )
.maxntid 256, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<4>;
	.local .align 16 .b8 	__local_depot0[32];
	.shared .align 4 .b8 _ZZ1kE2As[1024];
	.loc	1 7 5
	ld.param.u64 	%rd1, [k_param_0];
	mov.u64 %rd2, strips;  // a comment; with a semicolon
	.loc	1 0 5
	ld.shared.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1+16];
	.loc	1 28 5, function_name $L__info_string0, inlined_at 1 49 9
	// begin inline asm
	{ .reg .pred p;
	setp.ne.b32 p, %r1, 0;
	@p mov.f32 %f5, 0f3F800000;
	}
	// end inline asm
	shfl.sync.bfly.b32 	%r2|%p1, %r1, 16, 31, -1;
	@!%p1 bra 	$L__BB0_2;
	add.s32 %r1, %r2, -0x10;
$L__BB0_2:
	add.s32 %r3, %r2, 1;
	ret;
}
	.file	1 "/some/where/kernel.cu"
"""


def parsed(text: str = TEXT, entry: str = "k") -> Any:
    return inside("parsed", text, entry)


def blocks_of(text: str = TEXT) -> Any:
    return inside("blocksOf", text, "k")


def register(name: str) -> dict[str, str]:
    return {"kind": "register", "name": name}


def immediate(bits: int) -> dict[str, Any]:
    return {"kind": "immediate", "bits": bits}


def test_reads_every_kind_of_operand() -> None:
    kernel = parsed()
    assert kernel["parameters"] == [
        {"name": "k_param_0", "type": "u64"},
        {"name": "k_param_1", "type": "u32"},
    ]
    assert kernel["mostThreads"] == [256, 1, 1]
    assert kernel["shared"] == [
        {"name": "strips", "bytes": 0, "alignment": 16},
        {"name": "_ZZ1kE2As", "bytes": 1024, "alignment": 4},
    ]
    assert kernel["local"] == [{"name": "__local_depot0", "bytes": 32, "alignment": 16}]
    instructions = kernel["instructions"]
    assert instructions[2]["opcode"] == "ld.shared.v4.f32"
    assert instructions[2]["operands"] == [
        {"kind": "vector", "items": [register(f"%f{n}") for n in (1, 2, 3, 4)]},
        {"kind": "address", "base": register("%rd1"), "offset": 16},
    ]
    shuffle = instructions[5]["operands"]
    assert shuffle[0] == {"kind": "pair", "first": register("%r2"), "second": register("%p1")}
    assert shuffle[-1] == immediate(-1)
    assert instructions[7]["operands"][-1] == immediate(-16)
    assert kernel["labels"] == {"$L__BB0_2": 8}


def test_lines_come_from_loc_and_follow_inlined_functions() -> None:
    places = [one["location"] for one in parsed()["instructions"]]
    assert [place["line"] for place in places] == [7, 7, 7, 28, 28, 28, 28, 28, 28, 28]
    assert places[0] == {"file": "kernel.cu", "line": 7}


def test_registers_of_inline_assembly_stay_in_their_scope() -> None:
    kernel = parsed()
    setp, mov = kernel["instructions"][3:5]
    assert setp["operands"][0] == mov["guard"]["register"]
    assert kernel["registerTypes"][mov["guard"]["register"]["name"]] == "pred"


def test_labels_of_an_inner_scope_are_its_own() -> None:
    """A device function with a loop in inline assembly may be inlined twice."""
    loop = "{\nagain:\nadd.s32 %r1, %r1, 1;\n@%p1 bra done;\nbra again;\ndone:\n}\n"
    blocks = blocks_of(TEXT.replace("add.s32 %r1, %r2, -0x10;", loop + loop))
    loops = [block for block in blocks if block["target"] == block["number"] - 1]
    assert len(loops) == 2
    assert all(blocks[block["number"] - 1]["target"] == block["number"] + 1 for block in loops)


def test_blocks_meet_at_the_post_dominator() -> None:
    blocks = blocks_of()
    assert [len(block["instructions"]) for block in blocks] == [6, 1, 1]
    first = blocks[0]
    assert (first["target"], first["fallThrough"], first["reconvergence"]) == (2, 1, 2)
    assert blocks[2]["target"] == END


def test_an_unknown_opcode_is_named_with_its_line() -> None:
    text = TEXT.replace("add.s32 %r1, %r2, -0x10;", "frobnicate.u32 %r1, %r2;")
    found = inside("flow", text, "k")
    assert found["raised"] == "PtxError"
    assert "'frobnicate.u32' at kernel.cu, line 28" in found["message"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("setp.maybe.f32 %p1, %r1, %r2;", "does not know the instruction 'setp.maybe.f32' at"),
        ("setp.nan.s32 %p1, %r1, %r2;", "'setp.nan.s32' at kernel.cu, line 28 is one of float"),
        ("cvt.s32.f32 %r1, %r2;", "cannot run 'cvt.s32.f32' with these operands at"),
        ("mov.u32 %r1;", "cannot run 'mov.u32' with these operands at"),
        ("mov.u32 %r1, 0xzz;", r"cannot read 'mov.u32 %r1, 0xzz' at"),
        ("mov.u32 %r1, %envreg3;", "line 28: The simulator does not know the special register"),
        ("mov.u32 %r1, somewhere;", "line 28: The kernel uses 'somewhere', which is neither"),
        ("ld.param.u32 %r1, [nothing];", "A parameter load at kernel.cu, line 28 names no para"),
        ("add.s32 %r1, %p1, 1;", "line 28: The PTX mixes predicates and numbers in %p1"),
    ],
)
def test_what_cannot_be_run_is_a_sentence_with_its_line(line: str, message: str) -> None:
    text = TEXT.replace("add.s32 %r1, %r2, -0x10;", line)
    with pytest.raises(PtxError, match=message) as caught:
        simulate(text, "k", (1,), (32,), {"A": 0, "n": 0})
    assert "kernel.cu, line 28" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no kernel"),
        (".visible .entry k() { mov.u32 %r1, 1;", "ends in the middle"),
        (".visible .entry k()\n{\n.reg .b32 %r<2>;\nbra $nowhere;\n}", "does not exist"),
        (".visible .entry k(.param .what C) { ret; }", "in an unknown way"),
        *(
            (f".visible .entry k() {{ .reg .b32 %r<9>; {line} ret; }}", line[-6:-1])
            for line in (
                "add.s32 %r1, %r2, 12Q;", "shfl.sync.bfly.b32 %r1|%p|%r2, %r1, 16, 31, -1;",
                "ld.shared.u32 %r1, [{%r1}];", "ld.shared.u32 %r1, [];",
                "ld.shared.u32 %r1, [%r1+%r2];", ".shared .align 4 .what tile[4];",
                ".shared .align 4;", ".reg %x;",
            )
        ),
    ],
)  # fmt: skip
def test_broken_text_is_a_sentence(text: str, message: str) -> None:
    found = blocks_of(text)
    assert found["raised"] == "PtxError"
    assert message in found["message"]


@pytest.mark.parametrize(
    "target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
)
@pytest.mark.parametrize("name", GEMMS)
def test_every_target_is_understood(name: str, target: str) -> None:
    source, _, _, oldest = GEMMS[name]
    if int(target[3:]) < int(oldest[3:]):
        target = oldest
    ptx = ptx_of(source, target)
    assert isinstance(inside("flow", ptx, name), list)
    places = [one["location"] for one in parsed(ptx, name)["instructions"]]
    assert {place["file"] for place in places} == {"test.cu"}


@pytest.mark.parametrize(
    ("header", "location"),
    [
        ("cp_async_shared_global.h", {"file": "kernel.cu", "line": 49}),
        ("memcpy_async.h", {"file": "kernel.cu", "line": 49}),
        ("barrier", {"file": "kernel.cu", "line": 49}),
        ("cuda_pipeline_helpers.h", {"file": "kernel.cu", "line": 49}),
        ("mma.hpp", {"file": "kernel.cu", "line": 49}),
        ("my_tiles.h", {"file": "my_tiles.h", "line": 60}),
    ],
)
def test_what_a_header_of_cuda_does_counts_for_the_line_that_calls_it(
    header: str, location: dict[str, Any]
) -> None:
    inner = ".loc\t1 28 5, function_name $L__info_string0, inlined_at 1 49 9"
    text = TEXT.replace(
        inner,
        ".loc 2 86 5, function_name $L__info_string0, inlined_at 1 49 9\n"
        ".loc 2 60 3, function_name $L__info_string1, inlined_at 2 86 5",
    )
    assert text != TEXT
    kernel = parsed(text + f'\t.file 2 "{header}"\n')
    assert kernel["instructions"][3]["location"] == location
