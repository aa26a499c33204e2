"""Elements of A and B as a hash of their indices, so that any GPU can generate and check any part.

No matrix is sent before a product, and none has to fit on one GPU for a check. NumPy and CuPy give
the same bits: the hash is integer arithmetic, and the conversion to float is exact.
"""

from typing import Any

from sgemm_lab.checking.judge import LEAST_ALLOWED, UNIT_ROUNDOFF
from sgemm_lab.kernel import Size
from sgemm_lab.multi_gpu.plan import Tile

_BAND = 2**22
"""Elements generated at a time, to limit temporary memory."""
_SEEDS = {"A": 0x243F6A88, "B": 0x85A308D3}
"""Digits of pi, so that A and B differ."""
_MIX = ((16, 0x21F0AAAD), (15, 0xD35A2D97))
"""Shifts and factors of a 32-bit hash with low bias. Source: C. Wellons, "Prospecting for hash
functions", 2018, with its later constants."""


def fill(library: Any, out: Any, tile: Tile) -> None:
    """Write a tile's elements, from -0.5 to below 0.5, into an array of rows×columns.

    ``library`` is NumPy or CuPy, the array of float32 or float64, the tile of A or B.
    """
    band = max(1, _BAND // tile.columns)
    for first in range(0, tile.rows, band):
        count = min(band, tile.rows - first)
        rows = library.arange(tile.row + first, tile.row + first + count)
        out[first : first + count] = at(library, tile.matrix, rows, _columns(library, tile))


def at(library: Any, matrix: str, rows: Any, columns: Any) -> Any:
    """Return the float32 elements of A or B at the given rows and columns."""
    x = _mixed(library, rows.astype("uint32") ^ library.uint32(_SEEDS[matrix]))[:, None]
    x = _mixed(library, x ^ (columns.astype("uint32") * library.uint32(0x9E3779B1))[None, :])
    # A float32 represents 24 bits exactly.
    return (x >> library.uint32(8)).astype("float32") * library.float32(2.0**-24) - library.float32(
        0.5
    )


def worst_share(library: Any, c: Any, tile: Tile, size: Size, samples: int = 3) -> float:
    """Return the largest error of sampled rows of a tile of C over the rounding bound.

    The rows, the first and the last among them, are recomputed in float64. The bound is
    K·u·(|A|·|B|) (``checking.judge``). A result above 1 is wrong; it is NaN if C has NaN.
    ``library`` is NumPy or CuPy, the type of ``c`` (rows×columns); ``size`` is of the whole
    product.
    """
    k = size[2]
    places = {part * (tile.rows - 1) // (samples - 1) for part in range(samples)}
    chosen = library.asarray(sorted(places))
    exact = library.zeros((len(chosen), tile.columns), dtype="float64")
    allowed = library.full(exact.shape, LEAST_ALLOWED)
    columns, band = _columns(library, tile), max(1, _BAND // tile.columns)
    for first in range(0, k, band):
        terms = library.arange(first, min(k, first + band))
        a = at(library, "A", tile.row + chosen, terms).astype("float64")
        b = at(library, "B", terms, columns).astype("float64")
        exact += a @ b
        allowed += k * UNIT_ROUNDOFF * (abs(a) @ abs(b))
    return float((abs(c[chosen] - exact) / allowed).max())


def _columns(library: Any, tile: Tile) -> Any:
    return library.arange(tile.column, tile.column + tile.columns)


def _mixed(library: Any, x: Any) -> Any:
    for shift, factor in _MIX:
        x = (x ^ (x >> library.uint32(shift))) * library.uint32(factor)
    return x ^ (x >> library.uint32(15))
