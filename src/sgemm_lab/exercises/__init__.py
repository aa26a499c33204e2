"""Exercises and predictions that judge an answer, each found by its name.

Those of a chapter are in ``chapterN.toml``, in the form that ``reading`` describes.
"""

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from sgemm_lab.errors import LabError
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import (
    CHOICES,
    Choice,
    Estimate,
    Exercise,
    Found,
    Judgement,
    Machine,
    Number,
    Question,
)
from sgemm_lab.exercises.reading import read

Kind = TypeVar("Kind", bound=Exercise)

_WITH_ARTICLE = {"exercise": "an exercise", "prediction": "a prediction"}


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return all exercises, in the book's order."""
    return tuple(one for chapter in _chapters() for one in read(chapter, "exercises"))


@cache
def predictions() -> tuple[Estimate | Choice, ...]:
    """Return all predictions, in the order of the chapters."""
    return tuple(one for chapter in _chapters() for one in read(chapter, "predictions"))


def find_exercise(name: str) -> Exercise:
    """Return the exercise called ``name``, such as "3.2".

    Raises:
        LabError: there is none; the message names the nearest.
    """
    return _find("exercise", name, exercises())


def find_prediction(name: str) -> Estimate | Choice:
    """Return the prediction called ``name``.

    Raises:
        LabError: there is none; the message names the nearest.
    """
    return _find("prediction", name, predictions())


def _find(what: str, name: str, of: tuple[Kind, ...]) -> Kind:
    known = {exercise.name: exercise for exercise in of}
    if name in known:
        return known[name]
    if not isinstance(name, str):
        raise LabError(f"The name of {_WITH_ARTICLE[what]} is text. Write it in quotes: '{name}'.")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    there = f"There are {', '.join(known)}." if known else "There is none yet."
    hint = f"Did you mean '{near[0]}'?" if near else there
    raise LabError(f"There is no {what} called '{name}'. {hint}")


def _chapters() -> Iterable[Path]:
    """Return the files of the chapters, in order."""
    files = Path(__file__).parent.glob("chapter*.toml")
    return sorted(files, key=lambda file: int(file.stem.removeprefix("chapter")))


__all__ = [
    "CHOICES",
    "Choice",
    "Estimate",
    "Exercise",
    "Found",
    "Judgement",
    "Lines",
    "Machine",
    "Number",
    "Question",
    "exercises",
    "find_exercise",
    "find_prediction",
    "predictions",
]
