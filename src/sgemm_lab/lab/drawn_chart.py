"""The dispatcher at shapes drawn at random: predicted against measured, and what picks cost."""

from functools import cached_property
from statistics import median

from matplotlib.axes import Axes

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.judging import Verdict, by_mode, verdict
from sgemm_lab.lab.output import Picture
from sgemm_lab.records.dispatch_table import DrawnShapes, load_tables
from sgemm_lab.text import percent


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
    for table in load_tables():
        if table.drawn:
            return DrawnPicture(table.gpu.name, table.drawn)
    raise LabError("No drawn shapes are recorded. Run 'sgemm-lab shapes --drawn 100' on a GPU.")
