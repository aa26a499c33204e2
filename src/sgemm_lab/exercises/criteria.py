"""What an exercise of lines asks of a correct kernel, as in ``criteria.ts``.

It is plain data, so that it can travel in a page as JSON: figures of the kernel, each with a name,
and cases of them, each with a sentence. The reader is shown the first case that fits. A test holds
both languages equal.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Literal

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.exercises.quantities import counts
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.text import filled, sentences

sentence = sentences(__file__)

BLOCK = "block"
"""What a count may be told per, besides other counts."""

_NAMED = re.compile(r"\{(\w+)")


@dataclass(frozen=True)
class Counted:
    """What all lines of a launch ask of memory."""

    kind: ClassVar = "counted"
    count: str
    """The name of a count, as in ``LineCounts``."""
    size: Size
    per: str = ""
    """Another count that it is divided by, or BLOCK; "" where it is told as it is."""
    times: int = 1
    """What it is multiplied by."""
    of: str = ""
    """The book's kernel that is counted; "" for the reader's."""

    def value(self, kernel: Kernel) -> float:
        """Count.

        Raises:
            LabError: there is nothing to divide by.
        """
        total: dict[str, int] = asdict(counts(kernel, self.size))
        if not self.per:
            return float(self.times * total[self.count])
        if self.per == BLOCK:
            x, y = kernel.launch_shape(*self.size).grid
            return self.times * total[self.count] / (x * y)
        if not total[self.per]:
            words = {name: name.replace("_", " ") for name in (self.count, self.per)}
            raise LabError(sentence("asks.no share", count=words[self.count], per=words[self.per]))
        return float(self.times * total[self.count] / total[self.per])


@dataclass(frozen=True)
class Compiled:
    """What the compiler gave to a block (shared memory) or to a thread."""

    kind: ClassVar = "compiled"
    what: Literal["shared_bytes", "registers", "spill_bytes"]
    """All but ``shared_bytes`` is unknown in a page."""
    each: int = 1
    """It is told how many times so many of it are there, in whole numbers."""
    plus: int = 0
    """What is added to that."""
    of: str = ""
    """The book's kernel that is meant; "" for the reader's."""

    def value(self, kernel: Kernel) -> float:
        """Ask the compiler."""
        return float(getattr(compile_kernel(kernel), self.what) // self.each + self.plus)


@dataclass(frozen=True)
class LeastInPtx:
    """The least whole number that a pattern's group finds in the PTX; -1 where it finds none."""

    kind: ClassVar = "least in PTX"
    pattern: str
    """A regular expression that both languages read alike."""
    of: ClassVar = ""

    def value(self, kernel: Kernel) -> float:
        """Look."""
        found = re.findall(self.pattern, compile_kernel(kernel).ptx)
        return float(min(map(int, found), default=-1))


@dataclass(frozen=True)
class Constant:
    """A tile constant of the reader's kernel, and what is added to it."""

    kind: ClassVar = "constant"
    name: str
    plus: int = 0
    of: ClassVar = ""

    def value(self, kernel: Kernel) -> float:
        """Look it up.

        Raises:
            LabError: the kernel has no such constant.
        """
        if self.name not in kernel.values:
            raise LabError(sentence("asks.no constant", name=self.name))
        return float(kernel.values[self.name] + self.plus)


Figure = Counted | Compiled | LeastInPtx | Constant


@dataclass(frozen=True)
class Case:
    """What is said where a figure is above a bound, or below one, or always."""

    right: bool
    says: str
    """A template of figures. Where one of them is unknown, the case does not fit."""
    figure: str = ""
    above: float | str | None = None
    """A number, or the name of another figure."""
    below: float | str | None = None


@dataclass(frozen=True)
class Criteria:
    """Figures by name, and the cases in their order. The last one fits always."""

    cases: tuple[Case, ...]
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def books(self) -> list[str]:
        """The book's kernels that the reader's is compared with."""
        return sorted({figure.of for figure in self.figures.values() if figure.of})

    def data(self) -> dict[str, object]:
        """Return what a page needs to ask the same."""
        figures = {name: {"kind": one.kind, **asdict(one)} for name, one in self.figures.items()}
        return {"figures": figures, "cases": [asdict(case) for case in self.cases]}

    def said(self, kernel: Kernel) -> Case:
        """Return the case that fits a kernel, with its sentence filled in.

        Raises:
            LabError: a figure cannot be had.
        """
        known: dict[str, float] = {}

        def figure(name: str) -> float:
            if name not in known:
                asked = self.figures[name]
                known[name] = asked.value(load_kernel(asked.of) if asked.of else kernel)
            return known[name]

        def bound(given: float | str) -> float:
            return figure(given) if isinstance(given, str) else given

        def fits(case: Case) -> bool:
            if case.above is not None and not figure(case.figure) > bound(case.above):
                return False
            return case.below is None or figure(case.figure) < bound(case.below)

        case = next(case for case in self.cases if fits(case))
        values = {name: figure(name) for name in _NAMED.findall(case.says)}
        return Case(case.right, filled(case.says, values))


def always(says: str) -> Criteria:
    """Return what asks for nothing more."""
    return Criteria((Case(True, says),))


def per_turn(count: str, size: Size, of: str = "") -> Counted:
    """Return a count of a warp for each of its multiply-adds."""
    return Counted(count, size, "ffma_thread_instructions", WARP, of)
