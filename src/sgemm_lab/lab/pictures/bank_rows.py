"""Where rows of a tile lie in the banks of shared memory, with and without the swizzle of TMA."""

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, beside, box, panel, stroke, words
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
    parts = _rows({_SHOWN}, swizzled=swizzled)
    places = [_SHOWN ^ row if swizzled else _SHOWN for row in range(PIECES)]
    waves = max(places.count(place) for place in places)
    banks = _PIECE_BANKS * len(set(places))
    described = f"Piece {_SHOWN} of {PIECES} rows lies in {banks} banks."
    says = f"Piece {_SHOWN} of all rows: {banks} banks, **{plural(waves, 'wavefront')}**"
    parts.append(words(_LEFT, 12, "banks", hue="muted"))
    parts += [
        words(_LEFT + (place + 0.5) * _WIDE, 30, f"{_PIECE_BANKS * place}–", anchor="middle")
        for place in range(PIECES)
    ]
    return panel(title, parts, _TOP + PIECES * _ROW + 4, described, says)


def _rows(read: set[int], *, swizzled: bool) -> list[str]:
    """Draw the pieces of 8 rows where they are stored; those that are read are filled."""
    parts = []
    for row in range(PIECES):
        y = _TOP + row * _ROW
        parts.append(words(_LEFT - 6, y + 14, f"row {row}", anchor="end"))
        for place in range(PIECES):
            piece = swizzled_place(128 * row + 16 * place) if swizzled else place
            x, now = _LEFT + place * _WIDE, piece in read
            shape = box(x + 1, y + 1, _WIDE - 2, _ROW - 2, "shared", 1.0 if now else 0.0,
                        f"{piece}", ink="bg" if now else "fg", edge="line", bold=now)  # fmt: skip
            parts.append(shape)
    return parts


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
    read = {2 * step, 2 * step + 1}
    height = _TOP + PIECES * _ROW + 4
    end = _LEFT + 2 * step * _WIDE
    asked = [*_rows(read, swizzled=False), words(_LEFT, 12, "start", hue="muted")]
    if step:
        moved = f"+ {32 * step} bytes"
        asked.append(words(min(end + 72, PANEL_WIDTH), 12, moved, anchor="end", bold=True))
        asked.append(stroke(f"M{_LEFT} 26H{end}m-6 -4l6 4l-6 4", "fg", thick=1.5))
    described = f"The descriptor points to pieces {2 * step} and {2 * step + 1} of each row."
    says = f"The descriptor's address: start + **{32 * step} bytes**, {2 * step} units of 16"
    title, found = "What is read: the address swizzled", _rows(read, swizzled=True)
    described_found = "The pieces are read where the swizzle put them."
    says_found = "The hardware swizzles **each row's** address"
    return beside(
        panel("What the descriptor says", asked, height, described, says),
        panel(title, found, height, described_found, says_found),
    )
