"""The tiles of a product on several GPUs: what each multiplies in which round, and what travels."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table

GPU_HUES = ("dram", "shared", "l2", "register")
"""Hues of GPUs 0 to 3; with more they repeat, and the number tells GPUs apart."""

Rectangle4 = tuple[int, int, int, int]
"""First row, first column, rows, columns."""


class PlacedProduct(TypedDict):
    """What a GPU multiplies in a round: a tile of A by one of B into one of C."""

    gpu: int
    a: Rectangle4
    b: Rectangle4
    c: Rectangle4


class PlacedTransfer(TypedDict):
    """A tile that travels in a round."""

    source: int
    to: int
    matrix: str  # "A" or "B"
    tile: Rectangle4
    bytes: int


class PlacedRound(TypedDict):
    """What happens at once."""

    products: list[PlacedProduct]
    transfers: list[PlacedTransfer]


class PlacedPlan(TypedDict):
    """A plan as it is drawn."""

    label: str
    size: int  # M = N = K
    grid: tuple[int, int]  # rows and columns of GPUs
    rounds: list[PlacedRound]


class GpuTiles(LabWidget):
    """Plans for several GPUs, round by round, with the bytes that each link has carried.

    Args:
        plans: the plans to choose from, see :class:`PlacedPlan`; at most 9 GPUs each.
        plan: the index of the one to begin with.
        round: the round to begin with, from 0.

    ``plan`` and ``round`` are state that the reader changes and Python can read or set.
    """

    plans: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    plan = traitlets.Int(0, min=0).tag(sync=True)
    round = traitlets.Int(0, min=0).tag(sync=True)
    hues = traitlets.List(traitlets.Unicode(), list(GPU_HUES)).tag(sync=True)

    def __init__(self, plans: Sequence[PlacedPlan], **state: Any) -> None:
        super().__init__(plans=list(plans), **state)

    @property
    def chosen(self) -> dict[str, Any]:
        """The plan chosen."""
        return self.plans[self.plan]

    @property
    def shown(self) -> int:
        """The round shown: the last, where the plan chosen has fewer than ``round``."""
        return min(self.round, len(self.chosen["rounds"]) - 1)

    def carried(self) -> dict[tuple[int, int], int]:
        """Return the bytes that each link, from a GPU to a GPU, has carried up to this round."""
        found: dict[tuple[int, int], int] = {}
        for one in self.chosen["rounds"][: self.shown + 1]:
            for moved in one["transfers"]:
                link = moved["source"], moved["to"]
                found[link] = found.get(link, 0) + moved["bytes"]
        return found

    def table(self) -> str:
        """Return the bytes that each link has carried as an HTML table."""
        under_way = {(t["source"], t["to"]) for t in self.chosen["rounds"][self.shown]["transfers"]}
        rows = [
            [f"GPU {source}", f"GPU {to}", number(moved / 1e6),
             "yes" if (source, to) in under_way else "no"]
            for (source, to), moved in sorted(self.carried().items())
        ]  # fmt: skip
        heads = ["From", "To", "MB so far", "Under way in this round"]
        return html_table(f"{self.chosen['label']}, after round {self.shown + 1}", heads, rows)
