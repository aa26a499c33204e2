"""Which tiles of C are computed at the same time, and what they need of A and of B."""

from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PALE, outline, panel, rectangle, stroke, words

_SIDE, _DEEP, _LEFT, _TOP = 180, 30, 30, 6
"""px: of C, of the drawn part of K, left of A, above B."""
_X, _Y = _LEFT + _DEEP + 14, _TOP + _DEEP + 14


def _first_tiles(kernel: Kernel, size: int, sms: int) -> set[tuple[int, int]]:
    """Return the first tile of each SM as row and column, in the order of ``wgmma_tf32``."""
    values = kernel.values
    band, cluster = values.get("BAND", 1), values.get("CLUSTER", 1)
    down, across = -(-size // values["BM"]), -(-size // (values["BN"] * cluster))
    found = set()
    for tile in range(min(sms // cluster, down * across)):
        top = tile // (band * across) * band
        column, row = divmod(tile - top * across, min(band, down - top))
        found |= {(top + row, column * cluster + block) for block in range(cluster)}
    return found


def tiles_at_once(title: str, name: str | Kernel, size: int, sms: int) -> Output:
    """Draw the tiles that the SMs compute first, and what they need of A and B.

    Args:
        name: a kernel with one block per SM, and tiles in rows or in bands (``BAND``).
        size: M = N = K.
    """
    kernel = kernel_of(name)
    tiles = _first_tiles(kernel, size, sms)
    high, wide = (kernel.values[side] * _SIDE / size for side in ("BM", "BN"))
    rows, columns = ({tile[axis] for tile in tiles} for axis in (0, 1))
    parts = [words(_LEFT - 18, _Y + 12, "A", bold=True), words(_X - 18, _TOP + 12, "B", bold=True)]
    parts += [rectangle(_LEFT, _Y + row * high, _DEEP, high, "l2", 0.6) for row in sorted(rows)]
    parts += [rectangle(_X + at * wide, _TOP, wide, _DEEP, "l2", 0.6) for at in sorted(columns)]
    parts += [rectangle(_X + column * wide, _Y + row * high, wide, high, "register")
              for row, column in sorted(tiles)]  # fmt: skip
    band = kernel.values.get("BAND", 1)
    edges = range(band, size // kernel.values["BM"], band) if band > 1 else ()
    parts += [stroke(f"M{_X} {_Y + row * high:g}h{_SIDE}", "muted", dashed=True) for row in edges]
    for x, y, across, down in ((_LEFT, _Y, _DEEP, _SIDE), (_X, _TOP, _SIDE, _DEEP)):
        parts += [rectangle(x, y, across, down, "l2", PALE / 2), outline(x, y, across, down)]
    parts += [outline(_X, _Y, _SIDE, _SIDE), words(_X + _SIDE + 8, _Y + 12, "C", bold=True)]
    needed = len(rows) * kernel.values["BM"], len(columns) * kernel.values["BN"]
    described = f"{len(tiles)} tiles of C, and what they need of A and B."
    says = f"**{needed[0]:,}** rows of A and **{needed[1]:,}** columns of B"
    return panel(title, parts, _Y + _SIDE + 4, described, says)
