"""The eight lanes of a quarter-warp over the 32 banks, and the wavefront that serves each."""

from collections.abc import Iterable

from sgemm_lab.counting.warp_requests import Request, warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import BANKS, FLOAT_BYTES, WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PALE,
    PANEL_WIDTH,
    box,
    intervals,
    outline,
    panel,
    rectangle,
    words,
)
from sgemm_lab.lab.request_painters import one_block
from sgemm_lab.simulator.formulas import Wavefront, shared_wavefronts
from sgemm_lab.text import plural

PHASE_LANES = 8
"""Lanes that a warp's request of 16 bytes a lane serves together."""
_WIDE = 128
_LEFT = 82
_CELL = (PANEL_WIDTH - _LEFT - 2) // BANKS
_ROW = 20


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

    In which order the wavefronts come is not known; here it is that of the lanes.

    Args:
        line: a piece of the source line that makes the request, such as "fragB[".
    """
    kernel = kernel_of(name)
    request = wide_request(kernel, line)
    lanes = [*request["addresses"][:PHASE_LANES], *[None] * (WARP - PHASE_LANES)]
    waves = shared_wavefronts(lanes, _WIDE // 8, is_load=request["op"] == "load")
    parts = [words(0, 11, "bank"), words(_LEFT, 11, "0")]
    parts.append(words(_LEFT + BANKS * _CELL, 11, f"{BANKS - 1}", anchor="end"))
    for lane in range(PHASE_LANES):
        y = 16 + lane * _ROW
        parts += _row(f"lane {lane}", y)
        for number, wave in enumerate(waves, 1):
            word = next((word for word, served in wave.words.items() if lane in served), None)
            if word is not None:
                x, opacity = _LEFT + word % BANKS * _CELL, PALE if number == 1 else 0.0
                width = _WIDE // 8 // FLOAT_BYTES * _CELL
                shape = box(x, y, width, _ROW - 2, "shared", opacity, f"{number}", bold=True)
                parts.append(shape)
    each = [_banks(wave, _WIDE) for wave in waves]
    top = 24 + PHASE_LANES * _ROW
    for number, banks in enumerate(each):
        parts += _row(f"wavefront {number + 1}", top + number * _ROW, banks)
    used = " and ".join(str(len(banks)) for banks in each)
    described = (
        f"The first {PHASE_LANES} lanes of '{kernel.name}' take "
        f"{plural(len(each), 'wavefront')}, which use {used} of {BANKS} banks."
    )
    return panel(title, parts, top + len(each) * _ROW + 2, described, says)


def bank_clocks(title: str, name: str | Kernel, line: str, *, says: str = "") -> Output:
    """Draw the banks that a warp's first request at a source line uses, clock by clock.

    Args:
        line: a piece of the source line that makes the request, such as "fragA[".
    """
    kernel = kernel_of(name)
    request = warp_requests(kernel, one_block(kernel), space="shared", line=line)[0]
    waves = shared_wavefronts(request["addresses"], request["bits"] // 8, is_load=True)
    parts = [words(_LEFT, 11, "bank 0"), words(_LEFT + BANKS * _CELL, 11, "31", anchor="end")]
    each = [_banks(wave, request["bits"]) for wave in waves]
    for clock, banks in enumerate(each):
        parts += _row(f"clock {clock + 1}", 16 + clock * _ROW, banks)
    said = (f"clock {i} uses {plural(len(banks), 'bank')}" for i, banks in enumerate(each, 1))
    described = f"A read of a warp of '{kernel.display_name}': {', '.join(said)}."
    return panel(title, parts, 18 + _ROW * len(waves), described, says)


def _banks(wave: Wavefront, bits: int) -> set[int]:
    """Return the banks that a wavefront uses; ``bits`` are those of each lane."""
    return {(word + i) % BANKS for word in wave.words for i in range(bits // 8 // FLOAT_BYTES)}


def _row(label: str, y: float, banks: Iterable[int] = ()) -> list[str]:
    """Draw a row of the 32 banks; those in use are filled."""
    return [
        words(0, y + 14, label),
        outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 3, "grid"),
        *(
            rectangle(_LEFT + first * _CELL, y, (last - first + 1) * _CELL, _ROW - 2, "shared", 0.8)
            for first, last in intervals(banks)
        ),
    ]
