"""Exercises of lines in JavaScript: the same answers get the same sentences as in the notebook."""

import re
from typing import Any

import pytest
from judged_lines import BROKEN, every, judged, sample

from sgemm_lab.cuda.compiler import CompileError, compile_kernel
from sgemm_lab.kernel import parse_kernel


def made(source: str) -> dict[str, Any]:
    """Compile a source as NVRTC does, in the shape of the page's compilers."""
    kernel = parse_kernel("mine", source)
    try:
        found = compile_kernel(kernel)
    except CompileError as error:
        reason = re.sub(r"^\S+ does not compile for \w+\.\s+", "", str(error)).splitlines()[0]
        line = re.match(r"Line (\d+): (.+)$", reason)
        if not line:
            return {"refused": reason, "line": 0}
        return {"refused": line[2], "line": int(line[1])}
    of_thread = {"registers": found.registers, "spill_bytes": found.spill_bytes}
    return {"ptx": found.ptx, "by": "NVRTC", "ofThread": of_thread}


def expect_sentences(cases: list[tuple[str, dict[str, Any]]]) -> None:
    for (name, expected), said in zip(cases, judged(cases, made), strict=True):
        assert (said["right"], said["text"]) == (expected["right"], expected["text"]), name


def test_solutions_wrong_answers_and_broken_ones_get_the_sentence_that_the_notebook_says() -> None:
    expect_sentences(sample(lambda _name, expected: BROKEN in expected["text"], first=1))


@pytest.mark.whole
def test_every_listed_answer_gets_the_sentence_that_the_notebook_says() -> None:
    expect_sentences(every())
