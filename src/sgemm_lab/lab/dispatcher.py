"""The dispatcher: its choice, what wrong picks cost, and its speed beside other libraries."""

from collections import Counter
from functools import cached_property
from statistics import geometric_mean, median
from typing import Any

from matplotlib.axes import Axes

import sgemm_lab
from sgemm_lab import style
from sgemm_lab.catalogue import book_kernel, load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import MOST
from sgemm_lab.gemm.dispatch.judging import Verdict, by_mode, verdict
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import AnySize, size_of, without_tool
from sgemm_lab.lab.output import Picture
from sgemm_lab.records.dispatch_table import DrawnShapes, TimeModelFit, load_tables
from sgemm_lab.records.gpu_record import CUBLAS, MATMUL
from sgemm_lab.records.other_libraries import COMPARISONS, ComparedShape, Comparison
from sgemm_lab.text import percent
from sgemm_lab.widgets.kernel_choice import Candidate, FittedGpu, KernelChoice


@without_tool
def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    error: float | str | None = None,
    workspace: int | None = None,
) -> Any:
    """Return a·b of two float32 CuPy arrays, by the book's fastest kernel for their size.

    See ``sgemm_lab.matmul`` for arrays, errors, copies and streams.
    """
    return sgemm_lab.matmul(a, b, out, error=error, workspace=workspace)


_LEFT_OUT = ("BM", "BN", "WM", "WN", "TM", "TN", "BK", "STAGES", "UNROLL", "RESIDENT", "BLOCKS")
"""Constants that a label leaves out where it names a tile."""
_WORDS = {
    "SPLIT": "K in {} parts",
    "PARTS": "K in {} parts",
    "BLOCKS": "{} blocks per SM",
    "BAND": "bands of {} tiles",
    "STAGES": "{} stages",
}
"""What a constant of more than 1 is called in a label."""


def _label(name: str) -> str:
    """Return a short label of a candidate: kernel, tile, and how many parts K has."""
    kernel = load_kernel(name)
    base = load_kernel(kernel.base_name)
    values = kernel.values
    tile = f" {values['BM']}×{values['BN']}" if {"BM", "BN"} <= values.keys() else ""
    others = [
        f", {_words(constant, value)}"
        for constant, value in values.items()
        if not (tile and constant in _LEFT_OUT)
        and (value != base.values[constant] or constant == "SPLIT")
        and (constant, value) != ("SPLIT", 1)
    ]
    return f"{kernel.base_name}{tile}{''.join(others)}"


def _words(constant: str, value: int) -> str:
    if constant not in _WORDS:
        return f"{constant} {value}"
    words = _WORDS[constant].format(value)
    return words.replace("blocks", "block") if value == 1 else words


_CONSTANTS = ("BM", "BN", "BK", "SPLIT", "BLOCKS", "WORTH", "TM", "PARTS", "WARPS")
"""The constants that the model reads."""


def kernel_choice(size: AnySize = 1024, shown: str = "") -> KernelChoice:
    """Draw the predicted times of the candidates of ``matmul``, at M, N and K that sliders set.

    Args:
        size: to begin with.
        shown: whose terms are shown first, without constants; "": those of the pick.

    Raises:
        LabError: no record has a model of time, or the size is too large.
    """
    gpus = []
    for tuned in load_tables():
        found = tuned.model.fits if tuned.model else ()
        fits = [(kernel, fit) for fit in found if (kernel := book_kernel(fit.kernel))]
        candidates = [_candidate(*each) for each in fits]
        if candidates:
            gpu = tuned.gpu
            gpus.append(FittedGpu(id=gpu.name, name=gpu.name, sms=gpu.sms, candidates=candidates))
    if not gpus:
        raise LabError("No record has a model of time. Run 'sgemm-lab tune' on a GPU.")
    m, n, k = size_of(size)
    return KernelChoice(gpus, m=m, n=n, k=k, kernel=shown)


def _candidate(kernel: Kernel, fit: TimeModelFit) -> Candidate:
    return Candidate(
        name=kernel.name,
        label=_label(kernel.name),
        kernel=kernel.base_name,
        values={name: kernel.values[name] for name in _CONSTANTS if name in kernel.values},
        resident=fit.resident,
        clusters=fit.clusters or 0,
        most=list(MOST.get(kernel.base_name, ())),
        aligned=list(fit.aligned),
        other=list(fit.other),
    )


class DrawnPicture(Picture):
    """Predicted against measured time of the picked kernel, a point for each drawn shape."""

    def __init__(self, gpu: str, run: DrawnShapes) -> None:
        """Draw a run."""
        self.gpu, self.run = gpu, run
        super().__init__(self._draw, f"Drawn shapes on {gpu}", self._words(), (5.0, 3.4), 3.4)

    @cached_property
    def verdict(self) -> Verdict:
        """The statistics of the run."""
        return verdict(self.run.shapes)

    @cached_property
    def tuned(self) -> dict[str, Verdict]:
        """The statistics of the other modes of ``tune``, by mode."""
        return {mode: verdict(shapes) for mode, shapes in by_mode(self.run.tuned).items()}

    def _words(self) -> str:
        off = [abs(one.seconds / one.predicted_seconds - 1)
               for one in self.run.shapes if one.predicted_seconds]  # fmt: skip
        return (
            f"The model predicts what it has not seen: half of {len(off)} shapes drawn at random "
            f"are predicted within {percent(median(off))}. The time of the kernel that is picked, "
            f"measured on {self.gpu}, seed {self.run.seed}."
        )

    def _draw(self, ax: Axes, _phone: bool) -> None:
        pairs = [
            (one.predicted_seconds * 1e6, one.seconds * 1e6)
            for one in self.run.shapes
            if one.predicted_seconds
        ]
        ends = [min(map(min, pairs)), max(map(max, pairs))]
        ax.plot(ends, ends, color=style.GRID, linewidth=1)
        ax.plot(*zip(*pairs, strict=True), "o", color=style.LEVEL_COLOURS["dram"], markersize=4)
        ax.set(xscale="log", yscale="log", xlabel="predicted µs", ylabel="measured µs")
        ax.set_title("on the line: as predicted")


def drawn_shapes() -> DrawnPicture:
    """Draw predicted against measured times of the dispatcher at shapes drawn at random.

    ``drawn_shapes().verdict`` has the statistics, ``tuned`` those of tuning on first use.

    Raises:
        LabError: no GPU of the records has such a run.
    """
    for tuned in load_tables():
        if tuned.drawn:
            return DrawnPicture(tuned.gpu.name, tuned.drawn)
    raise LabError("No drawn shapes are recorded. Run 'sgemm-lab shapes --drawn 100' on a GPU.")


TITLES = {
    MATMUL: "this book's matmul",
    CUBLAS: "cuBLAS",
    "cublaslt": "cuBLASLt",
    "torch": "PyTorch",
    "triton": "Triton",
    "jax": "JAX",
    "cutlass": "CUTLASS",
    "salykova": "salykova",
    "siboehm": "siboehm",
}

_CLOSE = 0.02
"""Products within this part of the fastest count as the fastest too."""


class OtherLibraries(Picture):
    """The speed of each library relative to cuBLAS: a point for each shape."""

    def __init__(self, run: Comparison) -> None:
        """Draw a run."""
        self.run = run
        self.shapes = (*run.squares, *run.forty, *run.drawn)
        self.names = [
            name
            for name in TITLES
            if name != CUBLAS and any(name in s.seconds for s in self.shapes)
        ]
        words = (
            f"matmul makes {self._mean(run.squares)} of cuBLAS at the squares"
            + (f", {self._mean(run.forty)} at forty fixed shapes" if run.forty else "")
            + f" and {self._mean(run.drawn)} at the drawn ones, geometric means. "
            f"{self._winners()} Measured in turns on {run.gpu.name}."
        )
        height = 0.6 * len(self.names) + 1.0
        title = "FP32 products of other libraries"
        super().__init__(self._draw, title, words, (6.0, height), height)

    @property
    def fastest(self) -> Counter[str]:
        """At how many shapes each product is the fastest, or as fast but for 2 %."""
        return Counter(
            name
            for shape in self.shapes
            for name, seconds in shape.seconds.items()
            if seconds * (1 - _CLOSE) <= min(shape.seconds.values())
        )

    def mean(self, name: str, shapes: tuple[ComparedShape, ...]) -> float:
        """Return the geometric mean of a product's speed relative to cuBLAS."""
        return geometric_mean(shape.share(name) for shape in shapes if name in shape.seconds)

    def _mean(self, shapes: tuple[ComparedShape, ...]) -> str:
        return percent(self.mean(MATMUL, shapes))

    def _winners(self) -> str:
        counts = ", ".join(f"{TITLES[name]} {self.fastest[name]}" for name in (*self.names, CUBLAS))
        return f"Fastest of {len(self.shapes)} shapes, or within 2 % of it: {counts}."

    def _draw(self, ax: Axes, _phone: bool) -> None:
        ax.axvline(1, color=style.CUBLAS, linewidth=1)
        runs = (
            (self.run.squares, "s", 0.22), (self.run.forty, "^", 0), (self.run.drawn, "o", -0.22),
        )  # fmt: skip
        for row, name in enumerate(reversed(self.names)):
            for shapes, marker, offset in runs:
                found = [shape.share(name) for shape in shapes if name in shape.seconds]
                colour = style.KERNEL if name == MATMUL else style.MUTED
                ax.plot(found, [row + offset] * len(found), marker, color=colour, markersize=4)
        ax.set_yticks(range(len(self.names)), [TITLES[name] for name in reversed(self.names)])
        ax.set_ylim(-0.5, len(self.names) - 0.3)
        forty = "▲ forty  " if self.run.forty else ""
        ax.set_title(f"■ squares  {forty}● drawn")
        ax.set_xlabel("speed over cuBLAS's")


def other_libraries(gpu: str = "") -> OtherLibraries:
    """Draw FP32 products of other libraries beside ``matmul`` and cuBLAS.

    Args:
        gpu: part of the GPU's name, such as "H100". Default: the chapters' own.

    Raises:
        LabError: no run of ``sgemm-lab other-libraries`` on such a GPU is recorded.
    """
    for run in COMPARISONS.load_all():
        if gpu in run.gpu.name:
            return OtherLibraries(run)
    raise LabError("Other libraries are not recorded. Run 'sgemm-lab other-libraries' on a GPU.")
