"""The bank painter: the wavefronts of one warp's request over the 32 banks of shared memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import BANKS, WARP, WORD_BYTES
from sgemm_lab.style import BACKGROUND, GRID, LEVEL_COLOURS, LINE, MUTED, book_style, figure, svg
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import html_table, module, stylesheet
from sgemm_lab.widgets.painter import Painter, asked

_TILE = 32
_ROW_BYTES = BANKS * WORD_BYTES
_FEWEST_ROWS = 16
_MOST_PADDING = 64


@dataclass(frozen=True)
class Wavefront:
    """One pass through the banks."""

    phase: tuple[int, ...]
    """The lanes that go together."""
    words: dict[int, list[int]]
    """First word of what a lane asks for, to the lanes that ask for it."""


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

    _esm = module("common.js", "controls.js", "rules/memory.js", "painter.js", "banks.js")
    _css = stylesheet("common.css", "controls.css", "painter.css", "banks.css")

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
            None if address is None or lane in self.off else self._laid_out(address, start, columns)
            for lane, address in enumerate(plain)
        ]

    def _laid_out(self, address: int, start: int, columns: int) -> int:
        """Where an element goes when rows get padding, and columns are swapped by row."""
        if not columns:
            return address
        floats = self.lane_bytes // WORD_BYTES
        row, column = divmod((address - start) // WORD_BYTES, columns)
        group = column // floats
        if self.swizzle:
            groups = 2 ** int(math.log2(min(BANKS, columns))) // floats
            group ^= row % groups if groups > 1 else 0
        padded = columns + self.padding - self.padding % floats
        return start + WORD_BYTES * (row * padded + group * floats)

    @property
    def wavefronts(self) -> list[Wavefront]:
        """The wavefronts of the request, in order."""
        op = self.op if self.request is None else self.request["op"]
        return shared_wavefronts(self.addresses, self.lane_bytes, is_load=op == "load")

    @property
    def words(self) -> list[str]:
        """What the request takes, and why: two sentences."""
        waves = self.wavefronts
        if not waves:
            return ["All lanes are off: no request is made.", ""]
        phases = list(dict.fromkeys(wave.phase for wave in waves))
        sizes = list(dict.fromkeys(len(phase) for phase in phases))
        each = f"{sizes[0]} lanes" if len(sizes) == 1 else "8 or 16 lanes"
        wide = self.lane_bytes > WORD_BYTES
        whole = f", in {plural(len(phases), 'phase')} of {each}" if wide else ""
        what = f"1 request takes {plural(len(waves), 'wavefront')}{whole}."
        if len(waves) > len(phases):
            turns = [[wave for wave in waves if wave.phase == phase] for phase in phases]
            worst = max(turns, key=len)
            bank = next(iter(worst[-1].words)) % BANKS
            return [
                what,
                f"Bank {bank} is asked for {len(worst)} different words at once. "
                f"Without conflicts {plural(len(phases), 'wavefront')} would do.",
            ]
        if wide and max(sizes) > WARP * WORD_BYTES // self.lane_bytes:
            return [
                what,
                "Neighbouring lanes ask for the same words, so phases merge; no bank is asked "
                "twice.",
            ]
        return [what, "No bank is asked for two different words at once: no conflict."]

    @property
    def _name(self) -> str:
        if self.request is None:
            apart = plural(self.stride, "element")
            verb = f"{self.op}s" if self.op == "load" else "stores"
            name = f"A warp that {verb} {self.bits} bits a lane, {apart} apart"
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


def shared_wavefronts(
    addresses: Sequence[int | None], lane_bytes: int, *, is_load: bool
) -> list[Wavefront]:
    """Return the wavefronts of a request to shared memory.

    Their number is that of the simulator's memory model. Which of a bank's words comes first is
    not known: here the one that the lowest lane asks for.
    """
    lanes = tuple(range(WARP))
    if lane_bytes <= WORD_BYTES:
        return _in_phases([lanes], addresses, lane_bytes)
    per_phase = WARP * WORD_BYTES // lane_bytes
    phases: list[tuple[int, ...]] = []
    for start in range(0, WARP, 2 * per_phase):
        both = lanes[start : start + 2 * per_phase]
        apart = [both[:per_phase], both[per_phase:]]
        merges = (
            is_load
            and any(_partners_agree(both, addresses, distance) for distance in (1, 2))
            and len(_in_phases([both], addresses, lane_bytes))
            <= len(_in_phases(apart, addresses, lane_bytes))
        )
        phases += [both] if merges else apart
    return _in_phases(phases, addresses, lane_bytes)


def _partners_agree(lanes: Sequence[int], addresses: Sequence[int | None], distance: int) -> bool:
    pairs = ((addresses[lane], addresses[lane ^ distance]) for lane in lanes)
    return all(mine is None or other is None or mine == other for mine, other in pairs)


def _in_phases(
    phases: Sequence[tuple[int, ...]], addresses: Sequence[int | None], lane_bytes: int
) -> list[Wavefront]:
    """In each phase the banks work side by side; a bank gives one word per wavefront."""
    found: list[Wavefront] = []
    for phase in phases:
        first = len(found)
        turn: dict[int, int] = {}
        given = [0] * BANKS
        for lane in phase:
            address = addresses[lane]
            if address is None:
                continue
            word = address // WORD_BYTES
            if word not in turn:
                turn[word] = first + given[word % BANKS]
                for i in range(max(1, lane_bytes // WORD_BYTES)):
                    given[(word + i) % BANKS] += 1
            if turn[word] == len(found):
                found.append(Wavefront(phase, {}))
            found[turn[word]].words.setdefault(word, []).append(lane)
    return found


def _draw(ax: Axes, wavefronts: list[Wavefront], floats: int) -> None:
    """Draw memory as rows of 32 banks; each word with its lane, and its wavefront as a tint."""
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
    seen: set[int] = set()
    for wave in wavefronts:
        for word, lanes in wave.words.items():
            if word in seen:
                continue
            seen.add(word)
            x, y = word % BANKS, place[word // BANKS]
            hue = LEVEL_COLOURS["shared"]
            ax.add_patch(Rectangle((x + 0.06, y + 0.08), floats - 0.12, 0.84, fc=hue, ec="none"))
            text = f"×{len(lanes)}" if len(lanes) > 1 else f"{lanes[0]}"
            middle = (x + floats / 2, y + 0.5)
            ax.text(*middle, text, ha="center", va="center", color=BACKGROUND, fontsize=6)
    ax.set(xlim=(-4.5, BANKS), ylim=(len(rows), -1))
    ax.set_axis_off()
