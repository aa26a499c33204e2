"""Exercises of lines as a page judges them: by what clang makes of the answers, in JavaScript."""

import json
from typing import Any

import pytest
from compiler_here import compiled
from judged_lines import DATA, EXPECTED, every, judged, sample

DIFFERENCES: dict[str, list[dict[str, str]]] = json.loads(
    (DATA / "judged_by_clang.json").read_text(encoding="utf-8")
)
"""Answers of which a page says something else than the notebook: the page's sentence, and why."""


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


def expect_sentences(cases: list[tuple[str, dict[str, Any]]]) -> None:
    for (name, expected), said in zip(cases, judged(cases, made), strict=True):
        wanted = differing(name, expected["answer"]) or expected["text"]
        assert (said["right"], said["text"]) == (expected["right"], wanted), name


def test_a_solution_or_a_wrong_answer_of_each_exercise_is_judged_as_in_the_notebook() -> None:
    expect_sentences(
        sample(lambda name, expected: differing(name, expected["answer"]) is not None, first=0)
    )


@pytest.mark.whole
def test_every_listed_answer_is_judged_as_in_the_notebook() -> None:
    expect_sentences(every())


def test_what_differs_is_told_in_other_words_and_has_its_reason() -> None:
    for name, listed in DIFFERENCES.items():
        for one in listed:
            (expected,) = [own for own in EXPECTED[name] if own["answer"] == one["answer"]]
            assert one["text"] != expected["text"]
            assert one["why"].endswith(".")
