"""A map of the GPU: its memories, and how many numbers each gives in a clock."""

from typing import NamedTuple

from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import BANKS, FLOAT_BYTES, WARP
from sgemm_lab.lab.card import Card, measured_card
from sgemm_lab.lab.each_gpu import each_gpu
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import (
    PANEL_WIDTH,
    drawing,
    figure_html,
    outline,
    rectangle,
    words,
)
from sgemm_lab.models.bound import SCHEDULERS
from sgemm_lab.text import number

_LINE = 16
"""Height of a line of words in a box."""
_GAP = 14
_INSET = 10
_PER_NUMBER = 0.6
"""Width, in px, of the pipe that brings a number in a clock."""
_TITLE = "Numbers per clock, for one SM"


class _Part(NamedTuple):
    """A part of the machine: its box on the map."""

    name: str
    lines: tuple[str, ...]
    """Size and latency of a memory, and what it gives in a clock."""
    hue: str
    x: float
    y: float
    width: float
    gives: float = 0
    """Numbers in a clock that go down to the next part."""

    @property
    def bottom(self) -> float:
        return self.y + (1 + len(self.lines)) * _LINE + 8


def machine_map(*, says: str = "") -> Output:
    """Draw the map of the machine, for each GPU.

    Rates are per clock and SM: of DRAM and L2 as measured on this machine's GPU or the recorded
    ones, of the rest by design. Below a part, the pipe to the next is as wide as its rate.

    Args:
        says: what the caption adds to the first sentence.

    Raises:
        LabError: no record has microbenchmarks.
    """
    return each_gpu(lambda: _map(says))


def _map(says: str) -> Output:
    card = measured_card()
    parts = _parts(card, card.sheet)
    top, bottom = parts[1].bottom + _GAP, parts[-1].bottom + _INSET
    shapes = [outline(1, top + 1, PANEL_WIDTH - 2, bottom - top - 1, "line")]
    shapes.append(words(_INSET, top + 18, f"one of {card.device.sms} SMs", bold=True))
    shapes += [shape for part in parts for shape in _drawn(part)]
    lead = "The nearer to the arithmetic, the more arrives in a clock."
    ways = "; ".join(f"{part.name}: {', '.join(part.lines)}" for part in parts)
    described = f"Map of {card.device.name}, from DRAM to the arithmetic. {lead} {_TITLE}: {ways}."
    svg = drawing(shapes, bottom + 2, described)
    html = figure_html(
        f'<div class="lab-panel"><p class="lab-panel-title">{_TITLE}</p>{svg}</div>',
        f"{lead} {says}".rstrip(),
        origin="Clocks are the latency of a load. Latency, DRAM and L2 as measured on "
        f"{card.device.name}, the rest by design.",
        kind="lab-opener lab-beside",
    )
    return Output(html, f"{described} {says}".rstrip())


def _parts(card: Card, gpu: Gpu | None) -> list[_Part]:
    inner = PANEL_WIDTH - 2 * _INSET
    half = (inner - 8) / 2
    right = _INSET + half + 8
    most = card.device.shared_per_sm // 1024
    least = 32 if card.device.compute_capability == "7.5" else 28  # KB of L1
    l2 = (gpu or card.device).l2_bytes // 1024**2

    def memory(level: str, name: str, size: str, x: float, y: float, width: float) -> _Part:
        per_number = FLOAT_BYTES * card.device.sms * card.clock_mhz / 1e3  # 10⁹ bytes a second
        rate = card.bandwidth[level] / per_number if level in ("dram", "l2") else BANKS
        clocks = f"{number(card.latency[level])} clocks"
        lines = (", ".join(filter(None, (size, clocks))), f"{rate:.2g} numbers")
        hue = "shared" if level == "l1" else level
        return _Part(name, lines, hue, x, y, width, rate)

    dram = memory(
        "dram", "DRAM", f"{gpu.dram_gb} GB" if gpu and gpu.dram_gb else "", 0, 0, PANEL_WIDTH
    )
    second = memory("l2", "L2", f"{l2} MB", 0, dram.bottom + _GAP, PANEL_WIDTH)
    y = second.bottom + _GAP + 26
    first = memory("l1", "L1", f"≤ {least + most} KB", _INSET, y, half)
    shared = memory("shared", "shared memory", f"≤ {most} KB", right, y, half)
    lanes = gpu.fp32_lanes if gpu else 0
    size = f"{card.device.registers_per_sm * FLOAT_BYTES // 1024} KB"
    lines = (size, *([f"{2 * lanes} numbers"] if lanes else []))
    registers = _Part("registers", lines, "register", _INSET, first.bottom + _GAP, inner, 2 * lanes)
    last, issued = registers.bottom + _GAP, f"{SCHEDULERS} instructions × {WARP}"
    multiply = f"{lanes or ''} multiply-adds".strip()
    return [
        dram, second, first, shared, registers,
        _Part("schedulers", (issued,), "kernel", _INSET, last, half),
        _Part("FP32 units", (multiply,), "kernel", right, last, half),
    ]  # fmt: skip


def _drawn(part: _Part) -> list[str]:
    left, width, height = part.x + 1, part.width - 2, part.bottom - part.y - 2
    shapes = [
        rectangle(left, part.y + 1, width, height, part.hue, 0.08),
        outline(left, part.y + 1, width, height, part.hue),
        words(left + 8, part.y + 17, part.name, bold=True),
    ]
    for row, line in enumerate(part.lines, 2):
        shapes.append(words(left + 8, part.y + 1 + row * _LINE, line, hue="muted"))
    if part.gives:
        wide = part.gives * _PER_NUMBER
        # Registers feed the FP32 units, at the right.
        middle = part.x + part.width * (0.75 if part.name == "registers" else 0.5)
        shapes.append(rectangle(middle - wide / 2, part.bottom, wide, _GAP, part.hue, 0.6))
    return shapes
