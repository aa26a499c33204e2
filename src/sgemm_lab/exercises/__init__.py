"""Exercises and predictions that judge an answer, each found by its name.

Every module ``chapterN`` of this folder is found by itself. It has a tuple ``EXERCISES``, and a
tuple ``PREDICTIONS`` if its chapter asks for predictions.
"""

import difflib
import pkgutil
import re
from functools import cache
from importlib import import_module
from types import ModuleType
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

Kind = TypeVar("Kind", bound=Exercise)

_WITH_ARTICLE = {"exercise": "an exercise", "prediction": "a prediction"}
_CHAPTER = re.compile(r"chapter(\d+)")


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return all exercises, in the book's order."""
    return tuple(one for module in _chapters() for one in module.EXERCISES)


@cache
def predictions() -> tuple[Estimate | Choice, ...]:
    """Return all predictions, in the order of the chapters."""
    return tuple(one for module in _chapters() for one in getattr(module, "PREDICTIONS", ()))


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


@cache
def _chapters() -> tuple[ModuleType, ...]:
    """Return the modules of the chapters, in order."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    numbered = sorted((int(m[1]), name) for name in names if (m := _CHAPTER.fullmatch(name)))
    return tuple(import_module(f"{__name__}.{name}") for _, name in numbered)


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
