"""PTX as JavaScript reads it: each statement, block and merged access as in Python."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from in_node import in_node

from sgemm_lab.cuda.shipped_ptx import shipped_kernels, shipped_text
from sgemm_lab.errors import LabError
from sgemm_lab.simulator.access_merging import merge_shared_accesses
from sgemm_lab.simulator.control_flow import basic_blocks
from sgemm_lab.simulator.memory import lay_out
from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.ptx import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    PtxKernel,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
    parse,
)
from sgemm_lab.simulator.unroll import unroll_short_loops

ENTRY = Path(__file__).with_name("reading.js")
SHARED_BYTES = 49152
HEAD = ".version 8.0\n.target sm_90\n"
BODY = HEAD + ".visible .entry k(.param .u64 C) {{ .reg .b32 %r<9>; .reg .pred %p; {0} }}"
BROKEN = {
    "nothing": "",
    "a kernel that ends too soon": HEAD + ".visible .entry k() { ret;",
    "a parameter of no type": HEAD + ".visible .entry k(.param .what C) { ret; }",
    "an unknown number": BODY.format("add.s32 %r1, %r2, 12Q;"),
    "three destinations": BODY.format("shfl.sync.bfly.b32 %r1|%p|%r2, %r1, 16, 31, -1;"),
    "an address of a vector": BODY.format("ld.shared.u32 %r1, [{%r1}];"),
    "an empty address": BODY.format("ld.shared.u32 %r1, [];"),
    "an address with two bases": BODY.format("ld.shared.u32 %r1, [%r1+%r2];"),
    "a label that is not there": BODY.format("bra NOWHERE; ret;"),
    "an array of no known type": BODY.format(".shared .align 4 .what tile[4]; ret;"),
    "an array without a name": BODY.format(".shared .align 4; ret;"),
    "registers of no type": BODY.format(".reg %x; ret;"),
}
ODD = {
    "scopes, labels of their own, negative and far numbers": BODY.format(
        "{ .reg .b32 %r1; mov.b32 %r1, -0x10; bra IN; IN: { .reg .pred p; setp.ne.b32 p, %r1, 0;\n"
        "@!p bra IN; } } mov.b32 %r2, 0xFFFFFFFFFFFFFFFF; mov.f64 %r3, 0d3FF0000000000000;\n"
        "ld.shared.v2.u32 {%r1, _}, [tile+4]; ld.shared.u32 %r4, [%r1+-8];\n"
        "st.shared.u32 [64], 1U;\n"
        ".shared .align 8 .b8 tile[64]; .shared .u32 one; mov.u32 %r5, tile+8;\n"
        "mov.u32 %r6, %laneid; ret;"
    ),
    "blocks that never end": BODY.format("A: bra B; B: @%p bra A; C: bra C; ret; @%p ret;"),
}


def plain_operand(operand: Operand) -> list[Any]:
    match operand:
        case Immediate(bits):
            return ["immediate", str(bits)]
        case Symbol(name, offset):
            return ["symbol", name, offset]
        case Address(base, offset):
            return ["address", plain_operand(base), offset]
        case Negated(register):
            return ["negated", register.name]
        case Vector(items):
            return ["vector", [plain_operand(item) for item in items]]
        case Pair(first, second):
            return ["pair", first.name, second.name]
        case Register(name):
            return ["register", name]
        case SpecialRegister(name):
            return ["special", name]


def plain_instruction(instruction: Instruction) -> list[Any]:
    guard = instruction.guard
    return [
        *[instruction.index, instruction.opcode, instruction.parts],
        [plain_operand(operand) for operand in instruction.operands],
        None if guard is None else [guard.register.name, guard.negated],
        str(instruction.location),
        [register.name for register in registers_read(instruction)],
        [register.name for register in registers_written(instruction)],
    ]


def plain_kernel(kernel: PtxKernel) -> dict[str, Any]:
    return {
        **{"name": kernel.name, "target": kernel.target},
        "parameters": [asdict(one) for one in kernel.parameters],
        "shared": [asdict(one) for one in kernel.shared],
        "local": [asdict(one) for one in kernel.local],
        "types": kernel.register_types,
        "labels": kernel.labels,
        "notUnrolled": sorted(kernel.not_unrolled),
        "instructions": [plain_instruction(one) for one in kernel.instructions],
        "blocks": [
            [
                block.number,
                [one.index for one in block.instructions],
                None if block.terminator is None else block.terminator.index,
                *[block.target, block.fall_through, block.reconvergence],
            ]
            for block in basic_blocks(kernel)
        ],
    }


def read_all(ptx: str) -> Any:
    """The same as ``readAll`` in reading.js."""
    found = []
    try:
        for kernel in parse(ptx).values():
            unrolled = unroll_short_loops(kernel)
            shared = lay_out(unrolled.shared, SHARED_BYTES)
            merged = merge_shared_accesses(basic_blocks(unrolled), shared)
            accesses = {
                index: [[one.offset, one.width] for one in wide] for index, wide in merged.items()
            }
            found.append(
                {
                    "written": plain_kernel(kernel),
                    "unrolled": None if unrolled is kernel else plain_kernel(unrolled),
                    "merged": sorted([index, wide] for index, wide in accesses.items()),
                }
            )
    except LabError as error:
        return str(error)
    return json.loads(json.dumps(found))


def javascript(texts: list[str]) -> list[Any]:
    answers = in_node(ENTRY, [["readAll", text, SHARED_BYTES] for text in texts])
    for answer in answers:
        for kernel in answer if isinstance(answer, list) else []:
            kernel["merged"].sort()
    return answers


PARTS = 9


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sampled(every=5)
def test_both_read_the_same_kernels(part: int) -> None:
    kernels = shipped_kernels()[part::PARTS]
    texts = [shipped_text(kernel) for kernel in kernels]
    for kernel, text, theirs in zip(kernels, texts, javascript(texts), strict=True):
        assert theirs == read_all(text), kernel.name


def test_both_read_what_no_kernel_of_the_book_has() -> None:
    texts = [*ODD.values()]
    for name, mine, theirs in zip(ODD, map(read_all, texts), javascript(texts), strict=True):
        assert isinstance(mine, list), name
        assert theirs == mine, name


def test_both_say_the_same_of_what_cannot_be_read() -> None:
    texts = [*BROKEN.values()]
    for name, mine, theirs in zip(BROKEN, map(read_all, texts), javascript(texts), strict=True):
        assert isinstance(mine, str), name
        assert theirs == mine, name
