"""The intensity widget: sliders over tile constants, and the roof that the tile meets."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from sgemm_lab.formulas.tile import (
    Tile,
    bound,
    global_intensity,
)
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu, Constant, Gpu, complete_constants, complete_gpus


class Intensity(ChoosesGpu, LabWidget):
    """Sliders over tile constants.

    Args:
        constants: the kernel's tile constants, a subset of TILE, BM, BN, BK, TM, TN, see
            :class:`~sgemm_lab.widgets.data.Constant`. What is absent is 1; ``TILE`` stands for
            BM, BN and BK at once.
        gpus: the GPUs to choose from, see :class:`~sgemm_lab.widgets.data.Gpu`. A roof "shared"
            joins the bound where it is given; ``shared_per_block_bytes`` is the limit of a block.
        gpu: id of the GPU to begin with. Default: the first.
        counted: wavefronts that a multiply-add of a warp asks of shared memory and L1, by the
            constants' values joined by commas, such as "64,64,8". What is not there is reckoned as
            if each thread read its fragments once.
        matrix: M, N and K as ``{"m": …, "n": …, "k": …}``. Default: 4096 each.
        predict: cover the answer until the reader has committed to a number.

    State that the reader changes and Python can read or set: ``constants`` (their ``value``),
    ``gpu``, ``guess`` (GFLOP/s or None) and ``revealed``.

    Raises:
        LabError: a setting is out of its range.
    """

    constants: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpus: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    matrix: "traitlets.Dict[str, int]" = traitlets.Dict().tag(sync=True)
    counted: "traitlets.Dict[str, float]" = traitlets.Dict().tag(sync=True)
    predict = traitlets.Bool(False).tag(sync=True)
    guess = traitlets.Float(None, allow_none=True).tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        constants: Sequence[Constant],
        gpus: Sequence[Gpu],
        *,
        gpu: str | None = None,
        matrix: dict[str, int] | None = None,
        counted: Mapping[str, float] | None = None,
        predict: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            constants=complete_constants(constants),
            gpus=complete_gpus(gpus),
            gpu=gpu or gpus[0]["id"],
            matrix=matrix or {"m": 4096, "n": 4096, "k": 4096},
            counted=dict(counted or {}),
            predict=predict,
            **kwargs,
        )

    @property
    def chosen_gpu(self) -> dict[str, Any]:
        """The GPU whose roofs are shown."""
        return next(entry for entry in self.gpus if entry["id"] == self.gpu)

    @property
    def tile(self) -> Tile:
        """The tile that the sliders are at."""
        values = {entry["name"]: entry["value"] for entry in self.constants}
        return Tile.from_constants(values, self.counted)

    def table(self) -> str:
        """Return what the tile reuses and takes as an HTML table."""
        gpu, tile = self.chosen_gpu, self.tile
        rows = [[entry["name"], f"{entry['value']}"] for entry in self.constants]
        rows += [
            ["Shared memory per block", f"{tile.shared_bytes:,} bytes"],
            ["Threads per block", number(tile.threads)],
            ["Sums per thread", f"{tile.accumulators}"],
        ]
        if not self.predict or self.revealed:
            rows += [
                ["Reuse of global memory", f"{number(global_intensity(tile, self.matrix))} FLOP/B"],
                ["Reuse of shared memory", f"{number(tile.thread_intensity)} FLOP/B"],
                ["Bound", f"{number(bound(tile, gpu, self.matrix).gflops)} GFLOP/s"],
            ]
        return html_table(f"The tile on {gpu['name']}", ["Quantity", "Value"], rows)
