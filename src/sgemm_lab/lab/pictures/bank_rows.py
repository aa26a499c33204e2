"""Where rows of a tile lie in the banks of shared memory, with and without the swizzle of TMA."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    outline,
    panel,
    rectangle,
    stroke,
    words,
)
from sgemm_lab.text import plural

PIECES = 8
"""Pieces of 16 bytes in a row of 128, and rows that ``wgmma`` reads at a time."""
_PIECE_BANKS = 4
"""Banks that a piece fills."""
_SHOWN = 2
"""The piece that is read."""
_LEFT, _TOP, _ROW = 44, 38, 20
_ROWS = 2 * PIECES
"""Rows of a tile that ``descriptor_steps`` draws: two patterns of the swizzle."""


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


def swizzled_place(address: int) -> int:
    """Return which 16 bytes of a row of 128 an address of a swizzled tile is in.

    Bits 4 to 6 of the address by bits 7 to 9: what the hardware does, in TMA and in ``wgmma``.
    """
    return (address >> 4 ^ address >> 7) % PIECES


def descriptor_steps() -> dict[str, Output]:
    """Draw what ``wgmma`` reads of a swizzled tile, by descriptors that move on by 32 bytes.

    The rows have 32 numbers of 4 bytes; a ``wgmma`` takes 8 of each. They are for ``frames``.
    """
    return {f"k = {8 * s} to {8 * s + 7}": _descriptor(s) for s in range(PIECES // 2)}


def _descriptor(step: int) -> Output:
    high, right = 14, 78
    wide = (PANEL_WIDTH - _LEFT - right) / PIECES
    parts = [words(_LEFT, 12, "128 bytes of a row, in shared memory", hue="muted")]
    for row in range(_ROWS):
        y = 20 + row * high
        parts.append(words(_LEFT - 6, y + 11, f"row {row}", anchor="end", size=11))
        read = {swizzled_place(128 * row + 32 * step + 16 * half): half for half in range(2)}
        for place in range(PIECES):
            x = _LEFT + place * wide
            if place in read:
                parts.append(rectangle(x + 1, y + 1, wide - 2, high - 2, "shared"))
            piece = swizzled_place(128 * row + 16 * place)
            hue = "bg" if place in read else "fg"
            parts.append(words(x + wide / 2, y + 11, f"{piece}", hue=hue, anchor="middle", size=11))
            parts.append(outline(x + 1, y + 1, wide - 2, high - 2))
    x, end = PANEL_WIDTH - right + 6, 20 + PIECES * high
    parts.append(stroke(f"M{x} 21h5V{end}h-5M{x + 5} {end}h-5", "fg", thick=1.5))
    parts += [
        words(x + 11, (20 + end) / 2 + dy, text) for dy, text in ((-3, "stride"), (13, "1,024 B"))
    ]
    described = (
        f"Pieces {2 * step} and {2 * step + 1} of each row are read, where the swizzle put them."
    )
    says = f"The descriptor's address: start + **{32 * step} bytes**, {2 * step} units of 16"
    height = 20 + _ROWS * high + 4
    return panel(f"k = {8 * step}", drawing(parts, height, described), described, says)
