"""Where rows of a tile lie in the banks of shared memory, with and without the swizzle of TMA."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, panel, words
from sgemm_lab.text import plural

PIECES = 8
"""Pieces of 16 bytes in a row of 128, and rows that ``wgmma`` reads at a time."""
_PIECE_BANKS = 4
"""Banks that a piece fills."""
_SHOWN = 2
"""The piece that is read."""
_LEFT, _TOP, _ROW = 44, 38, 20
_WIDE = (PANEL_WIDTH - _LEFT) / PIECES


def swizzle(title: str, *, swizzled: bool) -> Output:
    """Draw 8 rows of a K tile in shared memory; one piece of each row is read at a time.

    Args:
        swizzled: whether row r keeps piece q at place q ^ r, as the 128-byte swizzle does.
    """
    places = [_SHOWN ^ row if swizzled else _SHOWN for row in range(PIECES)]
    waves = max(places.count(place) for place in places)
    banks = _PIECE_BANKS * len(set(places))
    described = f"Piece {_SHOWN} of {PIECES} rows lies in {banks} banks."
    says = f"Piece {_SHOWN} of all rows: {banks} banks, **{plural(waves, 'wavefront')}**"
    parts = [words(_LEFT, 12, "first of 4 banks", hue="muted")]
    parts += [
        words(_LEFT + (place + 0.5) * _WIDE, 30, f"{_PIECE_BANKS * place}", anchor="middle")
        for place in range(PIECES)
    ]
    for row, read in enumerate(places):
        y = _TOP + row * _ROW
        parts.append(words(_LEFT - 6, y + 14, f"row {row}", anchor="end"))
        for place in range(PIECES):
            x, now = _LEFT + place * _WIDE, place == read
            shape = box(x + 1, y + 1, _WIDE - 2, _ROW - 2, "shared", 1.0 if now else 0.0,
                        f"{place ^ row if swizzled else place}", ink="bg" if now else "fg",
                        edge="line", bold=now)  # fmt: skip
            parts.append(shape)
    return panel(title, parts, _TOP + PIECES * _ROW + 4, described, says)
