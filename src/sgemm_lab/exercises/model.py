"""What an exercise is, and how the reader's answer is judged: in a sentence, on any machine.

Four kinds: a ``Number`` that follows from a formula, a count or the compiler; an ``Estimate`` and a
``Choice``, to which the reader commits before a measurement is told; ``Lines`` of a kernel.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size


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


@dataclass(frozen=True, kw_only=True)
class Exercise(ABC):
    """One exercise of a chapter. Its ``name`` is chapter and number, such as "3.2"."""

    name: str
    title: str
    solution: object = None
    """A right answer; None for an estimate, whose answer is what is found."""
    wrong: tuple[tuple[object, str], ...]
    """Wrong answers that readers give, each with a piece of the sentence that they must get."""

    @property
    def chapter(self) -> int:
        """The number of the chapter that the exercise belongs to."""
        return int(self.name.partition(".")[0])

    def judge(self, answer: object, machine: Machine) -> Judgement:
        """Say in a sentence or two whether an answer is right, and if not, what is wrong."""
        try:
            judged = self._judged(answer, machine)
        except LabError as problem:
            return Judgement(False, str(problem))
        return replace(judged, text=f"Right: {judged.text}") if judged.right else judged

    @abstractmethod
    def _judged(self, answer: object, machine: Machine) -> Judgement:
        """Judge, or raise a LabError whose sentence the reader gets."""


Hint = tuple[float | Callable[[float], bool], str]
"""A wrong answer, or a test for wrong answers, and what is said to it."""


@dataclass(frozen=True, kw_only=True)
class Number(Exercise):
    """A number that the page can compute but does not show."""

    expected: Callable[[], float]
    because: str
    """Said after "Right"."""
    hint: str
    """Said to a wrong answer that no other hint fits."""
    hints: tuple[Hint, ...] = ()
    tolerance: float = 0.005
    """The share by which an answer may miss."""

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        given = one_number(answer)
        expected = self.expected()
        if self._near(given, expected):
            return Judgement(True, f"{spelled(expected)}. {self.because}")
        for wrong, says in self.hints:
            if wrong(given) if callable(wrong) else self._near(given, wrong):
                return Judgement(False, f"{spelled(given)} is not it. {says}")
        return Judgement(False, f"{spelled(given)} is not it. {self.hint}")

    def _near(self, given: float, value: float) -> bool:
        return math.isclose(given, value, rel_tol=self.tolerance)


@dataclass(frozen=True, kw_only=True)
class Estimate(Exercise):
    """A number to commit to before looking; the answer is a measurement, or the compiler's."""

    found: Callable[[Machine], Found]
    close: float = 0.1
    """The share by which an estimate may miss and still counts as right."""

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        given = one_number(answer)
        if given <= 0:
            raise LabError(f"{spelled(given)} cannot be. Give a number above 0.")
        found = self.found(machine)
        right = math.isclose(given, found.value, rel_tol=self.close)
        told = f"{'you' if right else 'You'} said {spelled(given)}, it is {spelled(found.value)}"
        told = f"{told}: {_miss(given, found.value)}. {found.says}".rstrip()
        return Judgement(right, told, source=found.source)


@dataclass(frozen=True, kw_only=True)
class Choice(Exercise):
    """Faster, slower or the same? To be said before looking; the answer is a measurement."""

    found: Callable[[Machine], Found]
    """Gives how many times as fast the kernel in question is."""
    same: float = 0.03
    """The share by which two speeds may differ and still count as the same."""

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        said = answer.strip().lower() if isinstance(answer, str) else ""
        if answer is None or said not in _CHOICES:
            raise LabError('Put "faster", "slower" or "same" in place of `None` and run the cell.')
        found = self.found(machine)
        if abs(found.value - 1) <= self.same:
            right = "same"
        else:
            right = "faster" if found.value > 1 else "slower"
        told = f"{right}." if said == right else f'You said "{said}"; it is "{right}".'
        return Judgement(said == right, f"{told} {found.says}".rstrip(), source=found.source)


_CHOICES = ("faster", "slower", "same")


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
    value = float(answer)
    if not math.isfinite(value):
        raise LabError("A finite number is wanted, not NaN or infinity.")
    return value


def spelled(value: float) -> str:
    """Write a number for people: whole numbers in full, others to three digits."""
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _miss(given: float, value: float) -> str:
    ratio = given / value
    if spelled(given) == spelled(value):
        return "exact"
    side = "high" if ratio > 1 else "low"
    if 0.5 < ratio < 2:
        return f"{abs(ratio - 1):.1%} too {side}"
    return f"{spelled(max(ratio, 1 / ratio))} times too {side}"
