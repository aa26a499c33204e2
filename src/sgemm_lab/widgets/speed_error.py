"""Speed over error: every way to multiply as a point, by class of inputs and K."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.error_points import (
    LOST,
    TIMED,
    error_of,
    error_words,
    place_words,
    shown_ways,
)
from sgemm_lab.text import error_text, number, ratio
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import checked_items, checked_text
from sgemm_lab.widgets.error_plot import KERNEL, LIBRARY, STRASSEN, WORDS, Point

KINDS = (KERNEL, LIBRARY, STRASSEN)


class Way(TypedDict):
    """A way to multiply. None where nothing was measured, -1 for an error where C lost values."""

    title: str
    label: str  # what stands beside its mark
    kind: str  # "kernel", "library" or "strassen"
    arithmetic: str  # of its products: "fp32", "tf32", "fp16" or "3xtf32"
    chain: str  # ways of one chain are joined in their order; "" for none
    first: Sequence[bool]  # by size: whether it is shown at once, and not only among all
    tflops: Sequence[float | None]  # by size
    timed: Sequence[float | None]  # the error of the product that was timed, by size
    errors: Sequence[Sequence[float | None]]  # by class of inputs and K


class SpeedError(LabWidget):
    """Points on log-log axes, with switches for inputs, K and size.

    Args:
        ways: what multiplies, see :class:`Way`; the first of the library is cuBLAS in FP32.
        sizes: at which speeds were measured, as they are written.
        classes: words of each class of inputs, by name; the first is that of what was timed.
        lengths: each K at which errors were measured.
        side: rows and columns of C there.
        gpu: where it was measured.
        inputs: the class to begin with. Default: the first.
        k: the K to begin with, or 0 for the error of the product that was timed.
        size: the size to begin with. Default: the first.
        every: whether all ways are shown, and not only the first.
        selected: title of the way in focus, or "".

    The last five are state that the reader changes and Python can read or set.

    Raises:
        LabError: the data or a setting are not as described; the message says what is wrong.
    """

    ways: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    sizes: "traitlets.List[str]" = traitlets.List().tag(sync=True)
    classes: "traitlets.Dict[str, str]" = traitlets.Dict().tag(sync=True)
    lengths: "traitlets.List[int]" = traitlets.List().tag(sync=True)
    side = traitlets.Int().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    words: "traitlets.Dict[str, str]" = traitlets.Dict(WORDS).tag(sync=True)
    inputs = traitlets.Unicode().tag(sync=True)
    k = traitlets.Int().tag(sync=True)
    size = traitlets.Unicode().tag(sync=True)
    every = traitlets.Bool(False).tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        ways: Sequence[Way],
        sizes: Sequence[str],
        classes: Mapping[str, str],
        lengths: Sequence[int],
        side: int,
        gpu: str,
        **state: Any,
    ) -> None:
        if not (sizes and classes and lengths):
            raise LabError("Name at least one size, one class of inputs and one K.")
        found = [
            _checked(way, len(sizes), len(classes), len(lengths))
            for way in checked_items(list(ways), "ways")
        ]
        if not found:
            raise LabError("Name at least one way to multiply.")
        super().__init__(
            ways=found, sizes=list(sizes), classes=dict(classes), lengths=list(lengths), side=side,
            gpu=gpu, inputs=next(iter(classes)), size=sizes[0],
        )  # fmt: skip
        with self.hold_trait_notifications():
            for name, value in state.items():
                setattr(self, name, value)

    @traitlets.validate("inputs", "size", "k")
    def _check_choice(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        choices: dict[str, list[Any]] = {
            "inputs": list(self.classes), "size": self.sizes, "k": [0, *self.lengths],
        }  # fmt: skip
        known = choices[name]
        if value not in known:
            listed = ", ".join(map(str, known))
            raise LabError(f"Nothing was measured at {name} {value!r}. There are {listed}.")
        return value

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        title = str(proposal["value"])
        if title not in {"", *(way["title"] for way in self.ways)}:
            raise LabError(f"There is no way '{title}' on this picture.")
        return title

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The ways that stand on the picture."""
        return [self.ways[i] for i in self._indices]

    @property
    def alt(self) -> str:
        """Which way is the fastest of those that err no more than cuBLAS in FP32."""
        words = error_words(self.ways, self._indices, *self._place)
        return f"{words} {self.about}"

    @property
    def about(self) -> str:
        """Of which products speed and error are."""
        wanted = sum(self.every or way["first"][self._place[0]] for way in self.ways)
        missing = wanted - len(self._indices)
        return place_words(self.size, self.classes[self.inputs], self.k, self.side, missing)

    def table(self) -> str:
        """Return the ways on the picture as an HTML table, the fastest first."""
        size, library = self._place[0], self._library
        rows = []
        for way in sorted(self.shown, key=lambda way: -way["tflops"][size]):
            error = self._error(way)
            beside = "–"
            if LOST not in (error, library) and library:
                beside = ratio(error / library)
            told = "lost values" if error == LOST else error_text(error)
            speed = number(way["tflops"][size])
            rows.append([way["title"], self.words[way["arithmetic"]], speed, told, beside])
        heads = ["Way", "Products in", "TFLOP/s", "Error", "Times cuBLAS FP32's"]
        return html_table(f"{self.about} Measured on {self.gpu}.", heads, rows)

    @property
    def _place(self) -> tuple[int, int, int]:
        """Which size, class of inputs and K are chosen."""
        k = self.lengths.index(self.k) if self.k else TIMED
        return self.sizes.index(self.size), list(self.classes).index(self.inputs), k

    @property
    def _indices(self) -> list[int]:
        return shown_ways(self.ways, *self._place, every=self.every)

    @property
    def _library(self) -> Any:
        return next((self._error(way) for way in self.shown if way["library"]), None)

    def _error(self, way: Mapping[str, Any]) -> Any:
        return error_of(way, *self._place)

    def _point(self, way: Mapping[str, Any]) -> Point:
        error = self._error(way)
        size = self._place[0]
        name, speed = way["label"] if way["first"][size] else "", way["tflops"][size]
        number_of = float("inf") if error == LOST else error
        return Point(name, way["arithmetic"], speed, number_of, way["kind"])


def _checked(way: Any, sizes: int, classes: int, lengths: int) -> dict[str, Any]:
    title = checked_text(way, "title", "A way")
    who = f"The way '{title}'"
    kind, arithmetic = way.get("kind"), way.get("arithmetic")
    if kind not in KINDS:
        raise LabError(f"{who} has kind {kind!r}. There are {', '.join(KINDS)}.")
    if arithmetic not in WORDS:
        raise LabError(f"{who} has arithmetic {arithmetic!r}. There are {', '.join(WORDS)}.")
    errors = [list(of_class) for of_class in way.get("errors", [])]
    if [len(of_class) for of_class in errors] != [lengths] * classes:
        raise LabError(f"{who} needs an error for each class of inputs and each K, or None.")
    found = {key: list(way.get(key, [])) for key in ("first", "tflops", "timed")}
    if any(len(values) != sizes for values in found.values()):
        raise LabError(
            f"{who} needs a speed and an error for each size, or None, and whether it is shown."
        )
    known = [error for of_class in errors for error in of_class] + found["timed"]
    for value in (*found["tflops"], *(error for error in known if error != LOST)):
        if value is not None and not value > 0:
            raise LabError(f"{who} has {value!r} among its speeds and errors: they are above 0.")
    return {
        "title": title,
        "label": checked_text(way, "label", who),
        "library": kind == LIBRARY,
        "kind": kind,
        "arithmetic": arithmetic,
        "chain": str(way.get("chain", "")),
        **found,
        "errors": errors,
    }
