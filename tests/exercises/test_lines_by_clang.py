"""Exercises of lines as a page judges them: by what clang makes of the answers."""

import json
from typing import Any

import pytest
from compiler_here import compiled
from judged_answers import DATA, LINES
from turns import TODAY

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises import Lines, find_exercise
from sgemm_lab.simulator import worker

DIFFERENCES: dict[str, list[dict[str, str]]] = json.loads(
    (DATA / "judged_by_clang.json").read_text(encoding="utf-8")
)
"""Answers of which a page says something else than the notebook: the page's sentence, and why."""
BROKEN = "It does not compile"
STOPPED = ("At ", BROKEN)


def made(source: str) -> dict[str, Any]:
    """Compile a source as a page does."""
    answer = compiled(source)
    if "ptx" in answer:
        return {"ptx": answer["ptx"], "by": "clang"}
    first, *_ = answer["errors"]
    return {"refused": first["text"], "line": first["line"]}


def differing(name: str, answer: str) -> str | None:
    """Return what a page alone says of an answer; None where it says what the notebook says."""
    listed = [one["text"] for one in DIFFERENCES.get(name, []) if one["answer"] == answer]
    return listed[0] if listed else None


def expect_sentence(name: str, expected: dict[str, Any]) -> None:
    exercise, answer = find_exercise(name), expected["answer"]
    assert isinstance(exercise, Lines)
    data = exercise.data()
    if not expected["text"].startswith(STOPPED):
        data["sizes"] = data["sizes"][:1]  # that it is right at all of them, other tests hold
    sources = {load_kernel(book).source for book in exercise.compared}
    sources.add(exercise.kernel_of(answer).source)
    asked = {"exercise": data, "answer": answer, "made": {one: made(one) for one in sources}}
    said = worker.ask("judge_lines", asked)
    wanted = differing(name, answer) or expected["text"]
    assert (said["right"], said["text"]) == (expected["right"], wanted), name


@pytest.mark.parametrize("name", LINES)
@pytest.mark.sampled(every=6, first=TODAY)
def test_a_solution_or_a_wrong_answer_is_judged_as_in_the_notebook(name: str) -> None:
    right = next(one for one in LINES[name] if one["right"])
    wrong = next(one for one in LINES[name] if not one["right"] and BROKEN not in one["text"])
    chosen = wrong if list(LINES).index(name) % 2 else right
    for one in LINES[name]:
        if one is chosen or differing(name, one["answer"]):
            expect_sentence(name, one)


@pytest.mark.whole
@pytest.mark.parametrize("name", LINES)
def test_every_listed_answer_is_judged_as_in_the_notebook(name: str) -> None:
    for one in LINES[name]:
        expect_sentence(name, one)


def test_what_differs_is_told_in_other_words_and_has_its_reason() -> None:
    for name, listed in DIFFERENCES.items():
        for one in listed:
            (expected,) = [own for own in LINES[name] if own["answer"] == one["answer"]]
            assert one["text"] != expected["text"]
            assert one["why"].endswith(".")
