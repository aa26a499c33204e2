"""The coalescing painter: one warp's request over the 32-byte sectors of global memory."""

import traitlets

from sgemm_lab.hardware import SECTOR_BYTES
from sgemm_lab.simulator.formulas import global_sectors
from sgemm_lab.text import plural
from sgemm_lab.widgets.painter import LARGEST_STRIDE, Painter


class Coalescing(Painter):
    """One warp's request to global memory, painted over lines of four 32-byte sectors.

    Args:
        requests: requests to choose from, see :class:`~sgemm_lab.widgets.painter.PaintedRequest`.
        chosen: index of the request to begin with, or -1 for the reader's own pattern. Default:
            the first, or the own pattern where there is none.
        stride: distance of two neighbouring lanes in the reader's own pattern, in elements.
        offset: element that lane 0 asks for.
        bits: width of an element: 32, 64 or 128.

    All of them but ``requests`` are state that the reader changes and Python can read or set.
    """

    offset = traitlets.Int(0, min=0, max=LARGEST_STRIDE).tag(sync=True)

    @property
    def _first(self) -> int:
        return self.offset

    def table(self) -> str:
        """Return each lane's address and sector as an HTML table."""
        sectors = plural(global_sectors(self.addresses, self.lane_bytes), "sector")
        return self._lanes(sectors, ["Sector"], lambda _, at: [f"{at // SECTOR_BYTES:,}"])
