"""A product on very many GPUs, on paper: how efficient it is with how many, and with which link."""

from typing import Any

import traitlets

from sgemm_lab.simulator.formulas import OnPaper, on_paper
from sgemm_lab.text import number, percent
from sgemm_lab.widgets.base import LabWidget, html_table

SIZES = (8192, 16384, 32768, 65536, 131072, 262144)
GPUS = (4, 16, 64, 256, 1024, 4096, 16384)
COPIES = (2, 4, 8, 16)
GBS = (12.5, 25.0, 50.0, 100.0, 200.0, 400.0)
MICROSECONDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


class ManyGpus(LabWidget):
    """The efficiency of the 2-D and the 2.5-D layout by the number of GPUs.

    Args:
        tflops: what each GPU multiplies with, measured.
        note: where that comes from.
        size: M = N = K; one of ``SIZES``.
        gpus: one of ``GPUS``.
        copies: of A and B in the 2.5-D layout; one of ``COPIES``.
        gbs: GB/s of each GPU's link, assumed; one of ``GBS``.
        microseconds: until a transfer flows, assumed; one of ``MICROSECONDS``.

    All but the first two are state that the reader changes and Python can read or set.
    """

    tflops = traitlets.Float().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    size = traitlets.Enum(SIZES, 65536).tag(sync=True)
    gpus = traitlets.Enum(GPUS, 1024).tag(sync=True)
    copies = traitlets.Enum(COPIES, 4).tag(sync=True)
    gbs = traitlets.Enum(GBS, 50.0).tag(sync=True)
    microseconds = traitlets.Enum(MICROSECONDS, 20.0).tag(sync=True)
    size_choices = traitlets.List(traitlets.Int(), list(SIZES)).tag(sync=True)
    gpus_choices = traitlets.List(traitlets.Int(), list(GPUS)).tag(sync=True)
    copies_choices = traitlets.List(traitlets.Int(), list(COPIES)).tag(sync=True)
    gbs_choices: "traitlets.List[float]" = traitlets.List(list(GBS)).tag(sync=True)
    microseconds_choices: "traitlets.List[float]" = traitlets.List(list(MICROSECONDS)).tag(
        sync=True
    )

    def __init__(self, tflops: float, note: str = "", **state: Any) -> None:
        super().__init__(tflops=tflops, note=note, **state)

    def reckoned(self, gpus: int, copies: int) -> OnPaper:
        """Return what so many GPUs make of it, with so many copies; 1 is the 2-D layout."""
        return on_paper(self.size, gpus, copies, *self._machine)

    def table(self) -> str:
        """Return the efficiency and the time by the number of GPUs as an HTML table."""
        rows = []
        for gpus in GPUS:
            plain = self.reckoned(gpus, 1)
            row = [f"{gpus:,}", number(1e3 * plain.seconds), percent(plain.efficiency), "–", "–"]
            if gpus >= self.copies**3:  # with fewer a layer has no step
                found = self.reckoned(gpus, self.copies)
                row[3:] = [number(1e3 * found.seconds), percent(found.efficiency)]
            rows.append(row)
        heads = ["GPUs", "2-D, ms", "efficiency", f"2.5-D, {self.copies} copies, ms", "efficiency"]
        return html_table(f"{self.size:,}³ by the number of GPUs, on paper", heads, rows)

    @property
    def _machine(self) -> tuple[float, float, float]:
        return 1e-6 * self.microseconds, 1e9 * self.gbs, 1e12 * self.tflops
