"""What the table of a kernel beside its program says above its rows."""

import pytest

from sgemm_lab.kernel import Kernel, book_kernel, load_kernel
from sgemm_lab.lab.side_by_side import beside
from sgemm_lab.wgsl.programs import MOST_THREADS, load_program, load_programs

PROGRAMS = [one for one in load_programs() if book_kernel(one.name)]
REASON = f"Every card takes {MOST_THREADS}, so the block is smaller here"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_constants_that_are_not_the_kernels_have_their_reason(program: Kernel) -> None:
    kernel = load_kernel(program.name)
    differ = any(kernel.values.get(name, at) != at for name, at in program.values.items())
    assert (REASON in beside(kernel, program)) is differ
    assert program.launch_shape(1, 1, 1).threads <= MOST_THREADS


def test_the_reason_names_the_threads_of_both() -> None:
    said = beside(load_kernel("naive"), load_program("naive"))
    assert "The CUDA kernel has 512 threads in a block." in said
    assert f"{REASON} and has 256." in said
