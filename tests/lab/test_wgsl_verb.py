"""``lab.wgsl``: a program as a listing, with what its parent lacks marked."""

import pytest

from sgemm_lab import lab
from sgemm_lab.wgsl.programs import load_program, program_names


@pytest.mark.parametrize("name", program_names())
def test_a_program_is_listed_without_its_head(name: str) -> None:
    program = load_program(name)
    lines = lab.wgsl(name).text.splitlines()
    assert lines[0] == program.title
    assert lines[1].startswith(("+ const", "  const", "+ enable"))
    marked = [line for line in lines[1:] if line.startswith("+")]
    assert bool(marked) == (program.parent is not None)
