"""The coalescing painter: one warp's request over the 32-byte sectors of global memory."""

from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sgemm_lab.formulas.memory import global_request
from sgemm_lab.formulas.requests import asked, sector_words
from sgemm_lab.hardware import SECTOR_BYTES, WARP
from sgemm_lab.style import (
    BACKGROUND,
    FOREGROUND,
    GRID,
    LEVEL_COLOURS,
    LINE,
    MUTED,
    book_style,
    figure,
    svg,
)
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table
from sgemm_lab.widgets.painter import Painter, checked_elements

LINE_BYTES = 128
_ROWS = 8


class Coalescing(Painter):
    """One warp's request to global memory, painted over lines of four 32-byte sectors.

    Args:
        requests: requests to choose from, as ``counting.warp_requests`` returns them; a ``label``
            may be added to each.
        chosen: index of the request to begin with, or -1 for the reader's own pattern. Default:
            the first, or the own pattern where there is none.
        stride: distance of two neighbouring lanes in the reader's own pattern, in elements.
        offset: element that lane 0 asks for.
        bits: width of an element: 32, 64 or 128.
        off: lanes that take no part.

    All of them but ``requests`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: the data are not what they should be; the message says where.
    """

    SPACE = "global"

    offset = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("offset")
    def _check_offset(self, proposal: Any) -> int:
        return checked_elements("offset", proposal["value"])

    @property
    def addresses(self) -> list[int | None]:
        """First byte of each lane; None where the lane takes no part."""
        if self.request is None:
            own = [(self.offset + lane * self.stride) * self.lane_bytes for lane in range(WARP)]
        else:
            own = self.request["addresses"]
        return [None if lane in self.off else address for lane, address in enumerate(own)]

    @property
    def sectors(self) -> int:
        """Number of different sectors that the request touches."""
        return global_request(self.addresses, self.lane_bytes).sectors

    @property
    def bytes_moved(self) -> int:
        """Bytes of all sectors touched."""
        return global_request(self.addresses, self.lane_bytes).moved

    @property
    def bytes_used(self) -> int:
        """Bytes that at least one lane asks for."""
        return global_request(self.addresses, self.lane_bytes).used

    @property
    def words(self) -> list[str]:
        """What the request moves, and how that compares: two sentences."""
        return sector_words(self.addresses, self.lane_bytes)

    @property
    def _name(self) -> str:
        if self.request is None:
            apart = plural(self.stride, "element")
            return f"One warp whose lanes ask for {self.bits} bits each, {apart} apart"
        return f"One warp of {self.request['label']}"

    def still(self) -> str:
        """Return memory with the sectors touched and the lanes in them as inline SVG."""
        fig = figure(7.2, 2.9)
        with book_style():
            _draw(fig.subplots(), self.addresses, self.lane_bytes)
        return svg(fig, "One warp's request over memory", self.alt)

    def table(self) -> str:
        """Return each lane's address and sector as an HTML table."""
        rows = [
            [f"{lane}", "nothing", ""]
            if address is None
            else [
                f"{lane}",
                asked(self.request, address, self.lane_bytes),
                f"{address // SECTOR_BYTES:,}",
            ]
            for lane, address in enumerate(self.addresses)
        ]
        heads = ["Lane", "Asks for", "Sector"]
        return html_table(f"{self._name}. {self.words[0]}", heads, rows)


def _draw(ax: Axes, addresses: list[int | None], lane_bytes: int) -> None:
    """Draw lines of memory from the first touched on, one row each."""
    askers: dict[int, list[int]] = {}
    for lane, address in enumerate(addresses):
        if address is not None:
            askers.setdefault(address, []).append(lane)
    touched = sorted({address // LINE_BYTES for address in askers})
    drawn = touched if len(touched) <= _ROWS else touched[: _ROWS - 1]
    left = len(touched) - len(drawn)
    while not left and len(drawn) < _ROWS:
        drawn = [*drawn, (drawn[-1] if drawn else -1) + 1]
    rows = {line: row for row, line in enumerate(drawn)}
    sectors = {address // SECTOR_BYTES for address in askers}
    hue = LEVEL_COLOURS["dram"]
    for line, row in rows.items():
        name = f"byte {line * LINE_BYTES:,}"
        ax.text(-0.6, row + 0.4, name, ha="right", va="center", color=MUTED, fontsize=9)
        if row and line > drawn[row - 1] + 1:
            waves = [x / 2 for x in range(67)]
            ax.plot(waves, [row - 0.12 + 0.05 * (-1) ** i for i in range(67)], color=LINE, lw=0.8)
        for sector in range(4):
            moved = line * 4 + sector in sectors
            box = {"ec": hue, "fc": hue, "alpha": 0.25} if moved else {"ec": GRID, "fc": "none"}
            ax.add_patch(Rectangle((sector * 8.35, row), 8, 0.78, lw=0.8, **box))
    for address, lanes in askers.items():
        if address // LINE_BYTES not in rows:
            continue
        word = address % LINE_BYTES // 4
        x, y, width = word + 0.35 * (word // 8), rows[address // LINE_BYTES], lane_bytes / 4
        colour = FOREGROUND if len(lanes) > 1 else hue
        ax.add_patch(Rectangle((x + 0.05, y + 0.05), width - 0.1, 0.68, fc=colour, ec="none"))
        text = f"×{len(lanes)}" if len(lanes) > 1 else f"{lanes[0]}"
        ax.text(
            x + width / 2, y + 0.41, text, ha="center", va="center", color=BACKGROUND, fontsize=7
        )
    if left:
        ax.text(0, _ROWS - 0.6, f"… and {plural(left, 'more line')}", va="center", fontsize=9)
    ax.set(xlim=(-5.5, 33.2), ylim=(_ROWS, -0.2))
    ax.set_axis_off()
