"""What the painters of memory requests share: their data and state."""

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from sgemm_lab.counting.warp_requests import Request
from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.formulas import asked
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import LabWidget, html_table

OWN = -1
"""``chosen`` where the reader's own pattern is shown."""
LARGEST_STRIDE = 2**20
"""Elements, the largest stride and offset of the reader's own pattern."""

VECTORS = {32: "", 64: " float2", 128: " float4"}
"""The type of an access, by its bits."""


class PaintedRequest(Request):
    """A request as ``sgemm_lab.counting.warp_requests`` returns it, with its name."""

    label: str  # what the choice calls it


class Painter(LabWidget):
    """One warp's memory request, chosen among those of kernels or made by the reader.

    A subclass adds state of its own, and defines ``table`` as every widget does.
    """

    requests: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(OWN).tag(sync=True)
    stride = traitlets.Int(1, min=0, max=LARGEST_STRIDE).tag(sync=True)
    bits = traitlets.Enum(list(VECTORS), 32).tag(sync=True)

    def __init__(
        self, requests: Sequence[PaintedRequest] = (), *, chosen: int | None = None, **state: Any
    ) -> None:
        first = 0 if requests else OWN
        shown = first if chosen is None else chosen
        super().__init__(requests=list(requests), chosen=shown, **state)

    @property
    def request(self) -> dict[str, Any] | None:
        """The request chosen, or None where the reader's own pattern is shown."""
        return None if self.chosen == OWN else self.requests[self.chosen]

    @property
    def lane_bytes(self) -> int:
        """Bytes that each lane asks for."""
        return int(self.bits if self.request is None else self.request["bits"]) // 8

    @property
    def addresses(self) -> list[int | None]:
        """First byte of each lane; None where the lane takes no part."""
        if self.request is not None:
            return list(self.request["addresses"])
        return [(self._first + lane * self.stride) * self.lane_bytes for lane in range(WARP)]

    @property
    def _first(self) -> int:
        """The element that lane 0 asks for in the reader's own pattern."""
        return 0

    def _lanes(
        self, cost: str, heads: Sequence[str], cells: Callable[[int, int], Sequence[str]]
    ) -> str:
        """Return a row for each lane as an HTML table, captioned with what the request takes.

        ``cells`` gives the texts of the further columns, for an active lane and its address.
        """
        texts = iter(asked(self.request, self.addresses, self.lane_bytes))
        rows = [
            [f"{lane}", "nothing", *("" for _ in heads)]
            if address is None
            else [f"{lane}", next(texts), *cells(lane, address)]
            for lane, address in enumerate(self.addresses)
        ]
        if self.request is None:
            apart = plural(self.stride, "element")
            name = f"One warp whose lanes ask for {self.bits} bits each, {apart} apart"
        else:
            name = f"One warp of {self.request['label']}"
        return html_table(f"{name}: {cost}", ["Lane", "Asks for", *heads], rows)
