"""The bank painter: the wavefronts of one warp's request over the 32 banks of shared memory."""

from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.memory import Wavefront, shared_wavefronts
from sgemm_lab.formulas.requests import asked, bank_words, laid_out
from sgemm_lab.hardware import BANKS, WARP, WORD_BYTES
from sgemm_lab.style import BACKGROUND, GRID, LEVEL_COLOURS, LINE, MUTED, book_style, figure, svg
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table
from sgemm_lab.widgets.painter import Painter, lanes_text

_TILE = 32
_ROW_BYTES = BANKS * WORD_BYTES
_FEWEST_ROWS = 16
_MOST_PADDING = 64
_LETTERS_PER_BANK = 3


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
        LabError: the data are not what they should be; the message says where.
    """

    SPACE = "shared"

    stride = traitlets.Int(_TILE).tag(sync=True)
    op = traitlets.Unicode("load").tag(sync=True)
    padding = traitlets.Int(0).tag(sync=True)
    swizzle = traitlets.Bool(False).tag(sync=True)
    wavefront = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("op")
    def _check_op(self, proposal: Any) -> str:
        if proposal["value"] not in ("load", "store"):
            raise LabError(f"op is {proposal['value']!r}: write 'load' or 'store'.")
        return str(proposal["value"])

    @traitlets.validate("padding")
    def _check_padding(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] <= _MOST_PADDING:
            raise LabError(f"padding must be 0 to {_MOST_PADDING} floats, not {proposal['value']}.")
        return int(proposal["value"])

    @traitlets.validate("wavefront")
    def _check_wavefront(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise LabError("Wavefronts count from 1; 0 shows all of them.")
        return int(proposal["value"])

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

    def still(self) -> str:
        """Return the banks with the words of each wavefront as inline SVG."""
        fig = figure(7.2, 3.9)
        with book_style():
            _draw(fig.subplots(), self.wavefronts, self.lane_bytes // WORD_BYTES)
        return svg(fig, "One warp's request over the banks", self.alt)

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


def _draw(ax: Axes, wavefronts: list[Wavefront], floats: int) -> None:
    """Draw memory as rows of 32 banks; each word with its lanes, once per wavefront it takes."""
    rows = sorted({word // BANKS for wave in wavefronts for word in wave.words})
    while len(rows) < _FEWEST_ROWS:
        rows.append((rows[-1] if rows else -1) + 1)
    place = {row: i for i, row in enumerate(rows)}
    for i, row in enumerate(rows):
        if i % 2 == 0:
            name = f"byte {row * _ROW_BYTES:,}"
            ax.text(-0.5, i + 0.5, name, ha="right", va="center", color=MUTED, fontsize=8)
        if i and row > rows[i - 1] + 1:
            waves = [x / 2 for x in range(65)]
            ax.plot(waves, [i + 0.08 * (-1) ** x for x in range(65)], color=LINE, linewidth=0.6)
    for bank in range(BANKS + 1):
        ax.plot([bank, bank], [0, len(rows)], color=GRID, linewidth=0.6)
    for bank in range(BANKS):
        ax.text(bank + 0.5, -0.5, f"{bank}", ha="center", va="center", color=MUTED, fontsize=7)
    turns: dict[int, list[list[int]]] = {}
    for wave in wavefronts:
        for word, lanes in wave.words.items():
            turns.setdefault(word, []).append(lanes)
    hue = LEVEL_COLOURS["shared"]
    for word, parts in turns.items():
        wide = floats / len(parts)
        for part, lanes in enumerate(parts):
            x, y = word % BANKS + part * wide, place[word // BANKS]
            ax.add_patch(Rectangle((x + 0.06, y + 0.08), wide - 0.12, 0.84, fc=hue, ec="none"))
            text = lanes_text(lanes)
            if len(lanes) > 1 and len(text) > _LETTERS_PER_BANK * wide:
                text = f"×{len(lanes)}"
            middle = (x + wide / 2, y + 0.5)
            ax.text(*middle, text, ha="center", va="center", color=BACKGROUND, fontsize=6)
    ax.set(xlim=(-4.5, BANKS), ylim=(len(rows), -1))
    ax.set_axis_off()
