"""One SM: its schedulers with their lanes and registers, its shared memory with the 32 banks."""

from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import BANKS
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.rules.occupancy import QUARTERS
from sgemm_lab.text import bytes_text

_QUARTER = (PANEL_WIDTH - 3 * 6) / QUARTERS
_LANE_ROWS = 4


def multiprocessor_panel(title: str, gpu: Gpu, *, says: str = "") -> Output:
    """Return a panel with one SM of a GPU: quarters on top, the memory that they share below."""
    lanes = gpu.fp32_lanes // QUARTERS
    parts: list[str] = []
    for quarter in range(QUARTERS):
        x = quarter * (_QUARTER + 6)
        parts.append(outline(x + 0.5, 0.5, _QUARTER - 1, 133))
        parts.append(words(x + _QUARTER / 2, 16, "scheduler", anchor="middle"))
        parts.append(rectangle(x + 6, 24, _QUARTER - 12, 26, "register", 0.26))
        parts.append(words(x + _QUARTER / 2, 41, "registers", anchor="middle"))
        columns = lanes // _LANE_ROWS
        side = (_QUARTER - 12) / columns
        for lane in range(lanes):
            row, column = divmod(lane, columns)
            parts.append(
                rectangle(x + 6 + column * side, 58 + row * 13, side - 1, 12, "kernel", 0.45)
            )
        parts.append(words(x + _QUARTER / 2, 125, f"{lanes} lanes", anchor="middle"))
    parts.append(words(0, 158, f"shared memory and L1: {BANKS} banks", hue="shared"))
    width = PANEL_WIDTH / BANKS
    parts += [rectangle(bank * width, 164, width - 1, 30, "shared", 0.26) for bank in range(BANKS)]
    described = (
        f"An SM of {gpu.name} has {QUARTERS} schedulers. Each starts one instruction of one warp "
        f"per clock, on {lanes} lanes. Its shared memory, {bytes_text(gpu.shared_per_sm)}, has "
        f"{BANKS} banks."
    )
    return panel(title, drawing(parts, 198, described), described, says)
