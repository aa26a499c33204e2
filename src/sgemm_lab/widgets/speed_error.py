"""Speed over error: every way to multiply as a point, by class of inputs and K."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.error_points import LOST
from sgemm_lab.text import error_text, number, ratio
from sgemm_lab.widgets.base import LabWidget, html_table

WORDS = {
    "fp32": "FP32",
    "3xtf32": "3 × TF32",
    "3xfp16": "3 × FP16",
    "tf32": "TF32",
    "fp16": "FP16",
}
"""What multiplies, in words."""
KERNEL, LIBRARY, STRASSEN = "kernel", "library", "strassen"
"""Kinds of points: each has a mark of its own."""


class Way(TypedDict):
    """A way to multiply. None where nothing was measured, -1 for an error where C lost values."""

    title: str
    label: str  # the name next to its mark
    kind: str  # "kernel", "library" or "strassen"
    arithmetic: str  # of its products: one of ARITHMETICS
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
        super().__init__(
            ways=[{**way, "library": way["kind"] == LIBRARY} for way in ways],
            sizes=list(sizes),
            classes=dict(classes),
            lengths=list(lengths),
            side=side,
            gpu=gpu,
            inputs=next(iter(classes)),
            size=sizes[0],
        )
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

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The ways that stand on the picture: those whose speed and error are known."""
        size = self.sizes.index(self.size)
        return [
            way
            for way in self.ways
            if (self.every or way["first"][size])
            and way["tflops"][size] is not None
            and self._error(way) is not None
        ]

    def table(self) -> str:
        """Return the ways on the picture as an HTML table, the fastest first."""
        size, library = self.sizes.index(self.size), self._library
        rows = []
        for way in sorted(self.shown, key=lambda way: -way["tflops"][size]):
            error = self._error(way)
            over_library = "–"
            if LOST not in (error, library) and library:
                over_library = ratio(error / library)
            written = "lost values" if error == LOST else error_text(error)
            speed = number(way["tflops"][size])
            rows.append([way["title"], self.words[way["arithmetic"]], speed, written, over_library])
        heads = ["Way", "Products in", "TFLOP/s", "Error", "Times cuBLAS FP32's"]
        k = f"errors at K = {self.k:,}, " if self.k else ""
        caption = f"{self.size}, {k}inputs {self.classes[self.inputs]}, measured on {self.gpu}"
        return html_table(caption, heads, rows)

    @property
    def _library(self) -> Any:
        return next((self._error(way) for way in self.shown if way["library"]), None)

    def _error(self, way: Mapping[str, Any]) -> Any:
        """Return the error of a way: a number, ``LOST``, or None."""
        inputs = list(self.classes).index(self.inputs)
        if self.k:
            return way["errors"][inputs][self.lengths.index(self.k)]
        return way["timed"][self.sizes.index(self.size)] if inputs == 0 else None
