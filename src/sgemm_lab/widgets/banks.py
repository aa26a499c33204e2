"""The bank painter: the wavefronts of one warp's request over the 32 banks of shared memory."""

import traitlets

from sgemm_lab.formulas.memory import Wavefront, shared_wavefronts
from sgemm_lab.formulas.requests import asked, bank_words, laid_out
from sgemm_lab.hardware import BANKS, WARP, WORD_BYTES
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table
from sgemm_lab.widgets.painter import Painter

_TILE = 32
_MOST_PADDING = 64


class Banks(Painter):
    """One warp's request to shared memory, painted over the banks wavefront by wavefront.

    Args:
        requests: requests to choose from, as ``counting.warp_requests`` returns them; a ``label``
            may be added to each.
        chosen: index of the request to begin with, or -1 for the reader's own pattern. Default:
            the first, or the own pattern where there is none.
        stride: distance of two neighbouring lanes in the reader's own pattern, in elements of a
            tile whose rows are 32 floats.
        bits: width of an element of the own pattern: 32, 64 or 128.
        op: "load" or "store", for the own pattern.
        padding: unused floats added to each row of the array, for requests of kernels too.
        swizzle: whether columns are swapped by column XOR row, for requests of kernels too.
        off: lanes that take no part.
        wavefront: number of the wavefront shown, from 1; 0 for all.

    All of them but ``requests`` are state that the reader changes and Python can read or set.

    Raises:
        LabError: a setting is out of its range.
    """

    SPACE = "shared"

    stride = traitlets.Int(_TILE).tag(sync=True)
    op = traitlets.Enum(["load", "store"], "load").tag(sync=True)
    padding = traitlets.Int(0, min=0, max=_MOST_PADDING).tag(sync=True)
    swizzle = traitlets.Bool(False).tag(sync=True)
    wavefront = traitlets.Int(0, min=0).tag(sync=True)

    @property
    def addresses(self) -> list[int | None]:
        """First byte of each lane as laid out; None where the lane takes no part."""
        if self.request is None:
            plain = [lane * self.stride * self.lane_bytes for lane in range(WARP)]
            start, columns = 0, _TILE
        else:
            plain = self.request["addresses"]
            start, columns = self.request["start"], (self.request["shape"] or [0])[-1]
        return [
            None
            if address is None or lane in self.off
            else laid_out(
                address,
                start=start,
                columns=columns,
                padding=self.padding,
                swizzle=self.swizzle,
                lane_bytes=self.lane_bytes,
            )
            for lane, address in enumerate(plain)
        ]

    @property
    def is_load(self) -> bool:
        """Whether the request shown is a load."""
        return bool((self.op if self.request is None else self.request["op"]) == "load")

    @property
    def wavefronts(self) -> list[Wavefront]:
        """The wavefronts of the request, in order."""
        return shared_wavefronts(self.addresses, self.lane_bytes, is_load=self.is_load)

    @property
    def words(self) -> list[str]:
        """What the request takes, and why: two sentences."""
        return bank_words(self.addresses, self.lane_bytes, is_load=self.is_load)

    @property
    def _name(self) -> str:
        if self.request is None:
            apart = plural(self.stride, "element")
            name = f"A warp that {self.op}s {self.bits} bits a lane, {apart} apart"
        else:
            name = f"One warp of {self.request['label']}"
        if self.padding:
            name += f", rows padded by {plural(self.padding, 'float')}"
        return f"{name}, columns swizzled by row" if self.swizzle else name

    def table(self) -> str:
        """Return each lane's word, bank and wavefront as an HTML table."""
        wave_of = {
            lane: number
            for number, wave in enumerate(self.wavefronts, 1)
            for lanes in wave.words.values()
            for lane in lanes
        }
        moved = self.padding or self.swizzle
        request = None if moved else self.request
        rows = [
            [f"{lane}", "nothing", "", ""]
            if address is None
            else [
                f"{lane}",
                asked(request, address, self.lane_bytes),
                f"{address // WORD_BYTES % BANKS}",
                f"{wave_of[lane]}",
            ]
            for lane, address in enumerate(self.addresses)
        ]
        heads = ["Lane", "Asks for", "First bank", "Wavefront"]
        return html_table(f"{self._name}. {self.words[0]}", heads, rows)
