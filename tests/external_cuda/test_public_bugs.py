"""The record of bugs in public samples: its form, and what its sentences say."""

import re

import pytest

from sgemm_lab.external_cuda.public_bugs import PublicBug, Ran, Tool, public_bugs

KNOWN = public_bugs()


@pytest.mark.parametrize("bug", [pytest.param(b, id=f"{b.name}:{b.line}") for b in KNOWN.bugs])
def test_each_row_says_where_what_and_what_came_of_it(bug: PublicBug) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", bug.repository)
    assert re.fullmatch(r"[0-9a-f]{40}", bug.commit)
    assert re.search(r"\.cuh?$", bug.file)
    assert bug.line > 0
    assert bug.address.endswith(f"/blob/{bug.commit}/{bug.file}#L{bug.line}")
    for sentence in (bug.wrong, bug.fair, bug.said):
        assert re.fullmatch(r"[A-Z\d\w].+\.", sentence)
    assert re.match(rf"sgemm-lab (check|count) {re.escape(bug.name)} ", bug.command)
    # What is said names a line of that very file.
    assert re.match(rf"{re.escape(bug.name)}, line \d+: ", bug.said)
    assert any(isinstance(one, Ran) for one in bug.h200)
    assert _is_confirmed(bug)


def _is_confirmed(bug: PublicBug) -> bool:
    """Whether the GPU went wrong, or one of NVIDIA's tools there names it."""
    return any(
        (one.errors or one.warnings)
        if isinstance(one, Tool)
        else (one.wrong_runs or one.overwritten or one.stopped)
        for one in bug.h200
    )


def test_there_are_enough_and_each_stands_once() -> None:
    assert KNOWN.gpu == "NVIDIA H200"
    assert 5 <= len(KNOWN.bugs) <= 12
    assert len({(bug.repository, bug.file, bug.line) for bug in KNOWN.bugs}) == len(KNOWN.bugs)
    assert 0 < KNOWN.right_nevertheless < len(KNOWN.bugs)
    assert KNOWN.repositories >= 5
