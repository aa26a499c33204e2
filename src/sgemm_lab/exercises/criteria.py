"""What an exercise of lines asks of a correct kernel.

It is plain data, for ``criteria.ts`` in a page and in Python's worker: figures of the kernel, each
with a name, and cases of them, each with a sentence. The reader is shown the first that fits.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal

from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Size

BLOCK = "block"
"""What a count may be divided by, besides other counts."""


@dataclass(frozen=True)
class Counted:
    """What all lines of a launch ask of memory."""

    kind: ClassVar = "counted"
    count: str
    """The name of a count, as in ``LineCounts``."""
    size: Size
    per: str = ""
    """Another count that it is divided by, or BLOCK; "" where it is shown as it is."""
    times: int = 1
    """What it is multiplied by."""
    of: str = ""
    """The book's kernel that is counted; "" for the reader's."""


@dataclass(frozen=True)
class Compiled:
    """What the compiler gave to a block (shared memory) or to a thread."""

    kind: ClassVar = "compiled"
    what: Literal["shared_bytes", "registers", "spill_bytes"]
    """All but ``shared_bytes`` is unknown in a page."""
    each: int = 1
    """How many of it make one of the figure, which is a whole number."""
    plus: int = 0
    """What is added to that."""
    of: str = ""
    """The book's kernel that is meant; "" for the reader's."""


@dataclass(frozen=True)
class LeastInPtx:
    """The least whole number that a pattern's group finds in the PTX; -1 where it finds none."""

    kind: ClassVar = "least in PTX"
    pattern: str
    """A regular expression in JavaScript."""
    of: ClassVar = ""


@dataclass(frozen=True)
class Constant:
    """A tile constant of the reader's kernel, and what is added to it."""

    kind: ClassVar = "constant"
    name: str
    plus: int = 0
    of: ClassVar = ""


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


def always(says: str) -> Criteria:
    """Return what asks for nothing more."""
    return Criteria((Case(True, says),))


def per_turn(count: str, size: Size) -> Counted:
    """Return a count of a warp for each of its multiply-adds."""
    return Counted(count, size, "ffma_thread_instructions", WARP)


def no_more(figure: Counted, of: str, many: str, right: str) -> Criteria:
    """Return what asks for a figure no higher than that of ``of``, a kernel of the book.

    The sentences call the figure of the reader's kernel "made", and the book's "enough". ``many``
    is said of a kernel that makes more, ``right`` of one that does not.
    """
    cases = (Case(False, many, "made", above="enough"), Case(True, right))
    return Criteria(cases, {"made": figure, "enough": replace(figure, of=of)})
