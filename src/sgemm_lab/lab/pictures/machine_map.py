"""One map of the GPU for all chapters, with the part that limits the kernels marked on it."""

from typing import NamedTuple

from sgemm_lab.errors import LabError
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
    stroke,
    words,
)
from sgemm_lab.models.bound import SCHEDULERS
from sgemm_lab.text import number

_BOX = 40
_GAP = 12
_INSET = 10
_TITLE = "What each part gives one SM in a clock"
_NOW, _WAS = "limit", "before"


class _Part(NamedTuple):
    """A part of the machine: its box on the map."""

    name: str
    rate: str
    hue: str
    x: float
    y: float
    width: float


def machine_map(now: str = "", *, was: str = "", says: str = "") -> Output:
    """Draw the map of the machine and mark the limit that a chapter moves, for each GPU.

    A chapter that moves the limit shows it near its top. Rates are per clock and SM: of DRAM and
    L2 as measured on this machine's GPU or the recorded ones, of the rest by design.

    Args:
        now: the part that limits the chapter's last kernel: "DRAM", "L2", "L1", "shared memory",
            "registers", "schedulers", "multiply-add units", or "SMs" where there are too few
            blocks; without it nothing is marked.
        was: the part that limited the kernel before; the same part where the limit stays, none in
            the first chapter.
        says: what the caption adds to the first sentence.

    Raises:
        LabError: there is no such part; no record has microbenchmarks.
    """
    return each_gpu(lambda: _map(now, was, says))


def _map(now: str, was: str, says: str) -> Output:
    card = measured_card()
    gpu = card.sheet
    parts = _parts(card, gpu)
    names = [*(part.name for part in parts), "SMs"]
    for name in (now, was):
        if name and name not in names:
            raise LabError(f"The map has no '{name}': take one of {', '.join(names)}.")
    top, bottom = 2 * (_BOX + _GAP), parts[-1].y + _BOX
    tags = {was: _WAS, now: _NOW}
    frame = _Part("SMs", "", "line", 0, top, PANEL_WIDTH)
    shapes = [_frame(frame, bottom + _INSET - top, tags.get("SMs", ""))]
    shapes.append(words(_INSET, top + 18, f"one of {card.device.sms} SMs", bold=True))
    shapes += [shape for part in parts for shape in _drawn(part, tags.get(part.name, ""))]
    shapes += [_wire(PANEL_WIDTH / 2, y, _GAP) for y in (_BOX, 2 * _BOX + _GAP)]
    moved = _sentence(now, was)
    ways = "; ".join(f"{part.name}: {part.rate}" for part in parts)
    described = f"Map of {card.device.name}, from DRAM to the arithmetic. {moved} {_TITLE}: {ways}."
    svg = drawing(shapes, bottom + _INSET + 2, described)
    html = figure_html(
        f'<div class="lab-panel"><p class="lab-panel-title">{_TITLE}</p>{svg}</div>',
        f"{moved} {says}".rstrip(),
        kind="lab-opener lab-beside",
    )
    return Output(html, f"{described} {says}".rstrip())


def _parts(card: Card, gpu: Gpu | None) -> list[_Part]:
    clocks = card.device.sms * card.clock_mhz / 1e3  # of all SMs, in 10⁹ a second
    dram, l2 = (
        f"{number(card.bandwidth[level] / clocks / FLOAT_BYTES)} numbers, measured"
        for level in ("dram", "l2")
    )
    inner = PANEL_WIDTH - 2 * _INSET
    half = (inner - 8) / 2
    right = _INSET + half + 8
    y = 2 * (_BOX + _GAP) + 26
    step = _BOX + 8
    last, issued = y + 2 * step, f"{SCHEDULERS} instructions × {WARP}"
    lanes = f"{gpu.fp32_lanes} multiply-adds" if gpu else "multiply-adds"
    operands = f"{2 * gpu.fp32_lanes} numbers to multiply" if gpu else "numbers to multiply"
    banks = f"{BANKS} numbers"
    return [
        _Part("DRAM", dram, "dram", 0, 0, PANEL_WIDTH),
        _Part("L2", l2, "l2", 0, _BOX + _GAP, PANEL_WIDTH),
        _Part("L1", banks, "shared", _INSET, y, half),
        _Part("shared memory", "same 32 banks", "shared", right, y, half),
        _Part("registers", operands, "register", _INSET, y + step, inner),
        _Part("schedulers", issued, "kernel", _INSET, last, half),
        _Part("multiply-add units", lanes, "kernel", right, last, half),
    ]


def _sentence(now: str, was: str) -> str:
    if not now:
        return "The nearer to the arithmetic, the more arrives in a clock."
    called = f"{_called(now)[0].upper()}{_called(now)[1:]}"
    sets = "set" if _is_plural(now) else "sets"
    if not was:
        return f"{called} {sets} the limit here."
    if now == was:
        return f"{called} still {sets} the limit."
    return f"{called} {sets} the limit in this chapter, instead of {_called(was)}."


def _called(name: str) -> str:
    """Return the part's name within a sentence."""
    return (
        "the number of busy SMs" if name == "SMs" else f"the {name}" if _is_plural(name) else name
    )


def _is_plural(name: str) -> bool:
    return name.endswith("s") and name != "SMs"


def _drawn(part: _Part, tag: str) -> list[str]:
    now, was = tag == _NOW, tag == _WAS
    left, width = part.x + 1, part.width - 2
    solid = rectangle(left, part.y + 1, width, _BOX - 2, part.hue, 0.36 if now else 0.08)
    edge = 3 if now else 2 if was else 1
    border = outline(left, part.y + 1, width, _BOX - 2, part.hue, thick=edge, dashed=was)
    shapes = [solid, border, words(left + 8, part.y + 17, part.name, bold=True)]
    shapes.append(words(left + 8, part.y + 32, part.rate, hue="muted" if not now else "fg"))
    if tag:
        shapes.append(
            words(
                left + width - 8,
                part.y + (17 if len(part.name) < len(part.rate) else 32),
                tag,
                anchor="end",
                bold=now,
            )
        )
    return shapes


def _frame(part: _Part, height: float, tag: str) -> str:
    now = tag == _NOW
    shape = outline(
        1,
        part.y + 1,
        part.width - 2,
        height - 1,
        "fg" if tag else "line",
        thick=3 if now else 2 if tag else 1,
        dashed=tag == _WAS,
    )
    if not tag:
        return shape
    return shape + words(part.width - 10, part.y + 18, tag, anchor="end", bold=now)


def _wire(x: float, y: float, length: float) -> str:
    return stroke(f"M{x:g} {y:g}v{length:g}m-4 -5l4 5l4 -5", "fg", thick=1.4)
