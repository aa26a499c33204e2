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
    stroke,
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
_HIGH = 30
_ROWS_OF_A = 12
"""Of a transposed tile, as many as are drawn."""
_BETWEEN = 26
"""Between lanes and banks, in px."""
_ROW = 20
"""Height of a row, in px."""


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
    """Draw the banks that the first lanes of a 16-byte request use, wavefront by wavefront.

    In which order the wavefronts come is not known; here it is that of the lanes.

    Args:
        line: a piece of the source line that makes the request, such as "fragB[".
    """
    kernel = kernel_of(name)
    request = wide_request(kernel, line)
    asked = [*request["addresses"][:PHASE_LANES], *[None] * (WARP - PHASE_LANES)]
    waves = shared_wavefronts(asked, _WIDE // 8, is_load=request["op"] == "load")
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
    """Draw the elements of ``As`` that a warp's first request brings, wavefront by wavefront.

    ``As[r][k]`` is drawn by its k, ``As[k][r]`` by its first rows of A.

    Args:
        line: a piece of the source line that makes the request, such as "fragA[".
    """
    kernel = kernel_of(name)
    request = warp_requests(kernel, one_block(kernel), space="shared", line=line)[0]
    waves = shared_wavefronts(request["addresses"], request["bits"] // 8, is_load=True)
    start, wide = request["start"] // FLOAT_BYTES, request["shape"][-1]
    by_k = wide == kernel.values["BK"]
    columns, across, down = (wide, "k=", "row ") if by_k else (_ROWS_OF_A, "r", "k=")
    cell = (PANEL_WIDTH - _LEFT - 2) / columns
    parts = [words(0, 11, "bank")]
    for at in range(columns):
        middle = _LEFT + (at + 0.5) * cell
        parts.append(words(middle, 11, f"{(start + at) % BANKS}", anchor="middle"))
    said = []
    for clock, wave in enumerate(waves):
        y = 16 + clock * _HIGH
        row = f"{down}{(min(wave.words) - start) // wide}"
        brought = {(word - start) % wide + i for word in wave.words
                   for i in range(request["bits"] // 8 // FLOAT_BYTES)}  # fmt: skip
        parts += [words(0, y + 10, f"wavefront {clock + 1}"), words(0, y + 23, row)]
        for at in range(columns):
            found = at in brought
            edge, label = "" if found else "grid", f"{across}{at}"
            shape = box(_LEFT + at * cell, y, cell, _HIGH - 3, "shared", 0.5 * found, label,
                        edge=edge, bold=by_k and found)  # fmt: skip
            parts.append(shape)
        said.append(
            f"wavefront {clock + 1} brings {len(brought)} {'k' if by_k else 'rows'} of {row}"
        )
    described = f"A read of a warp of '{kernel.display_name}': {', '.join(said)}."
    return panel(title, parts, 16 + _HIGH * len(waves), described, says)


def half_warps(title: str, name: str | Kernel, array: str, *, says: str = "") -> Output:
    """Draw the wavefronts of a warp's first load of a tile: the lanes and the banks of each.

    16 bytes a lane take one wavefront or more for each half of the warp.

    Args:
        array: the tile in shared memory, such as "As".
        says: the line below, with ``{waves}`` for their number.
    """
    kernel = kernel_of(name)
    request = next(
        one
        for one in warp_requests(kernel, one_block(kernel), space="shared")
        if one["array"] == array and one["op"] == "load"
    )
    waves = shared_wavefronts(request["addresses"], request["bits"] // 8, is_load=True)
    left, lane = 76, 4.5  # eight lanes have room for their numbers
    right = left + WARP * lane + _BETWEEN
    bank = (PANEL_WIDTH - right) / BANKS
    parts = [words(left, 11, "lanes"), words(right, 11, "banks")]
    said = []
    for at, wave in enumerate(waves):
        y = 16 + at * _ROW
        served = {lane for lanes in wave.words.values() for lane in lanes}
        parts.append(words(0, y + 14, f"wavefront {at + 1}"))
        parts.append(stroke(f"M{right - _BETWEEN + 6} {y + 9}h14m-4 -4l4 4l-4 4", "muted"))
        rows = (left, lane, served), (right, bank, _banks(wave, request["bits"]))
        for x, cell, found in rows:
            parts.append(outline(x, y + 0.5, BANKS * cell, _ROW - 3, "grid"))
            for first, last in intervals(found):
                start, wide = x + first * cell, (last - first + 1) * cell
                parts.append(rectangle(start, y, wide, _ROW - 2, "shared", 0.36))
                inside = wide > _BETWEEN
                place = (start + wide / 2, y + 14) if inside else (start + wide + 4, y + 14)
                anchor = "middle" if inside else "start"
                parts.append(words(*place, f"{first}–{last}", anchor=anchor))
        said.append(f"wavefront {at + 1} serves {plural(len(served), 'lane')}")
    described = f"A load of '{array}' in '{kernel.display_name}': {', '.join(said)}."
    says = says.format(waves=plural(len(waves), "wavefront"))
    return panel(title, parts, 16 + _ROW * len(waves), described, says)


def _banks(wave: Wavefront, bits: int) -> set[int]:
    """Return the banks that a wavefront uses; ``bits`` are those of each lane."""
    return {(word + i) % BANKS for word in wave.words for i in range(bits // 8 // FLOAT_BYTES)}


def _row(label: str, y: float, banks: Iterable[int] = ()) -> list[str]:
    """Draw a row of the 32 banks; those in use are filled."""
    return [
        words(0, y + _ROW / 2 + 4, label),
        outline(_LEFT, y + 0.5, BANKS * _CELL, _ROW - 3, "grid"),
        *(
            rectangle(_LEFT + first * _CELL, y, (last - first + 1) * _CELL, _ROW - 2, "shared", 0.8)
            for first, last in intervals(banks)
        ),
    ]
