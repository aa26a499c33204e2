"""The occupancy calculator: how many blocks an SM holds at once, and what decides it."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.formulas.occupancy import (
    LIMITS,
    REGISTERS_PER_SM,
    THREADS_PER_BLOCK,
    Fit,
    Launch,
    Limits,
    Resource,
    occupancy,
    refusal,
)
from sgemm_lab.hardware import MAX_REGISTERS
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu

NAMES: dict[Resource, str] = {
    "blocks": "Block slots",
    "warps": "Warp slots",
    "registers": "Registers",
    "shared": "Shared memory",
}


_MOST_SHARED = max(limits.shared_per_block for limits in LIMITS.values())


class Sm(TypedDict):
    """A GPU to choose; its limits follow from its compute capability."""

    id: str
    name: str
    compute_capability: str  # such as "8.0", one of sgemm_lab.formulas.occupancy.LIMITS


class Occupancy(ChoosesGpu, LabWidget):
    """Sliders over what a block takes, and how many blocks an SM holds at once.

    Args:
        gpus: the GPUs to choose from, see :class:`Sm`.
        gpu: id of the GPU to begin with. Default: the first.
        threads: threads per block.
        registers: registers per thread.
        shared: bytes of shared memory per block, static and dynamic together.

    All of them but ``gpus`` are state that the reader changes and Python can read or set. A launch
    that cannot run is a state like others: the widget says what stands in its way.
    """

    threads = traitlets.Int(256, min=1, max=THREADS_PER_BLOCK).tag(sync=True)
    registers = traitlets.Int(32, min=1, max=MAX_REGISTERS).tag(sync=True)
    shared = traitlets.Int(0, min=0, max=_MOST_SHARED).tag(sync=True)

    def __init__(self, gpus: Sequence[Sm], **state: Any) -> None:
        sheets = [{**gpu, **_numbers(LIMITS[gpu["compute_capability"]])} for gpu in gpus]
        super().__init__(sheets, **state)

    @property
    def limits(self) -> Limits:
        """What an SM of the chosen GPU has."""
        return LIMITS[self.chosen_gpu["compute_capability"]]

    @property
    def launch(self) -> Launch:
        """What a block takes."""
        return Launch(self.threads, self.registers, self.shared)

    @property
    def fit(self) -> Fit:
        """What fits on an SM."""
        return occupancy(self.limits, self.launch)

    def table(self) -> str:
        """Return what a block takes, what an SM has and how many blocks fit, as an HTML table."""
        rows = [
            [NAMES[name], f"{takes:,}", f"{has:,}", "no limit" if room is None else f"{room}"]
            for name, takes, has, room in _rows(self.limits, self.launch)
        ]
        heads = ["Resource", "A block takes", "An SM has", "Room for blocks"]
        caption = f"{self.chosen_gpu['name']}, blocks of {plural(self.threads, 'thread')}"
        return html_table(caption, heads, rows)


def _numbers(limits: Limits) -> dict[str, int]:
    """Return the limits of an SM that the widget computes with."""
    names = (
        "blocks_per_sm", "warps_per_sm", "shared_per_sm", "shared_per_block", "shared_reserved",
        "shared_unit",
    )  # fmt: skip
    return {name: getattr(limits, name) for name in names}


def _rows(limits: Limits, launch: Launch) -> list[tuple[Resource, int, int, int | None]]:
    """Return name, what a block takes, what an SM has, and the blocks that there is room for."""
    none: dict[Resource, int | None] = dict.fromkeys(NAMES, 0)
    room = none if refusal(limits, launch) else occupancy(limits, launch).room
    takes = {
        "blocks": 1,
        "warps": launch.warps,
        "registers": launch.warps * launch.warp_registers,
        "shared": launch.shared_taken(limits),
    }
    has = {
        "blocks": limits.blocks_per_sm,
        "warps": limits.warps_per_sm,
        "registers": REGISTERS_PER_SM,
        "shared": limits.shared_per_sm,
    }
    return [(name, takes[name], has[name], room[name]) for name in NAMES]
