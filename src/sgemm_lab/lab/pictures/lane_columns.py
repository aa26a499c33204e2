"""Which columns of C the first lanes of a warp own, and which of them one read brings."""

from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.banks import PHASE_LANES, wide_request
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    box,
    intervals,
    outline,
    panel,
    stroke,
    words,
)
from sgemm_lab.lab.pictures.matrices import reading
from sgemm_lab.text import plural

_ROW = 26


def lane_columns(title: str, name: str | Kernel, line: str = "fragB[", *, says: str = "") -> Output:
    """Draw the first row of a block tile: the columns of lanes 0 to 7, and their first read.

    Args:
        line: a piece of the source line that reads ``Bs``, 16 bytes a lane.
    """
    kernel = kernel_of(name)
    columns = kernel.values["BN"]
    request = wide_request(kernel, line)
    cell = PANEL_WIDTH / columns
    parts = [outline(0.5, 0.5, PANEL_WIDTH - 1, _ROW - 1, "grid")]
    rounds = set()
    for lane, address in enumerate(request["addresses"][:PHASE_LANES]):
        if address is None:
            continue
        first = (address - request["start"]) // FLOAT_BYTES % columns
        read = set(range(first, first + request["bits"] // 8 // FLOAT_BYTES))
        rounds |= {column // BANKS for column in read}
        size = (kernel.values["BM"], columns, kernel.values["BK"])
        mine = {column for _, column in reading(kernel, size, "thread", number=lane).owned}
        for group in (read, mine - read):
            for start, end in intervals(group):
                x, wide = start * cell, (end - start + 1) * cell
                now = group == read
                opacity = 0.36 if now else 0.1
                parts.append(box(x, 0, wide, _ROW, "shared", opacity, str(lane), bold=now))
    for at in range(columns // BANKS):
        x = at * BANKS * cell
        parts.append(stroke(f"M{x + 1:g} {_ROW + 3}v8", "fg", thick=1.4))
        parts.append(words(x + 5, _ROW + 15, "bank 0" if not at else "0"))
    described = (
        f"In '{kernel.display_name}' the first read of lanes 0 to {PHASE_LANES - 1} reaches over "
        f"{plural(len(rounds), 'round')} of the {BANKS} banks."
    )
    return panel(title, parts, _ROW + 20, described, says)
