"""Products and sums that ptxas makes into one multiply-add, as PTX allows it.

The compiler leaves a ``mul`` and an ``add`` or ``sub`` apart where it sees no reason to join them.
ptxas joins them all the same, unless they say how they round (``mul.rn``): where nothing else reads
the product, and both stand in one basic block. Of two products it takes the first. Found by
comparing results and counters with an H200's. Here the product does nothing then, and the sum
becomes an instruction of its own, ``fused``.
"""

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgemm_lab.simulator.fma import fma32, fma64
from sgemm_lab.simulator.half_operations import fused_halves
from sgemm_lab.simulator.operands import registers_read, registers_written
from sgemm_lab.simulator.operations import (
    Match,
    Operations,
    Step,
    assignment,
    destination,
    nothing,
    value,
)
from sgemm_lab.simulator.ptx import Instruction, PtxKernel, Register

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup

_TYPES = r"f32|f64|f16|bf16|f16x2|bf16x2"
_PRODUCT = re.compile(rf"mul\.({_TYPES})")
_SUM = re.compile(rf"(?P<op>add|sub)\.(?P<type>{_TYPES})")
_ENDS = ("bra", "ret", "exit", "bar", "barrier")


def fuse_products(kernel: PtxKernel) -> PtxKernel:
    """Return a kernel in which products and sums are joined; the same one where there are none."""
    reads = Counter(r.name for i in kernel.instructions for r in registers_read(i))
    writes = Counter(r.name for i in kernel.instructions for r in registers_written(i))
    starts = set(kernel.labels.values())
    waiting: dict[str, Instruction] = {}
    changed: dict[int, Instruction] = {}
    for instruction in kernel.instructions:
        if instruction.index in starts or instruction.parts[0] in _ENDS:
            waiting = {}
        joined = _joined(instruction, waiting)
        if joined is not None:
            product, fused = joined
            changed[product.index] = replace(product, opcode="fused.product")
            changed[fused.index] = fused
        for register in registers_written(instruction):
            waiting = {
                name: product
                for name, product in waiting.items()
                if register.name not in (name, *(r.name for r in registers_read(product)))
            }
        target = instruction.operands[0] if instruction.operands else None
        is_product = _PRODUCT.fullmatch(instruction.opcode) and instruction.guard is None
        if is_product and isinstance(target, Register):
            name = target.name
            if reads[name] == writes[name] == 1:
                waiting[name] = instruction
    if not changed:
        return kernel
    return replace(
        kernel, instructions=[changed.get(one.index, one) for one in kernel.instructions]
    )


def _joined(
    instruction: Instruction, waiting: dict[str, Instruction]
) -> tuple[Instruction, Instruction] | None:
    """The product that a sum takes in, and what the two become."""
    match = _SUM.fullmatch(instruction.opcode)
    if match is None or instruction.guard is not None:
        return None
    for place in (1, 2):
        operand = instruction.operands[place]
        product = waiting.get(operand.name) if isinstance(operand, Register) else None
        if product is None or product.parts[-1] != match["type"]:
            continue
        how = {("add", 1): "add", ("add", 2): "add", ("sub", 1): "less", ("sub", 2): "from"}
        other = instruction.operands[3 - place]
        operands = (instruction.operands[0], *product.operands[1:3], other)
        opcode = f"fused.{how[match['op'], place]}.{match['type']}"
        return product, replace(instruction, opcode=opcode, operands=operands)
    return None


def _multiply_add(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``add``: a·b + c; ``less``: a·b - c; ``from``: c - a·b; rounded once."""
    type_, how = match["type"], match["how"]
    if type_ not in ("f32", "f64"):
        return fused_halves(group, instruction, type_, how)
    fused = fma32 if type_ == "f32" else fma64
    a, b, c = (value(group, instruction, position, type_) for position in (1, 2, 3))

    def compute() -> Any:
        return fused(-a if how == "from" else a, b, -c if how == "less" else c)

    return assignment(destination(group, instruction, type_), compute)


OPERATIONS: Operations = [
    (r"fused\.product", nothing),
    (rf"fused\.(?P<how>add|less|from)\.(?P<type>{_TYPES})", _multiply_add),
]
