"""What an exercise is, and how the reader's answer is judged: in a sentence, on any machine.

Three kinds of question are judged by data alone, in a notebook and in the page itself: a ``Number``
that follows from a formula, a count or the compiler; an ``Estimate`` and a ``Choice``, to which the
reader commits before a measurement is shown. ``Lines`` of a kernel are compiled and run.

Title, text and the words of the solution stand in the chapter, under the exercise's name.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.difference import NO_DIFFERENCE
from sgemm_lab.simulator import worker
from sgemm_lab.text import number, percent

JudgingData = dict[str, Any]
"""What judges an answer, to travel in a page as JSON: see ``exercises/judging.ts``."""


@dataclass(frozen=True)
class Judgement:
    """What is said to an answer. In ``text``, code stands between backticks."""

    right: bool
    text: str
    kernel: Kernel | None = None
    """The reader's kernel, where the exercise asked for one and it is right."""
    source: str = ""
    """Where a measured number comes from, in a sentence."""


@dataclass(frozen=True)
class Machine:
    """What a judge may use of the machine that it runs on."""

    gpu: bool
    """Whether kernels can be checked on a GPU."""
    speeds: Callable[[Sequence[Kernel], Size], tuple[dict[str, float], str]]
    """Gives the GFLOP/s of kernels by name, and a sentence that says where they come from."""


@dataclass(frozen=True)
class Found:
    """A number that was measured or compiled."""

    value: float
    source: str
    """Where it comes from, in a sentence."""
    says: str = ""
    """What else there is to say."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise(ABC):
    """One exercise of a chapter, or a prediction in it.

    An exercise's ``name`` is chapter and number, such as "3.2"; a prediction's is a few words,
    such as "tiled-speed".
    """

    name: str

    def judge(self, answer: object, machine: Machine) -> Judgement:
        """Say in a sentence or two whether an answer is right, and if not, what is wrong."""
        try:
            return self._judged(answer, machine)
        except LabError as problem:
            return Judgement(False, str(problem))

    @abstractmethod
    def _judged(self, answer: object, machine: Machine) -> Judgement:
        """Judge, or raise a LabError whose sentence the reader gets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Question(Exercise):
    """An exercise that data alone can judge, so that the page can do it too."""

    unit: str = ""
    """Stands behind the place for the answer and behind the answer, such as "GB"."""

    @abstractmethod
    def judging(self, machine: Machine) -> JudgingData:
        """Return what judges an answer."""

    @abstractmethod
    def correct_answer(self, machine: Machine) -> Found:
        """Return the answer for the solution, in ``says``, and where it comes from."""

    @property
    def allows(self) -> str:
        """How near an answer must come, as a sentence; nothing where it is to be exact."""
        return ""


Hint = tuple[float | dict[str, float], str]
"""A wrong answer, or those "above" one number, "below" another or both, and what is said to it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Number(Question):
    """A number that the page can compute but does not show."""

    expected: Callable[[], float]
    because: str
    """Said after "Right"."""
    hint: str
    """Said to a wrong answer that no other hint fits."""
    hints: tuple[Hint, ...] = ()
    tolerance: float | None = None
    """The share by which an answer may miss: 0.005 by default, nothing for a whole number."""

    def judging(self, machine: Machine) -> JudgingData:
        """Return what judges an answer."""
        expected = float(self.expected())
        usual = 1e-9 if expected.is_integer() else 0.005
        return {
            "kind": "number",
            "expected": expected,
            "tolerance": usual if self.tolerance is None else self.tolerance,
            "because": self.because,
            "hints": [_hint_data(wrong, says) for wrong, says in self.hints],
            "otherwise": self.hint,
        }

    def correct_answer(self, machine: Machine) -> Found:
        """Return the number for the solution."""
        expected = self.expected()
        return Found(expected, "", f"**{_with_unit(expected, self.unit)}**")

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        return judged_number(self.judging(machine), one_number(answer))


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(Question):
    """A number to commit to before looking; the answer is a measurement, or the compiler's."""

    found: Callable[[Machine], Found]
    close: float = 0.1
    """The share by which an estimate may miss and still counts as right; 0 for whole numbers."""
    predicted: tuple[tuple[Callable[[], float], str], ...] = ()
    """The page's own estimate: right too, though the measurement differs."""
    hints: tuple[Hint, ...] = ()

    @property
    def allows(self) -> str:
        """By how much an estimate may miss."""
        if not self.close:
            return "A whole number."
        of = " of the measured factor or of the estimate" if self.predicted else ""
        return f"Within {percent(self.close)}{of} counts as right."

    def judging(self, machine: Machine) -> JudgingData:
        """Return what judges an answer."""
        return self._data(self.found(machine))

    def correct_answer(self, machine: Machine) -> Found:
        """Return what was found, for the solution."""
        found = self.found(machine)
        says = f"**{_with_unit(found.value, self.unit)}.** {found.says}".rstrip()
        return Found(found.value, found.source, says)

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        given = one_number(answer)
        found = self.found(machine) if given > 0 else Found(1, "")
        return judged_number(self._data(found), given)

    def _data(self, found: Found) -> JudgingData:
        return {
            "kind": "estimate",
            "expected": float(found.value),
            "tolerance": self.close,
            "says": found.says,
            "hints": [
                *({**_hint_data(one(), says), "estimated": True} for one, says in self.predicted),
                *(_hint_data(wrong, says) for wrong, says in self.hints),
            ],
            "source": found.source,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice(Question):
    """Slower, the same or faster? To be said before looking; the answer is a measurement."""

    found: Callable[[Machine], Found]
    """Gives how many times as fast the kernel in question is."""

    @property
    def allows(self) -> str:
        """Which difference is none."""
        return f"Less than {percent(NO_DIFFERENCE)} apart counts as about the same."

    def judging(self, machine: Machine) -> JudgingData:
        """Return what judges an answer."""
        found = self.found(machine)
        right = self._right(found)
        is_ = CHOICES[right]
        feedback = {
            word: f"Right: {said}." if word == right else f'You said "{said}"; it is "{is_}".'
            for word, said in CHOICES.items()
        }
        feedback = {word: f"{text} {found.says}".rstrip() for word, text in feedback.items()}
        return {"kind": "choice", "expected": right, "feedback": feedback, "source": found.source}

    def correct_answer(self, machine: Machine) -> Found:
        """Return the word and what was measured, for the solution."""
        found = self.found(machine)
        word = CHOICES[self._right(found)].capitalize()
        return Found(found.value, found.source, f"**{word}.** {found.says}".rstrip())

    def _right(self, found: Found) -> str:
        if abs(found.value - 1) <= NO_DIFFERENCE:
            return "same"
        return "faster" if found.value > 1 else "slower"

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        said = answer.strip().lower() if isinstance(answer, str) else ""
        if said not in CHOICES:
            raise LabError('Put "faster", "slower" or "same" in place of `None` and run the cell.')
        data = self.judging(machine)
        return Judgement(said == data["expected"], data["feedback"][said], source=data["source"])


CHOICES = {"slower": "slower", "same": "about the same", "faster": "faster"}
"""The words of a choice, and how the page writes them."""


def one_number(answer: object) -> float:
    """Return an answer as a number.

    Raises:
        LabError: there is no answer yet, or it is not one finite number.
    """
    if answer is None:
        raise LabError("Put your number in place of `None` and run the cell.")
    if isinstance(answer, str):
        raise LabError("A number is wanted, not text: write it without quotation marks.")
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real):
        raise LabError(f"One number is wanted, not a {type(answer).__name__}.")
    try:
        value = float(answer)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise LabError("A finite number is wanted, not NaN or infinity.")
    return value + 0.0  # no minus before a zero


def judged_number(data: JudgingData, given: float) -> Judgement:
    """Judge a finite number by the data of a ``Number`` or an ``Estimate``."""
    said = worker.ask("judge", {"data": data, "given": given})
    return Judgement(bool(said["right"]), said["text"], source=data.get("source", ""))


def _hint_data(wrong: float | dict[str, float], says: str) -> JudgingData:
    bounds = wrong if isinstance(wrong, dict) else {"near": wrong}
    return {"says": says, **{name: float(bound) for name, bound in bounds.items()}}


def _with_unit(value: float, unit: str) -> str:
    return f"{number(value)} {unit}".rstrip()
