"""What one request of a warp copies: the window of A of one block, to scale."""

from sgemm_lab.counting.warp_requests import Request, warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, drawing, outline, panel, words
from sgemm_lab.lab.pictures.matrices import PALE, Cell, cells_drawn
from sgemm_lab.text import plural

_LEFT = 16


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


def copies(title: str, name: str | Kernel, *, says: str = "") -> Output:
    """Draw a block's K tile of A, and what one load of one warp, and of one thread, copies.

    Orange is the request of the warp, purple the part of its first thread, pale the whole K tile.

    Raises:
        LabError: the kernel has no TILE and BK.
    """
    kernel = kernel_of(name)
    values = kernel.values
    if not {"TILE", "BK"} <= set(values):
        raise LabError(f"'{kernel.name}' has no TILE and BK, so its copy is not drawn.")
    rows, columns = values["TILE"], values["BK"]
    requests = warp_requests(kernel, (rows, rows, columns), space="global")
    lanes = copied_by(next(r for r in requests if r["array"] == "A" and r["op"] == "load"))
    cell = (PANEL_WIDTH - _LEFT) / columns
    window = {(row, column) for row in range(rows) for column in range(columns)}
    parts = [
        words(0, 12, "A", bold=True, size=14),
        cells_drawn(window, _LEFT, 0, cell, cell, "dram", PALE),
        cells_drawn(set().union(*lanes), _LEFT, 0, cell, cell, "shared", 1),
        cells_drawn(lanes[0], _LEFT, 0, cell, cell, "register", 1),
        outline(_LEFT, 0.5, columns * cell - 1, rows * cell - 1, "grid"),
    ]
    described = (
        f"One request of a warp of '{kernel.name}' copies "
        f"{plural(len(set().union(*lanes)), 'element')} of a window of {rows} × {columns}, "
        f"{len(lanes[0])} of them for its first thread."
    )
    return panel(title, drawing(parts, rows * cell + 2, described), described, says)
