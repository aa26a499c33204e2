"""The bank painter: the lanes of one warp's request queue at the 32 banks of shared memory."""

import traitlets

from sgemm_lab.hardware import BANKS, WARP, WORD_BYTES
from sgemm_lab.simulator.formulas import Wavefront, asked, shared_wavefronts
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table
from sgemm_lab.widgets.painter import LARGEST_STRIDE, Painter


class Banks(Painter):
    """One warp's request to shared memory as a queue at the banks, one wavefront per row.

    Args:
        requests: requests to choose from, as ``counting.warp_requests`` returns them; a ``label``
            may be added to each.
        chosen: index of the request to begin with, or -1 for a load with a stride. Default: the
            first, or the stride where there is none.
        stride: distance of two neighbouring lanes, in elements.
        bits: width of an element: 32, 64 or 128.
        wavefront: how many wavefronts have been served, from 0.

    All of them but ``requests`` are state that the reader changes and Python can read or set.
    """

    SPACE = "shared"

    stride = traitlets.Int(2, min=0, max=LARGEST_STRIDE).tag(sync=True)
    wavefront = traitlets.Int(0, min=0).tag(sync=True)

    @property
    def addresses(self) -> list[int | None]:
        """First byte of each lane; None where the lane takes no part."""
        if self.request is not None:
            return list(self.request["addresses"])
        return [lane * self.stride * self.lane_bytes for lane in range(WARP)]

    @property
    def is_load(self) -> bool:
        """Whether the request shown is a load."""
        return self.request is None or self.request["op"] == "load"

    @property
    def wavefronts(self) -> list[Wavefront]:
        """The wavefronts of the request, in order."""
        return shared_wavefronts(self.addresses, self.lane_bytes, is_load=self.is_load)

    @property
    def _name(self) -> str:
        if self.request is not None:
            return f"One warp of {self.request['label']}"
        apart = plural(self.stride, "element")
        return f"A warp that loads {self.bits} bits a lane, {apart} apart"

    def table(self) -> str:
        """Return each lane's word, bank and wavefront as an HTML table."""
        wavefronts = self.wavefronts
        texts = iter(asked(self.request, self.addresses, self.lane_bytes))
        wave_of = {
            lane: number
            for number, wave in enumerate(wavefronts, 1)
            for lanes in wave.words.values()
            for lane in lanes
        }
        rows = [
            [f"{lane}", "nothing", "", ""]
            if address is None
            else [
                f"{lane}",
                next(texts),
                f"{address // WORD_BYTES % BANKS}",
                f"{wave_of[lane]}",
            ]
            for lane, address in enumerate(self.addresses)
        ]
        heads = ["Lane", "Asks for", "First bank", "Wavefront"]
        caption = f"{self._name}: {plural(len(wavefronts), 'wavefront')}"
        return html_table(caption, heads, rows)
