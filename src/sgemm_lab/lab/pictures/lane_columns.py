"""Which columns of C the first lanes of a warp own, and which of them one read brings."""

from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.banks import PHASE_LANES, wide_request
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, box, intervals, outline, panel, words
from sgemm_lab.lab.pictures.matrices import reading
from sgemm_lab.text import plural

_LEFT, _TOP, _ROW = 60, 18, 28
_CELL = (PANEL_WIDTH - _LEFT - 2) / BANKS
_HUES = "shared", "kernel"
"""Of the two halves of the lanes."""


def lane_columns(title: str, name: str | Kernel, line: str = "fragB[", *, says: str = "") -> Output:
    """Draw the first row of a block tile, 32 banks a line: columns of lanes 0 to 7, and a read.

    Args:
        line: a piece of the source line that reads ``Bs``, 16 bytes a lane.
    """
    kernel = kernel_of(name)
    columns = kernel.values["BN"]
    request = wide_request(kernel, line)
    parts = [words(0, 12, "columns"), words(_LEFT, 12, "bank 0")]
    parts.append(words(PANEL_WIDTH - 2, 12, f"{BANKS - 1}", anchor="end"))
    for number in range(columns // BANKS):
        y, first = _TOP + number * _ROW, number * BANKS
        parts.append(words(0, y + 18, f"{first}–{first + BANKS - 1}"))
        parts.append(outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 5, "grid"))
    rounds, filled = set(), set()
    for lane, address in enumerate(request["addresses"][:PHASE_LANES]):
        if address is None:
            continue
        first = (address - request["start"]) // FLOAT_BYTES % columns
        read = set(range(first, first + request["bits"] // 8 // FLOAT_BYTES))
        rounds |= {column // BANKS for column in read}
        size = (kernel.values["BM"], columns, kernel.values["BK"])
        mine = {column for _, column in reading(kernel, size, "thread", number=lane).owned}
        filled |= {column // BANKS for column in mine}
        for group, opacity in ((read, 0.45), (mine - read, 0.08)):
            for start, end in intervals(group):
                x, y = _LEFT + start % BANKS * _CELL, _TOP + start // BANKS * _ROW
                wide, hue = (end - start + 1) * _CELL, _HUES[2 * lane // PHASE_LANES]
                parts.append(box(x, y, wide, _ROW - 4, hue, opacity, str(lane), bold=group == read))
    for number in set(range(columns // BANKS)) - filled:
        middle, y = _LEFT + BANKS * _CELL / 2, _TOP + number * _ROW + 18
        others = f"lanes {PHASE_LANES} to {2 * PHASE_LANES - 1}"
        parts.append(words(middle, y, others, hue="muted", anchor="middle"))
    described = (
        f"In '{kernel.display_name}' the first read of lanes 0 to {PHASE_LANES - 1} reaches over "
        f"{plural(len(rounds), 'round')} of the {BANKS} banks."
    )
    return panel(title, parts, _TOP + columns // BANKS * _ROW, described, says)
