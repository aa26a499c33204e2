"""Where rows of a tile lie in the banks of shared memory, with and without the swizzle of TMA."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, drawing, outline, panel, rectangle, words
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
