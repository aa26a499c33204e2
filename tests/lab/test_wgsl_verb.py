"""``lab.wgsl``: a program beside its CUDA kernel, with what its parent lacks marked."""

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.wgsl.programs import load_program, load_programs, program_names


@pytest.mark.parametrize("name", program_names())
def test_a_program_is_listed_without_its_head(name: str) -> None:
    program = load_program(name)
    lines = lab.wgsl(name).text.splitlines()
    assert lines[0] == program.title
    assert lines[1].startswith(("+ const", "  const", "+ enable"))
    marked = [line for line in lines[1:] if line.startswith("+")]
    assert bool(marked) == (program.parent is not None)


@pytest.mark.parametrize("program", load_programs()[1:], ids=lambda program: program.name)
def test_a_step_has_one_idea_more_than_its_parent(program: object) -> None:
    text = lab.wgsl(program.name).text  # type: ignore[attr-defined]
    assert sum(line.startswith("+") for line in text.splitlines()) <= 40


def test_what_wgsl_does_not_have_is_said() -> None:
    with pytest.raises(
        LabError, match=r"'strip' is not there in WGSL\. It has naive_rows, naive, "
    ):
        lab.wgsl("strip")
