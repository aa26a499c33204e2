"""The bank painter: the lanes of one warp's request queue at the 32 banks of shared memory."""

import traitlets

from sgemm_lab.hardware import BANKS, WORD_BYTES
from sgemm_lab.simulator.formulas import Wavefront, shared_wavefronts
from sgemm_lab.text import plural
from sgemm_lab.widgets.painter import LARGEST_STRIDE, Painter


class Banks(Painter):
    """One warp's request to shared memory as a queue at the banks, one wavefront per row.

    Args:
        requests: requests to choose from, see :class:`~sgemm_lab.widgets.painter.PaintedRequest`.
        chosen: index of the request to begin with, or -1 for a load with a stride. Default: the
            first, or the stride where there is none.
        stride: distance of two neighbouring lanes, in elements.
        bits: width of an element: 32, 64 or 128.
        wavefront: how many wavefronts have been served, from 0.

    All of them but ``requests`` are state that the reader changes and Python can read or set.
    """

    stride = traitlets.Int(2, min=0, max=LARGEST_STRIDE).tag(sync=True)
    wavefront = traitlets.Int(0, min=0).tag(sync=True)

    @property
    def is_load(self) -> bool:
        """Whether the request shown is a load."""
        return self.request is None or self.request["op"] == "load"

    @property
    def wavefronts(self) -> list[Wavefront]:
        """The wavefronts of the request, in order."""
        return shared_wavefronts(self.addresses, self.lane_bytes, is_load=self.is_load)

    def table(self) -> str:
        """Return each lane's word, bank and wavefront as an HTML table."""
        wave_of = {
            lane: number
            for number, wave in enumerate(self.wavefronts, 1)
            for lanes in wave.words.values()
            for lane in lanes
        }
        return self._lanes(
            plural(max(wave_of.values()), "wavefront"),
            ["First bank", "Wavefront"],
            lambda lane, at: [f"{at // WORD_BYTES % BANKS}", f"{wave_of[lane]}"],
        )
