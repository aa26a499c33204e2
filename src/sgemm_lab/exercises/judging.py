"""How an answer is judged by data alone. ``book/page_scripts/judging.ts`` says the same in a page.

What judges a question is plain data, so that it can travel in a page as JSON: the right answer, how
near is near enough, and the sentences with their conditions. A test holds both languages equal.
"""

import math
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from sgemm_lab.text import number


class HintData(TypedDict):
    """What is said to some wrong answers: those near a value, or those between two."""

    says: str
    near: NotRequired[float]
    above: NotRequired[float]
    below: NotRequired[float]
    right: NotRequired[bool]
    """Whether an estimate that it fits counts as right."""


class NumberData(TypedDict):
    """A number that follows from a formula, a count or the compiler."""

    kind: Literal["number"]
    expected: float
    tolerance: float
    """The share by which an answer may miss."""
    because: str
    hints: list[HintData]
    """The first that fits is said."""
    otherwise: str
    """Said to a wrong answer that no hint fits."""


class EstimateData(TypedDict):
    """A measured or compiled number that the reader estimates before it is shown."""

    kind: Literal["estimate"]
    expected: float
    tolerance: float
    says: str
    hints: list[HintData]
    """Of an answer that is not the measured one, the first that fits is said."""
    source: str
    """Where the number comes from, in a sentence."""


class ChoiceData(TypedDict):
    """One of a few words."""

    kind: Literal["choice"]
    expected: str
    told: dict[str, str]
    """What is said to each word."""
    source: str


JudgingData = NumberData | EstimateData | ChoiceData


@dataclass(frozen=True)
class Verdict:
    """What is said to an answer, and whether it is right; None where there is nothing to judge."""

    right: bool | None
    text: str


def judge_number(data: NumberData | EstimateData, given: float) -> Verdict:
    """Judge a finite number."""
    return _estimate(data, given) if data["kind"] == "estimate" else _number(data, given)


def judge_choice(data: ChoiceData, said: str) -> Verdict:
    """Judge a word that is one of those to choose from."""
    return Verdict(said == data["expected"], data["told"][said])


def _number(data: NumberData, given: float) -> Verdict:
    expected, tolerance = data["expected"], data["tolerance"]
    if near(given, expected, tolerance):
        return Verdict(True, f"Right: {number(expected)}. {data['because']}")
    says = next(
        (hint["says"] for hint in data["hints"] if _fits(hint, given, tolerance)),
        data["otherwise"],
    )
    said = number(given)
    wrong = f"{said} is not it." if said != number(expected) else "Not exactly."
    return Verdict(False, f"{wrong} {says}")


def _fits(hint: HintData, given: float, tolerance: float) -> bool:
    if "near" in hint:
        return near(given, hint["near"], tolerance)
    return hint.get("above", -math.inf) < given < hint.get("below", math.inf)


def _estimate(data: EstimateData, given: float) -> Verdict:
    expected = data["expected"]
    if given <= 0:
        return Verdict(None, f"{number(given)} cannot be. Give a number above 0.")
    hint: HintData = {"says": "", "right": True}
    if not near(given, expected, data["tolerance"]):
        fitting = (one for one in data["hints"] if _fits(one, given, data["tolerance"]))
        hint = next(fitting, HintData(says=""))
    right = hint.get("right", False)
    you = "Right: you" if right else "You"
    difference = f"{you} said {number(given)}, it is {number(expected)}: {_miss(given, expected)}."
    return Verdict(
        right, " ".join(part for part in (difference, hint["says"], data["says"]) if part)
    )


def near(given: float, value: float, tolerance: float) -> bool:
    """Say whether a number is another one, but for a share of that."""
    return abs(given - value) <= tolerance * abs(value)


def _miss(given: float, value: float) -> str:
    if number(given) == number(value):
        return "exact"
    ratio = given / value
    side = "high" if ratio > 1 else "low"
    if 0.5 < ratio < 2:
        tenths = math.floor(1000 * abs(ratio - 1) + 0.5) / 10
        return f"{tenths:g} % too {side}"
    return f"{number(ratio if ratio > 1 else value / given)} times too {side}"
