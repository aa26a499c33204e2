"""One SM: its schedulers with the warps of the blocks on it, registers, lanes, and its banks."""

from sgemm_lab.formulas.occupancy import QUARTERS
from sgemm_lab.hardware import BANKS, WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.records.gpu_record import Device
from sgemm_lab.text import bytes_text, plural

_QUARTER = (PANEL_WIDTH - 3 * 6) / QUARTERS
_LANE_ROWS = 2
_BLOCK_ROW = 14
_NUMBER = 12


def multiprocessor_panel(
    title: str,
    device: Device,
    lanes: int,
    kernel: Kernel,
    size: Size,
    blocks: int,
    *,
    says: str = "",
) -> Output:
    """Return a panel with one SM of a GPU: quarters on top, the memory that they share below.

    The SM holds ``blocks`` blocks of a kernel. "An SM statically distributes its warps among its
    schedulers" (CUDA C++ Programming Guide, "Compute Capabilities"): here in equal numbers.
    """
    warps = -(-kernel.launch_shape(*size).threads // WARP)
    lanes //= QUARTERS
    top = 24 + 18 + blocks * _BLOCK_ROW
    parts: list[str] = []
    for quarter in range(QUARTERS):
        x = quarter * (_QUARTER + 6)
        middle = x + _QUARTER / 2
        dealt = len(range(quarter, warps, QUARTERS))
        parts.append(outline(x + 0.5, 0.5, _QUARTER - 1, top + 80))
        parts.append(words(middle, 16, "scheduler", anchor="middle"))
        parts += _blocks_drawn(x + 6, 26, blocks, dealt)
        parts.append(words(middle, top - 6, plural(blocks * dealt, "warp"), anchor="middle"))
        parts.append(rectangle(x + 6, top + 3, _QUARTER - 12, 26, "register", 0.26))
        parts.append(words(middle, top + 20, "registers", anchor="middle"))
        columns = lanes // _LANE_ROWS
        side = (_QUARTER - 12) / columns
        for lane in range(lanes):
            row, column = divmod(lane, columns)
            left, y = x + 6 + column * side, top + 37 + row * 10
            parts.append(rectangle(left, y, side - 1, 9, "kernel", 0.45))
        parts.append(words(middle, top + 72, f"{lanes} lanes", anchor="middle"))
    below = top + 102
    parts.append(words(0, below, f"shared memory and L1: {BANKS} banks", hue="shared"))
    width = PANEL_WIDTH / BANKS
    parts += [
        rectangle(bank * width, below + 6, width - 1, 22, "shared", 0.26) for bank in range(BANKS)
    ]
    described = (
        f"An SM of {device.name} has {QUARTERS} schedulers. Each starts one instruction of one "
        f"warp per clock, on {lanes} lanes. It holds {plural(blocks, 'block')} of {kernel.name} at "
        f"once, of {plural(warps, 'warp')} each, dealt out to the schedulers. Its shared memory, "
        f"{bytes_text(device.shared_per_sm)}, has {BANKS} banks."
    )
    return panel(title, drawing(parts, below + 31, described), described, says)


def _blocks_drawn(x: float, y: float, blocks: int, warps: int) -> list[str]:
    """Return one row for each block: its number, and a square for each of its warps here."""
    parts: list[str] = []
    side = (_QUARTER - 12 - _NUMBER) / max(warps, 1)
    for block in range(blocks):
        top = y + block * _BLOCK_ROW
        parts.append(words(x, top + 11, f"{block + 1}", hue="focus", bold=True))
        parts += [
            rectangle(x + _NUMBER + warp * side, top, side - 2, 12, "focus", 0.35)
            for warp in range(warps)
        ]
    return parts
