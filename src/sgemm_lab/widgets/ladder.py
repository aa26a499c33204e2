"""The ladder widget: every kernel at every recorded size and GPU, compared with cuBLAS."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.text import number, percent, size_text
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu

LIBRARY = "cublas"
"""The name under which cuBLAS stands among kernels."""

_OPTIONAL = {"variant": False, "arithmetic": "", "chapter": "", "href": ""}
_NUMBERS = ("min", "p25", "median", "p75", "max", "cublas")


class Step(TypedDict):
    """A kernel of the ladder."""

    name: str
    title: str
    variant: NotRequired[bool]  # shown on request only; default False
    arithmetic: NotRequired[str]  # a sentence where it is not FP32
    chapter: NotRequired[str]  # where the book explains it, such as "Chapter 2, Tiling"
    href: NotRequired[str]  # that page's address, for readers of the page


class GpuName(TypedDict):
    """A GPU to choose."""

    id: str
    name: str


class Result(TypedDict):
    """The samples of one kernel, or of cuBLAS, at one size on one GPU. GFLOP/s."""

    gpu: str  # id of a GPU
    kernel: str  # name of a step, or LIBRARY
    size: Size  # M, N, K
    samples: int  # how many there are
    min: float
    p25: float
    median: float
    p75: float
    max: float
    cublas: float  # median of cuBLAS in the same arithmetic and run; 0 if not measured
    note: str  # where, when and how it was measured


class Ladder(ChoosesGpu, LabWidget):
    """Kernels as bars in the order of the book.

    Args:
        kernels: the steps in order, see :class:`Step`.
        gpus: the GPUs to choose from, see :class:`GpuName`.
        results: what was measured, see :class:`Result`. Results of other kernels are left out.
        gpu: id of the GPU to begin with. Default: the first.
        size: M, N, K to begin with. Default: the first result's.

    State that the reader changes and Python can read or set: ``gpu``, ``size``, ``measure``
    ("share" or "gflops"), ``variants`` (whether variants are shown) and ``selected`` (name of the
    kernel in focus, or "").
    """

    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    sizes: "traitlets.List[list[int]]" = traitlets.List().tag(sync=True)
    notes: "traitlets.List[str]" = traitlets.List().tag(sync=True)
    rows: "traitlets.List[list[float]]" = traitlets.List().tag(sync=True)
    """Compact results: indices of GPU, kernel (-1: cuBLAS), size and note, the number of samples,
    then min, p25, median, p75, max and cuBLAS's median in GFLOP/s."""
    size: "traitlets.List[int]" = traitlets.List().tag(sync=True)
    measure = traitlets.Enum(["share", "gflops"], "share").tag(sync=True)
    variants = traitlets.Bool(False).tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        kernels: Sequence[Step],
        gpus: Sequence[GpuName],
        results: Sequence[Result],
        *,
        size: Size | None = None,
        **state: Any,
    ) -> None:
        self._results: dict[tuple[str, str, Size], Result] = {}
        super().__init__(gpus, kernels=[{**_OPTIONAL, **step} for step in kernels], **state)
        self._fill(results)
        self.size = list(size or self.sizes[0])

    def _fill(self, results: Sequence[Result]) -> None:
        steps = {step["name"] for step in self.kernels} | {LIBRARY}
        for result in results:
            if result["kernel"] in steps:
                m, n, k = result["size"]
                self._results[result["gpu"], result["kernel"], (m, n, k)] = result
        known = self._results.values()
        sizes = sorted({r["size"] for r in known}, key=lambda s: (len(set(s)) > 1, s))
        notes = list(dict.fromkeys(r["note"] for r in known))
        gpus = [card["id"] for card in self.gpus]
        names = [step["name"] for step in self.kernels]
        rows = [
            [
                gpus.index(r["gpu"]),
                -1 if r["kernel"] == LIBRARY else names.index(r["kernel"]),
                sizes.index(r["size"]),
                notes.index(r["note"]),
                r["samples"],
                *(float(f"{r[key]:.6g}") for key in _NUMBERS),  # type: ignore[literal-required]
            ]
            for r in known
        ]
        self.sizes, self.notes, self.rows = [list(size) for size in sizes], notes, rows

    @traitlets.validate("size")
    def _check_size(self, proposal: Any) -> list[int]:
        size = list(proposal["value"])
        if size not in self.sizes:
            raise LabError(f"Nothing was measured at {size_text(size)}. Choose another size.")
        return size

    @property
    def shown(self) -> list[tuple[dict[str, Any], Result]]:
        """The steps that have a result at the chosen size and GPU, in order."""
        size = (self.size[0], self.size[1], self.size[2])
        return [
            (step, self._results[self.gpu, step["name"], size])
            for step in self.kernels
            if (self.variants or not step["variant"])
            and (self.gpu, step["name"], size) in self._results
        ]

    def table(self) -> str:
        """Return the speeds at the chosen size and GPU as an HTML table."""
        size = (self.size[0], self.size[1], self.size[2])
        pairs = [(step["title"], result) for step, result in self.shown]
        library = self._results.get((self.gpu, LIBRARY, size))
        if library:
            pairs.append(("cuBLAS", library))
        rows = [
            [
                title,
                number(r["median"]),
                f"{number(r['min'])} to {number(r['max'])}",
                f"{number(r['p25'])} to {number(r['p75'])}",
                str(r["samples"]),
                percent(r["median"] / r["cublas"]) if r["cublas"] else "–",
            ]
            for title, r in pairs
        ]
        heads = ["Kernel", "GFLOP/s, median", "all samples", "middle half", "samples", "of cuBLAS"]
        notes = " ".join(dict.fromkeys(r["note"] for _, r in pairs))
        return html_table(f"{size_text(size)} on {self.chosen_gpu['name']}. {notes}", heads, rows)
