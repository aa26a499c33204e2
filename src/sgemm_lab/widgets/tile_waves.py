"""Waves of tiles: which SM works when, and how much of the SMs' time a size leaves unused."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypedDict

import traitlets

from sgemm_lab.formulas.wave_quantization import LARGEST, SMALLEST, Product
from sgemm_lab.simulator.formulas import tile_distribution
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu

_TABLE_SIZES = (256, 512, 1024, 2048, 3072, 4096, 5120, 8192)


class Chip(TypedDict):
    """A GPU to choose."""

    id: str
    name: str
    sms: int


class TiledKernel(TypedDict):
    """A kernel whose tile can be chosen, with its measured speeds, if there are any."""

    name: str
    bm: int
    bn: int
    bk: int
    even: bool  # it gives every SM the same number of K tiles (Stream-K)
    gpu: str  # id of the GPU that the speeds are of, or ""
    speeds: list[tuple[int, float]]  # M = N = K up to 8192, and GFLOP/s
    note: str  # where and when they were measured


class TileWaves(ChoosesGpu, LabWidget):
    """The tiles of a square product on the SMs of a GPU, wave after wave.

    Args:
        gpus: the GPUs to choose from, see :class:`Chip`.
        kernels: the kernels whose tiles can be chosen, see :class:`TiledKernel`.
        gpu: id of the GPU to begin with. Default: the first.
        kernel: name of the kernel to begin with. Default: the first.
        size: M = N = K, 64 to 8192.

    All of them but ``gpus`` and ``kernels`` are state that the reader changes and Python can read
    or set. The model is ``formulas.wave_quantization``.
    """

    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    kernel = traitlets.Unicode().tag(sync=True)
    size = traitlets.Int(4096, min=SMALLEST, max=LARGEST).tag(sync=True)

    def __init__(self, gpus: Sequence[Chip], kernels: Sequence[TiledKernel], **state: Any) -> None:
        super().__init__(gpus, **{"kernels": list(kernels), "kernel": kernels[0]["name"], **state})

    @property
    def tile(self) -> dict[str, Any]:
        """The kernel chosen."""
        return next(one for one in self.kernels if one["name"] == self.kernel)

    def product(self, size: int, *, even: bool = False) -> Product:
        """Return the product of M = N = K = ``size``, cut into tiles as chosen, or for even shares.

        Of even shares, the K tile is that of the kernel that has them and the same tile of C.
        """
        same = [one for one in self.kernels if one["even"] and even]
        sides = itemgetter("bm", "bn")
        tile = next((one for one in same if sides(one) == sides(self.tile)), self.tile)
        return Product(size, size, size, tile["bm"], tile["bn"], tile["bk"])

    def table(self) -> str:
        """Return what becomes of some sizes as an HTML table."""
        rows = []
        for size in sorted({*_TABLE_SIZES, self.size}):
            product = self.product(size)
            data_parallel = tile_distribution(product, self.chosen_gpu["sms"])
            even = self.product(size, even=True)
            stream_k = tile_distribution(even, self.chosen_gpu["sms"], stream_k=True)
            rows.append(
                [
                    f"{size:,}", f"{product.tiles:,}",
                    f"{data_parallel['waves']:,}", f"{data_parallel['last']:,}",
                    f"{data_parallel['useful']:.1%}", f"{stream_k['useful']:.1%}",
                ]
            )  # fmt: skip
        heads = [
            "M = N = K", "Tiles", "Whole waves", "Tiles in the last", "Used, whole tiles",
            "Used, even split of K",
        ]  # fmt: skip
        return html_table("Share of the time of all SMs that makes elements of C", heads, rows)
