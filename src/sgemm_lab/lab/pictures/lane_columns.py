"""Which columns of C the first lanes of a warp own, and the wavefronts in which one read comes."""

from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.hardware import BANKS, FLOAT_BYTES, WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.banks import banks_of
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    box,
    intervals,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.lab.pictures.matrices import reading
from sgemm_lab.lab.request_painters import one_block
from sgemm_lab.simulator.formulas import shared_wavefronts
from sgemm_lab.text import plural

_LANES = 8
"""Lanes that a warp's request of 16 bytes a lane serves together."""
_BITS = 128
_LEFT, _TOP, _ROW = 82, 18, 28
_CELL = (PANEL_WIDTH - _LEFT - 2) / BANKS
_HUES = "shared", "kernel"
"""Of the wavefronts."""


def lane_columns(title: str, name: str | Kernel, line: str = "fragB[", *, says: str = "") -> Output:
    """Draw a row of ``Bs``, 32 banks a line: the columns of lanes 0 to 7, and one of their reads.

    In which order the wavefronts come is not known; here it is that of the lanes.

    Args:
        line: a piece of the source line that reads ``Bs``, 16 bytes a lane.
        says: the line below, with ``{some}`` wavefronts for lanes 0 to 7 and ``{every}`` for all.
    """
    kernel = kernel_of(name)
    columns = kernel.values["BN"]
    found = warp_requests(kernel, one_block(kernel), space="shared", line=line)
    request = next(request for request in found if request["bits"] == _BITS)
    asked = [*request["addresses"][:_LANES], *[None] * (WARP - _LANES)]
    waves, every = (
        shared_wavefronts(lanes, _BITS // 8, is_load=True)
        for lanes in (asked, request["addresses"])
    )
    parts = [words(0, 12, "word of Bs"), words(_LEFT, 12, "bank 0")]
    parts.append(words(PANEL_WIDTH - 2, 12, f"{BANKS - 1}", anchor="end"))
    for number in range(columns // BANKS):
        first = number * BANKS
        parts += _line(f"{first}–{first + BANKS - 1}", _TOP + number * _ROW)
    filled = set()
    for number, wave in enumerate(waves):
        for word, lanes in wave.words.items():
            first, lane = (word - request["start"] // FLOAT_BYTES) % columns, min(lanes)
            read = set(range(first, first + _BITS // 8 // FLOAT_BYTES))
            size = (kernel.values["BM"], columns, kernel.values["BK"])
            mine = {column for _, column in reading(kernel, size, "thread", number=lane).owned}
            filled |= {column // BANKS for column in mine}
            for group, opacity in ((read, 0.45), (mine - read, 0.08)):
                for start, end in intervals(group):
                    x, y = _LEFT + start % BANKS * _CELL, _TOP + start // BANKS * _ROW
                    wide, bold = (end - start + 1) * _CELL, group == read
                    parts.append(
                        box(x, y, wide, _ROW - 4, _HUES[number], opacity, str(lane), bold=bold)
                    )
    for number in set(range(columns // BANKS)) - filled:
        middle, y = _LEFT + BANKS * _CELL / 2, _TOP + number * _ROW + 18
        others = f"lanes {_LANES} to {2 * _LANES - 1}"
        parts.append(words(middle, y, others, hue="muted", anchor="middle"))
    top = _TOP + columns // BANKS * _ROW + 8
    for number, wave in enumerate(waves):
        y = top + number * _ROW
        parts += _line(f"wavefront {number + 1}", y)
        for first, last in intervals(banks_of(wave, _BITS)):
            x, wide = _LEFT + first * _CELL, (last - first + 1) * _CELL
            parts.append(rectangle(x, y, wide, _ROW - 4, _HUES[number], 0.45))
    some, all_lanes = (plural(len(them), "wavefront") for them in (waves, every))
    described = (
        f"In '{kernel.display_name}' a read of lanes 0 to {_LANES - 1} takes {some}, "
        f"and one of the warp {all_lanes}."
    )
    says = says.format(some=len(waves), every=len(every))
    return panel(title, parts, top + len(waves) * _ROW, described, says)


def _line(label: str, y: float) -> list[str]:
    return [words(0, y + 17, label), outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 5, "grid")]
