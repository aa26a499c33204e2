"""``matmul`` and other libraries' FP32 products: at squares, forty fixed and drawn shapes."""

from collections import Counter
from statistics import geometric_mean

from matplotlib.axes import Axes

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.lab.output import Picture
from sgemm_lab.records.gpu_record import CUBLAS, MATMUL
from sgemm_lab.records.others import COMPARISONS, ComparedShape, Comparison
from sgemm_lab.text import percent

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
        LabError: no run of ``sgemm-lab others`` on such a GPU is recorded.
    """
    for run in COMPARISONS.load_all():
        if gpu in run.gpu.name:
            return OtherLibraries(run)
    raise LabError("Other libraries are not recorded. Run 'sgemm-lab others' on a GPU.")
