"""The path of a K tile from global into shared memory: through registers, or past them."""

from dataclasses import dataclass

from sgemm_lab.counting.kernel_counts import count
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES, WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, panel, stroke, words

_WINDOWS = 4
"""Windows of the block that is counted."""
_BOX = 34
_STEP = 72
_HALF = 158
"""Width of a box that leaves room beside it for the way past it."""


@dataclass(frozen=True)
class Copies:
    """What a thread does to copy its share of one window, where there is no edge."""

    loads: float
    """Loads from global memory into registers."""
    stores: float
    """Stores from registers into shared memory."""
    direct: float
    """Copies that go past the registers."""
    held: float
    """Registers that hold the window's floats on their way."""


def copy_counts(name: str | Kernel) -> Copies:
    """Return what a thread does to copy its part of a K tile, counted here: ``held`` registers.

    Raises:
        LabError: the kernel does not copy K tiles into shared memory.
    """
    kernel = kernel_of(name)
    tile = kernel.values
    if not {"BM", "BN", "BK"} <= tile.keys():
        raise LabError(f"The kernel '{kernel.name}' copies no windows of BK into shared memory.")
    size = (tile["BM"], tile["BN"], _WINDOWS * tile["BK"])
    total = count(kernel, size).result.counts.total
    warps = _WINDOWS * kernel.launch_shape(*size).threads / WARP
    return Copies(
        loads=total.global_load_requests / warps,
        stores=total.shared_store_requests / warps,
        direct=total.async_copy_requests / warps,
        held=total.global_load_bytes / FLOAT_BYTES / (warps * WARP),
    )


def copy_path(title: str, name: str | Kernel, *, deep: int = 0, says: str = "") -> Output:
    """Draw the path of a K tile into shared memory, and what it costs each thread.

    The counts are those of ``deep`` k, of one K tile if 0; the registers are those of one K tile.
    """
    kernel = kernel_of(name)
    one, tile = copy_counts(kernel), kernel.values["BK"]
    deep = deep or tile
    tiles = deep / tile
    found = Copies(tiles * one.loads, tiles * one.stores, tiles * one.direct, one.held)
    levels = [("L2", "l2"), ("registers", "register"), ("shared memory", "shared")]
    parts = []
    for number, (name, hue) in enumerate(levels):
        width = _HALF if name == "registers" else PANEL_WIDTH - 2
        parts.append(box(1, number * _STEP + 1, width, _BOX, hue, label=name, bold=True))
    if found.loads:
        parts += _arrow(_HALF / 2, _BOX + 1, _STEP + 1, f"{found.loads:g} loads")
        parts += _arrow(_HALF / 2, _STEP + _BOX + 1, 2 * _STEP + 1, f"{found.stores:g} stores")
    if found.direct:
        across = _HALF + (PANEL_WIDTH - _HALF) / 2 - 36
        parts += _arrow(across, _BOX + 1, 2 * _STEP + 1, f"{found.direct:g} copies")
    described = (
        f"For {deep} k a thread makes {found.loads:g} loads into {found.held:g} registers, "
        f"{found.stores:g} stores into shared memory and {found.direct:g} copies past the "
        "registers."
    )
    return panel(title, parts, 2 * _STEP + _BOX + 2, described, says)


def _arrow(x: float, top: float, bottom: float, label: str) -> list[str]:
    line = stroke(f"M{x:g} {top + 2:g}V{bottom - 3:g}m-5 -7l5 7l5 -7", "fg", thick=1.6)
    return [line, words(x + 10, (top + bottom) / 2 + 4, label)]
