"""Where rows of a tile lie in the banks of shared memory: padded, and with the swizzle of TMA."""

from collections.abc import Sequence

from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, drawing, outline, panel, rectangle, words
from sgemm_lab.lab.pictures.matrices import PALE, cells_drawn
from sgemm_lab.simulator.formulas import shared_wavefronts
from sgemm_lab.text import plural

PIECES = 8
"""Pieces of 16 bytes in a row of 128, and rows that ``wgmma`` reads at a time."""
_PIECE_BANKS = 4
"""Banks that a piece fills."""
_SHOWN = 2
"""The piece that is read."""
_LEFT, _TOP, _ROW = 44, 38, 20


def swizzle(title: str, *, swizzled: bool) -> Output:
    """Draw 8 rows of a K tile in shared memory; one piece of each row is read at a time.

    Args:
        title: of the panel.
        swizzled: whether row r keeps piece q at place q ^ r, as the 128-byte swizzle does.
    """
    wide = (PANEL_WIDTH - _LEFT) / PIECES
    parts = [words(_LEFT, 12, "banks", hue="muted")]
    parts += [
        words(_LEFT + (place + 0.5) * wide, 30, f"{_PIECE_BANKS * place}–", anchor="middle")
        for place in range(PIECES)
    ]
    read = []
    for row in range(PIECES):
        y = _TOP + row * _ROW
        parts.append(words(_LEFT - 6, y + 14, f"row {row}", anchor="end"))
        for place in range(PIECES):
            piece = place ^ row if swizzled else place
            x = _LEFT + place * wide
            if piece == _SHOWN:
                read.append(place)
                parts.append(rectangle(x + 1, y + 1, wide - 2, _ROW - 2, "shared"))
            parts.append(outline(x + 1, y + 1, wide - 2, _ROW - 2))
            hue = "bg" if piece == _SHOWN else "fg"
            middle = x + wide / 2
            parts.append(
                words(middle, y + 14, f"{piece}", hue=hue, anchor="middle", bold=piece == _SHOWN)
            )
    waves = max(read.count(place) for place in read)
    banks = _PIECE_BANKS * len(set(read))
    described = f"Piece {_SHOWN} of {PIECES} rows lies in {banks} banks."
    says = f"Piece {_SHOWN} of all rows: {banks} banks, **{plural(waves, 'wavefront')}**"
    return panel(title, drawing(parts, _TOP + PIECES * _ROW + 4, described), described, says)


def padded_rows(lengths: Sequence[int]) -> dict[str, Output]:
    """Draw a tile of 32 × 32 floats in the banks, for several lengths of a row, for ``frames``.

    What exceeds 32 of a row's words is padding. A warp reads one column, a word of each row.
    """
    lines = max(lengths)
    return {f"{length} words": _rows_of(length, lines) for length in lengths}


def _rows_of(length: int, lines: int) -> Output:
    """Draw the rows of a tile one after the other, 32 words on each of at most so many lines."""
    cell, bar, top = (PANEL_WIDTH - _LEFT) / BANKS, 32, 60
    column = [row * length for row in range(BANKS)]
    even = [first + word for first in column[::2] for word in range(BANKS)]
    odd = [first + word for first in column[1::2] for word in range(BANKS)]
    unused = [first + word for first in column for word in range(BANKS, length)]
    parts = [words(0, bar - 6, "bank")]
    parts += [
        words(_LEFT + (bank + 0.5) * cell, bar - 6, f"{bank}", anchor="middle")
        for bank in range(0, BANKS, 4)
    ]
    parts += [
        words(0, top + row * length // BANKS * cell + 9, f"row {row}") for row in (0, 8, 16, 24)
    ]
    for some, hue, opacity in (
        (even, "shared", PALE),
        (odd, "shared", PALE / 2),
        (unused, "line", 0.5),
        (column, "shared", 1.0),
    ):
        places = (divmod(word, BANKS) for word in some)
        parts.append(cells_drawn(places, _LEFT, top, cell, cell, hue, opacity))
    used = {word % BANKS for word in column}
    parts += [words(0, bar + 12, "read")]
    parts.append(cells_drawn({(0, bank) for bank in used}, _LEFT, bar, cell, 16, "shared", 1.0))
    parts.append(outline(_LEFT, bar, BANKS * cell, 16))
    addresses = [FLOAT_BYTES * word for word in column]
    waves = len(shared_wavefronts(addresses, FLOAT_BYTES, is_load=True))
    described = (
        f"The column of a tile whose rows are {length} words apart lies in "
        f"{plural(len(used), 'bank')}."
    )
    further, banks = plural(length % BANKS, "bank"), plural(len(used), "bank")
    takes = f"**{plural(waves, 'wavefront')}**"
    says = f"Each row begins **{further}** further than the one before. A column lies in {banks}: "
    if length == BANKS:
        says = "All rows begin in **the same bank**. A column takes "
    says += takes
    return panel(f"{length} words", drawing(parts, top + lines * cell, described), described, says)
