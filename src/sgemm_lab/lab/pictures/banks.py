"""The eight lanes of a quarter-warp over the 32 banks, and the wavefront that serves each."""

from collections.abc import Sequence
from dataclasses import dataclass

from sgemm_lab.counting.warp_requests import Request, warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, intervals, outline, panel, rectangle, words
from sgemm_lab.lab.request_painters import one_block
from sgemm_lab.simulator.formulas import shared_wavefronts
from sgemm_lab.text import plural

PHASE_LANES = 8
"""Lanes that a warp's request of 16 bytes a lane serves together."""
_WIDE = 128
_LEFT = 82
_CELL = (PANEL_WIDTH - _LEFT - 2) // BANKS
_ROW = 20


@dataclass(frozen=True)
class Phase:
    """Which words the lanes of a phase want, and the wavefront that brings each, from 1."""

    lanes: tuple[dict[int, int], ...]
    """Of every lane: word to wavefront."""

    @property
    def wavefronts(self) -> list[set[int]]:
        """The banks that each wavefront uses."""
        count = max((w for lane in self.lanes for w in lane.values()), default=0)
        return [
            {word % BANKS for lane in self.lanes for word, own in lane.items() if own == number}
            for number in range(1, count + 1)
        ]


def phase_of(addresses: Sequence[int | None]) -> Phase:
    """Serve the lanes of one phase in order.

    The addresses are the first bytes of each lane's 16, None where a lane asks for nothing. A bank
    hands out one word in a wavefront, to every lane that wants it. So a word's wavefront is its
    place among the different words of its bank. How many there are is the hardware's rule; in which
    order they come is not known, and here it is that of the lanes.
    """
    served: dict[int, list[int]] = {}
    lanes: list[dict[int, int]] = []
    for address in addresses:
        mine: dict[int, int] = {}
        first = None if address is None else address // FLOAT_BYTES
        for word in [] if first is None else range(first, first + _WIDE // 8 // FLOAT_BYTES):
            known = served.setdefault(word % BANKS, [])
            if word not in known:
                known.append(word)
            mine[word] = known.index(word) + 1
        lanes.append(mine)
    return Phase(tuple(lanes))


def wide_request(kernel: Kernel, line: str) -> Request:
    """Return the first 16-byte request that the first warp makes at a source line."""
    found = warp_requests(kernel, one_block(kernel), space="shared", line=line)
    wide = [request for request in found if request["bits"] == _WIDE]
    if not wide:
        raise LabError(
            f"'{kernel.name}' asks for no 16 bytes at '{line}', so it is not served in "
            f"quarter-warps. Take a line that reads or stores a float4."
        )
    return wide[0]


def bank_phases(title: str, name: str | Kernel, line: str, *, says: str = "") -> Output:
    """Draw the banks that the first eight lanes of a 16-byte request use, wavefront by wavefront.

    Args:
        line: a piece of the source line that makes the request, such as "fragB[".
        says: the line below.
    """
    kernel = kernel_of(name)
    phase = phase_of(wide_request(kernel, line)["addresses"][:PHASE_LANES])
    parts = [words(0, 11, "bank"), words(_LEFT, 11, "0")]
    parts.append(words(_LEFT + BANKS * _CELL, 11, f"{BANKS - 1}", anchor="end"))
    y = 16.0
    for lane, wanted in enumerate(phase.lanes):
        parts.append(words(0, y + 14, f"lane {lane}"))
        parts.append(outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 3, "grid"))
        for number in sorted(set(wanted.values())):
            banks = {word % BANKS for word, own in wanted.items() if own == number}
            parts += _runs(banks, y, number)
        y += _ROW
    y += 8
    for number, banks in enumerate(phase.wavefronts, 1):
        parts.append(words(0, y + 14, f"wavefront {number}"))
        parts.append(outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 3, "grid"))
        parts += [
            rectangle(_LEFT + first * _CELL, y, (last - first + 1) * _CELL, _ROW - 2, "shared", 0.8)
            for first, last in intervals(banks)
        ]
        y += _ROW
    used = " and ".join(str(len(banks)) for banks in phase.wavefronts)
    described = (
        f"The first {len(phase.lanes)} lanes of '{kernel.name}' take "
        f"{plural(len(phase.wavefronts), 'wavefront')}, which use {used} of {BANKS} banks."
    )
    return panel(title, parts, y + 2, described, says)


def bank_clocks(title: str, name: str | Kernel, line: str, *, says: str = "") -> Output:
    """Draw the banks that a warp's first request at a source line uses, clock by clock.

    Args:
        line: a piece of the source line that makes the request, such as "fragA[".
        says: the line below.
    """
    kernel = kernel_of(name)
    request = warp_requests(kernel, one_block(kernel), space="shared", line=line)[0]
    wavefronts = shared_wavefronts(request["addresses"], request["bits"] // 8, is_load=True)
    parts = [words(_LEFT, 11, "bank 0"), words(_LEFT + BANKS * _CELL, 11, "31", anchor="end")]
    said = []
    for clock, wavefront in enumerate(wavefronts):
        y = 16.0 + clock * _ROW
        each = request["bits"] // 8 // FLOAT_BYTES
        banks = {(word + i) % BANKS for word in wavefront.words for i in range(each)}
        parts.append(words(0, y + 14, f"clock {clock + 1}"))
        parts.append(outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 3, "grid"))
        parts += [
            rectangle(_LEFT + first * _CELL, y, (last - first + 1) * _CELL, _ROW - 2, "shared", 0.8)
            for first, last in intervals(banks)
        ]
        said.append(f"clock {clock + 1} uses {plural(len(banks), 'bank')}")
    described = f"A read of a warp of '{kernel.display_name}': {', '.join(said)}."
    height = 18 + _ROW * len(wavefronts)
    return panel(title, parts, height, described, says)


def _runs(banks: set[int], y: float, number: int) -> list[str]:
    """Draw what a lane gets in one wavefront: filled in the first, in outline in later ones."""
    parts: list[str] = []
    for first, last in intervals(banks):
        x, wide = _LEFT + first * _CELL, (last - first + 1) * _CELL
        parts.append(rectangle(x, y, wide, _ROW - 2, "shared", 0.26 if number == 1 else 0.0))
        parts.append(outline(x + 0.5, y + 0.5, wide - 1, _ROW - 3, "shared"))
        parts.append(words(x + wide / 2, y + 14, str(number), anchor="middle", bold=True))
    return parts
