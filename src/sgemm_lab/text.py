"""Numbers, sizes and tables as the book writes them, in HTML, in plain text and in pictures."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal


def number(value: float) -> str:
    """Return a number as the book writes it, to three digits: 63,700 and 15.2 and 0.25."""
    if not math.isfinite(value):
        return str(value)
    rounded = rounded_to(value, 3) if abs(value) < 100 else math.floor(value + 0.5)
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def rounded_to(value: float, digits: int) -> float:
    """Return a number to so many significant digits; halves go up, as in JavaScript."""
    exact = Decimal(value)
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float(exact.quantize(place, ROUND_HALF_UP))


def ratio(times: float) -> str:
    """Return how many times as much something is, to two digits."""
    return number(rounded_to(times, 2))


def percent(share: float) -> str:
    """Return a share such as 0.123 as "12 %", small ones with two digits."""
    if abs(share) >= 0.1:
        return f"{math.floor(100 * share + 0.5)} %"
    return f"{rounded_to(100 * share, 2):g} %"


def plural(count: int, word: str) -> str:
    """Return a count with its word: "1 wavefront", "2 wavefronts"."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def size_text(size: Sequence[int]) -> str:
    """Write a size: 4096³ for a cube, 1000×999×37 otherwise."""
    m, n, k = size
    return f"{m}³" if m == n == k else f"{m}×{n}×{k}"


def bytes_text(count: float) -> str:
    """Write bytes in powers of 1024."""
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:,.4g} {unit}"
        count /= 1024
    return f"{count:,.4g} GB"


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: int) -> str:
    """Return a table for a terminal; columns from index ``numbers`` on stand to the right."""
    texts = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(heads))]
    lines = (
        "  ".join(
            cell.rjust(width) if i >= numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    )
    return "\n".join(line for line in lines if line)
