"""The coalescing painter: one warp's request over the 32-byte sectors of global memory."""

import traitlets

from sgemm_lab.hardware import SECTOR_BYTES, WARP
from sgemm_lab.simulator.formulas import asked, global_sectors
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table
from sgemm_lab.widgets.painter import LARGEST_STRIDE, Painter


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

    All of them but ``requests`` are state that the reader changes and Python can read or set.
    """

    SPACE = "global"

    offset = traitlets.Int(0, min=0, max=LARGEST_STRIDE).tag(sync=True)

    @property
    def addresses(self) -> list[int | None]:
        """First byte of each lane; None where the lane takes no part."""
        if self.request is None:
            return [(self.offset + lane * self.stride) * self.lane_bytes for lane in range(WARP)]
        return list(self.request["addresses"])

    @property
    def _name(self) -> str:
        if self.request is None:
            apart = plural(self.stride, "element")
            return f"One warp whose lanes ask for {self.bits} bits each, {apart} apart"
        return f"One warp of {self.request['label']}"

    def table(self) -> str:
        """Return each lane's address and sector as an HTML table."""
        texts = iter(asked(self.request, self.addresses, self.lane_bytes))
        rows = [
            [f"{lane}", "nothing", ""]
            if address is None
            else [
                f"{lane}",
                next(texts),
                f"{address // SECTOR_BYTES:,}",
            ]
            for lane, address in enumerate(self.addresses)
        ]
        heads = ["Lane", "Asks for", "Sector"]
        sectors = global_sectors(self.addresses, self.lane_bytes)
        caption = f"{self._name}: {plural(sectors, 'sector')}"
        return html_table(caption, heads, rows)
