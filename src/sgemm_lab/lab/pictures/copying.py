"""What one request of a warp reads of A: of the first rows of a block's K tile, or of all of A."""

from sgemm_lab.counting.warp_requests import Request, warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PALE, PANEL_WIDTH, outline, panel, words
from sgemm_lab.lab.pictures.matrices import Cell, cells_drawn
from sgemm_lab.text import plural

_LEFT = 16
_ROWS, _TALL = 5, 22
"""Rows of the K tile that are drawn, and the height of one in px."""


def copied_by(request: Request) -> list[set[Cell]]:
    """Return the elements that each lane of a request asks for, as row and column."""
    width = request["shape"][-1]
    firsts = [
        (address - request["start"]) // FLOAT_BYTES
        for address in request["addresses"]
        if address is not None
    ]
    each = request["bits"] // (8 * FLOAT_BYTES)
    return [{divmod(first + i, width) for i in range(each)} for first in firsts]


def copies(title: str, name: str | Kernel, *, size: Size | None = None, says: str = "") -> Output:
    """Draw the first rows of a block's K tile of A, and what a warp's threads copy at once.

    Blue is the request of the warp, dark and light in turns for its threads; pale is the K tile,
    or all of A at ``size``, which is M, N and K.

    Raises:
        LabError: the kernel has no TILE and BK, and there is no ``size``.
    """
    kernel = kernel_of(name)
    values = kernel.values
    if size is None and not {"TILE", "BK"} <= set(values):
        raise LabError(f"'{kernel.name}' has no TILE and BK, so its copy is not drawn.")
    rows, _, columns = at = size or (values["TILE"], values["TILE"], values["BK"])
    requests = warp_requests(kernel, at, space="global")
    lanes = copied_by(next(r for r in requests if r["array"] == "A" and r["op"] == "load"))
    cell = (PANEL_WIDTH - _LEFT) / columns
    shown = min(rows, _ROWS)
    window = {(row, column) for row in range(shown) for column in range(columns)}
    parts = [
        words(0, 16, "A", bold=True, size=14),
        cells_drawn(window, _LEFT, 0, cell, _TALL, "dram", PALE),
        cells_drawn(set().union(*lanes[::2]), _LEFT, 0, cell, _TALL, "dram", 1),
        cells_drawn(set().union(*lanes[1::2]), _LEFT, 0, cell, _TALL, "dram", 0.6),
        *(outline(_LEFT, row * _TALL, columns * cell, _TALL, "grid") for row in range(shown)),
        words(_LEFT, shown * _TALL + 16, f"first {shown} of {rows} rows of {columns}", hue="muted"),
    ]
    described = (
        f"One request of a warp of '{kernel.name}' copies "
        f"{plural(len(set().union(*lanes)), 'element')} of {rows} × {columns} of A, "
        f"{len(lanes[0])} of them for its first thread."
    )
    return panel(title, parts, shown * _TALL + 22, described, says)
