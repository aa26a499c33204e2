"""What the compiler made of a kernel: its memory instructions and multiply-adds."""

import re
from collections import Counter

from sgemm_lab.cuda.compiler import DEFAULT_TARGET, compile_kernel
from sgemm_lab.cuda.machine_code import machine_instructions, ptx_instructions
from sgemm_lab.errors import MissingToolError
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of, without_tool
from sgemm_lab.lab.output import Output, table

_PTX = re.compile(r"(ld|st)\.(global|shared)|fma\.|bar\.sync")
_MACHINE = re.compile(r"LDG|LDS|STG|STS|FFMA|BAR")
_ENDS = (".E", ".SYNC.DEFER_BLOCKING")


@without_tool
def instructions(*kernels: str | Kernel) -> Output:
    """List the memory instructions of kernels, in PTX and machine code, and how often each occurs.

    Where the compiler is missing, the output says what to install.
    """
    found = [kernel_of(kernel) for kernel in kernels]
    compiled = [compile_kernel(kernel) for kernel in found]
    ptx = [_chosen(ptx_instructions(made.ptx), _PTX) for made in compiled]
    rows = _rows("PTX", ptx)
    note = f"Compiled here by NVRTC for {DEFAULT_TARGET}; an instruction in a loop counts once."
    try:
        rows += _rows("machine", [_short(_chosen(machine_instructions(c), _MACHINE))
                                  for c in compiled])  # fmt: skip
    except MissingToolError as missing:
        note += f" {missing}"
    return table(
        ["kind", "instruction", *(k.name for k in found)], rows, note=note, numbers=2, code=1
    )


def _chosen(counts: Counter[str], wanted: re.Pattern[str]) -> Counter[str]:
    return Counter({name: number for name, number in counts.items() if wanted.match(name)})


def _short(counts: Counter[str]) -> Counter[str]:
    """Drop the parts of an instruction's name that say nothing about what it moves."""
    short: Counter[str] = Counter()
    for name, number in counts.items():
        for end in _ENDS:
            name = name.replace(end, "")
        short[name] += number
    return short


def _rows(kind: str, counts: list[Counter[str]]) -> list[list[str]]:
    names = sorted({name for found in counts for name in found})
    return [[kind, name, *(str(found[name] or "") for found in counts)] for name in names]
