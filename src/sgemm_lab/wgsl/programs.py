"""The programs in WGSL.

Each has the file name and the head comment of its CUDA kernel, and constants in the same form,
``const BM = 64u;  // rows of C per block``. They are not pipeline overrides: a compiler gets those
only with the program, but loops are unrolled before (``loop_unrolling.ts``; the gain is in
``records/notes.md``), and a thread's own array, such as ``acc``, needs a constant length. A launch
sets other constants as the CUDA kernels do, in the text.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.files import read_source
from sgemm_lab.kernel import Kernel, parse_kernel

PROGRAMS = Path(__file__).parent / "programs"


@cache
def load_programs() -> tuple[Kernel, ...]:
    """Return the steps in WGSL, in the book's order, without variants."""
    return tuple(
        parse_kernel(path.stem.partition("_")[2], read_source(path))
        for path in sorted(PROGRAMS.glob("*.wgsl"))
    )


def all_programs() -> list[Kernel]:
    """Return the steps with their variants, in order."""
    return [
        one
        for program in load_programs()
        for one in (program, *(constants_of(program, text) for text in program.variants))
    ]


def load_program(name: str) -> Kernel:
    """Return the program called ``name``, perhaps with other constants: "register_cache:BM=128"."""
    base, _, constants = name.partition(":")
    found = next((one for one in load_programs() if one.name == base), None)
    if found is None:
        raise LabError(f"'{base}' is not there in WGSL. It has {', '.join(program_names())}.")
    return constants_of(found, constants) if constants else found


def program_names() -> list[str]:
    """Return the names of the programs, in the book's order."""
    return [program.name for program in load_programs()]


def constants_of(program: Kernel, variant: str) -> Kernel:
    """Return a program with other constants, such as ``BM=128,BN=128``, by which it is called."""
    pairs = (pair.partition("=") for pair in variant.split(","))
    other = program.with_constants(**{name: int(value) for name, _, value in pairs})
    return replace(other, name=f"{program.name}:{variant}")
