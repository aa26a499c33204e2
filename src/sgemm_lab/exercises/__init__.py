"""Exercises that check themselves. ``find_exercise`` gives one by its name, such as "3.2"."""

import difflib

from sgemm_lab.errors import LabError
from sgemm_lab.exercises import chapter1, chapter2, chapter3, chapter4, chapter5, chapter6, chapter7
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import (
    Choice,
    Estimate,
    Exercise,
    Found,
    Judgement,
    Machine,
    Number,
    spelled,
)

EXERCISES: tuple[Exercise, ...] = (
    *chapter1.EXERCISES,
    *chapter2.EXERCISES,
    *chapter3.EXERCISES,
    *chapter4.EXERCISES,
    *chapter5.EXERCISES,
    *chapter6.EXERCISES,
    *chapter7.EXERCISES,
)
"""All exercises, in the book's order."""


def find_exercise(name: str) -> Exercise:
    """Return the exercise called ``name``.

    Raises:
        LabError: there is none; the message names the nearest.
    """
    known = {exercise.name: exercise for exercise in EXERCISES}
    if name in known:
        return known[name]
    if not isinstance(name, str):
        raise LabError(f"The name of an exercise is text. Write it in quotes: '{name}'.")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(known)}."
    raise LabError(f"There is no exercise called '{name}'. {hint}")


__all__ = [
    "EXERCISES",
    "Choice",
    "Estimate",
    "Exercise",
    "Found",
    "Judgement",
    "Lines",
    "Machine",
    "Number",
    "find_exercise",
    "spelled",
]
