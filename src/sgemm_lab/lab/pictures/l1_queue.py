"""The clocks that the 32 banks of L1 take to deliver what a warp reads in one step."""

from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, outline, panel, words
from sgemm_lab.lab.pictures.matrices import Cell, Reading, cells_drawn, reading
from sgemm_lab.simulator.formulas import shared_wavefronts
from sgemm_lab.text import plural

_ROW_WORDS = 4096
"""Words between two rows of A or B in a launch at 4096³."""
_LEFT, _TOP, _EACH = 72, 18, 6


def l1_queue(
    title: str, name: str | Kernel, size: Size, *, number: int = 0, step: int = 0, says: str = ""
) -> Output:
    """Draw how the banks deliver what a warp reads of A and B in one step.

    Which elements is what the kernel reads at ``size``; which banks they lie in is as at 4096³. A
    load of A comes before the load of B, and each takes its own wavefronts.

    Args:
        size: M, N and K of a launch, small enough to draw.
        number: of the warp in its block.
        step: the k that is in use.
        says: the line below, with ``{clocks}`` for the clocks of the step.
    """
    found = reading(kernel_of(name), size, "warp", number=number, step=step)
    waves = wavefronts(found)
    clocks = sum(map(len, waves.values()))
    described = f"A step takes {plural(clocks, 'clock')} of L1: " + ", ".join(
        f"{len(own)} for {which}" for which, own in waves.items()
    )
    return panel(title, *_banks(waves), described, says.format(clocks=clocks))


def wavefronts(found: Reading) -> dict[str, list[set[int]]]:
    """Return the banks that each wavefront uses, for the load of A and that of B."""
    return {
        name: [
            {word % BANKS for word in wave.words}
            for wave in shared_wavefronts(_addresses(cells), FLOAT_BYTES, is_load=True)
        ]
        for name, cells in found.used.items()
    }


def _addresses(cells: set[Cell]) -> list[int | None]:
    """Return the first bytes of elements; lanes that would read one again ask for nothing."""
    words_ = [FLOAT_BYTES * (row * _ROW_WORDS + column) for row, column in sorted(cells)]
    return [*words_, *([None] * (BANKS - len(words_)))]


def _banks(waves: dict[str, list[set[int]]]) -> tuple[list[str], float]:
    """Draw a line of the 32 banks for each clock, with room for 33; return the height too."""
    cell = (PANEL_WIDTH - _LEFT) / BANKS
    parts = [words(0, 11, "clock"), words(_LEFT, 11, "bank 0")]
    parts += [
        words(_LEFT + (bank + 0.5) * cell, 11, f"{bank}", anchor="middle")
        for bank in range(8, BANKS, 8)
    ]
    line, label = 0, 11.0
    for name, own in waves.items():
        first = line + 1
        label = max(label + 13, _TOP + line * _EACH + 5)
        for banks in own:
            used, y = {(0, bank) for bank in banks}, _TOP + line * _EACH
            parts.append(cells_drawn(used, _LEFT, y, cell, _EACH - 1, "dram", 1.0))
            line += 1
        clocks = f"{line}" if line == first else f"{first} to {line}"
        parts.append(words(0, label, f"{clocks}: {name}"))
    tall = (BANKS + 1) * _EACH
    parts.append(outline(_LEFT, _TOP - 2, BANKS * cell, tall + 4, "grid"))
    if line < BANKS // 2:
        middle = _LEFT + BANKS * cell / 2
        parts.append(words(middle, _TOP + tall / 2, "done", anchor="middle"))
    return parts, _TOP + tall + 4
