"""Machine code, filled with the main loops of kernels and what the GPU counted of their waits."""

from sgemm_lab.cuda.counters import STALL_REASONS
from sgemm_lab.cuda.main_loop import Loop
from sgemm_lab.cuda.shipped_loops import kernel_loop
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of, without_tool
from sgemm_lab.text import size_text
from sgemm_lab.widgets import MachineCode
from sgemm_lab.widgets.machine_code import Code, Line

REASONS = {
    "barrier": "others, at a barrier",
    "long_scoreboard": "global memory",
    "short_scoreboard": "shared memory",
    "mio_throttle": "a place in the queue to shared memory",
    "lg_throttle": "a place in the queue to global memory",
    "math_pipe_throttle": "a busy FP32 pipe",
    "dispatch_stall": "dispatch, where register banks delay",
    "wait": "a fixed number of clocks",
    "not_selected": "its turn: another warp was taken",
    "no_instruction": "the instruction itself",
    "branch_resolving": "a branch",
    "drain": "its last stores",
    "imc_miss": "a constant",
    "membar": "a memory fence",
    "sleeping": "the end of its sleep",
}
"""What a warp waits for, by Nsight Compute's name; "selected" is no wait."""

_LEAST = 0.005
"""Warps per instruction issued below which a reason is left out: ncu prints two digits."""


@without_tool
def machine_code(*kernels: str | Kernel, size: AnySize = 4096) -> MachineCode:
    """Show the main loops of kernels in machine code, each instruction coloured by its kind.

    The first two stand side by side. Stall reasons are the GPU's counters at ``size``, where a
    record has them. Where a tool is missing, the output says what to install.

    Raises:
        LabError: no kernel is given, or one has no loop with multiply-adds.
    """
    if not kernels:
        raise LabError("Name a kernel whose machine code is to be shown, such as 'column_order'.")
    found = [kernel_of(kernel) for kernel in kernels]
    return MachineCode([_code(kernel, kernel_loop(kernel), size_of(size)) for kernel in found])


def _code(kernel: Kernel, loop: Loop, size: Size) -> Code:
    code = Code(
        name=kernel.name,
        lines=[
            Line(
                text=step.instruction.text,
                kind=step.instruction.kind,
                extra=step.extra,
                always=step.always,
                fresh=step.fresh,
                kept=step.kept,
            )
            for step in loop.steps
        ],
        steps=len(loop.each_turn),
        multiply_adds=loop.multiply_adds,
        extra=loop.extra,
        in_a_row=loop.reads_in_a_row,
        read_ahead=loop.read_ahead,
    )
    for record in session.book_records():
        counted = record.counted(kernel, size)
        if counted is not None:
            code["stalls"] = _stalls(counted.values)
            code["note"] = f"{record.gpu.name}, {size_text(size)}"
            break
    return code


def _stalls(values: dict[str, float]) -> dict[str, float]:
    """Return what warps waited for, most first."""
    found = {
        REASONS[reason]: values.get(f"stalled_{reason}", 0.0)
        for reason in STALL_REASONS
        if reason in REASONS
    }
    return {
        words: warps
        for words, warps in sorted(found.items(), key=lambda one: -one[1])
        if warps > _LEAST
    }
