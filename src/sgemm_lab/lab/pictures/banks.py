"""The wavefronts of a warp's read: the words, the lanes and the banks of each."""

from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.hardware import BANKS, FLOAT_BYTES, WARP
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
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

_LEFT = 82
_HIGH = 30
_ROWS_OF_A = 12
"""Of a transposed tile, as many as are drawn."""
_BETWEEN = 26
"""Between lanes and banks, in px."""
_ROW = 20
"""Height of a row, in px."""


def bank_clocks(title: str, name: str | Kernel, line: str, *, says: str = "") -> Output:
    """Draw the words of ``As`` that a warp's first request brings, wavefront by wavefront.

    A row of banks for each wavefront, with the lanes it serves and the numbers of the words.

    Args:
        line: a piece of the source line that makes the request, such as "fragA[".
    """
    kernel = kernel_of(name)
    request = warp_requests(kernel, one_block(kernel), space="shared", line=line)[0]
    waves = shared_wavefronts(request["addresses"], request["bits"] // 8, is_load=True)
    start, wide = request["start"] // FLOAT_BYTES, request["shape"][-1]
    columns = wide if wide == kernel.values["BK"] else _ROWS_OF_A
    cell = (PANEL_WIDTH - _LEFT - 2) / columns
    parts = [words(0, 11, "bank")]
    for at in range(columns):
        middle = _LEFT + (at + 0.5) * cell
        parts.append(words(middle, 11, f"{(start + at) % BANKS}", anchor="middle"))
    said = []
    for clock, wave in enumerate(waves):
        y = 16 + clock * _HIGH
        first = (min(wave.words) - start) // BANKS * BANKS
        brought = {word - start + i for word in wave.words
                   for i in range(request["bits"] // 8 // FLOAT_BYTES)}  # fmt: skip
        served = sorted({lane for lanes in wave.words.values() for lane in lanes})
        lanes = f"lanes {served[0]}–{served[-1]}"
        parts += [words(0, y + 10, f"wavefront {clock + 1}"), words(0, y + 23, lanes)]
        for at in range(columns):
            found = first + at in brought
            shape = box(_LEFT + at * cell, y, cell, _HIGH - 3, "shared", 0.5 * found,
                        f"{first + at}", edge="" if found else "grid", bold=found)  # fmt: skip
            parts.append(shape)
        of = ", ".join(map(str, sorted(brought)))
        said.append(f"wavefront {clock + 1} brings {lanes} words {of}")
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
    left, lane = 76, 5.1  # eight lanes have room for their numbers
    right = left + WARP * lane + _BETWEEN
    bank = (PANEL_WIDTH - right) / BANKS
    parts = [words(left, 11, "lanes"), words(right, 11, "banks")]
    said = []
    for at, wave in enumerate(waves):
        y = 16 + at * _ROW
        served = {lane for lanes in wave.words.values() for lane in lanes}
        parts.append(words(0, y + 14, f"wavefront {at + 1}"))
        parts.append(stroke(f"M{right - _BETWEEN + 6} {y + 9}h14m-4 -4l4 4l-4 4", "muted"))
        rows = (left, lane, served), (right, bank, banks_of(wave, request["bits"]))
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


def banks_of(wave: Wavefront, bits: int) -> set[int]:
    """Return the banks that a wavefront uses; ``bits`` are those of each lane."""
    return {(word + i) % BANKS for word in wave.words for i in range(bits // 8 // FLOAT_BYTES)}
