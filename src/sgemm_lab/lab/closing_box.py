"""The HTML of a closing box: a sentence, bars, terms with their texts, a fold, the source."""

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import FLOP_PER_WARP_FMA
from sgemm_lab.kernel import Size
from sgemm_lab.lab.verdicts import with_code
from sgemm_lab.models.bound import PEAK, rates
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.text import number, size_text, with_spaced_percents

CUBE: Size = (SIZE, SIZE, SIZE)
"""The size that a box does not name."""
Rows = Sequence[tuple[str, str]]
"""Terms and their texts. Code stands in backticks."""

_LINE = "var(--lab-line, #7d8590)"
_WAIT = re.compile("[Ww]arps wait")
"""Words that a page links to the stall reasons in its glossary."""
_MUTED = "var(--lab-muted, #57606a)"


class Bars(NamedTuple):
    """Speeds on one scale: the kernel before, if any, and the kernel with its bound."""

    speeds: Sequence[tuple[str, float]]
    """Names and speeds; the last is the kernel of the box."""
    bound: float
    peak: float
    """Of the units that multiply. The scale ends there, or at the limit where that is higher."""
    units: str
    """Which units these are."""
    unit: str = "GFLOP/s"

    @property
    def text(self) -> str:
        """The bars in words."""
        speeds = ", ".join(f"{name} {number(speed)}" for name, speed in self.speeds)
        return f"{speeds}, {self._limit}, {self._peak} {self.unit}"

    def html(self) -> str:
        """Return the bars: one scale for both, so that the longer one is the faster."""
        lines = [
            f"<span></span>{self._label(self.peak, self._peak, f'color:{_MUTED}')}"
            f'<span style="text-align:right;color:{_MUTED}">{self.unit}</span>'
        ]
        for place, (name, speed) in enumerate(self.speeds):
            last = place == len(self.speeds) - 1
            hue = "var(--lab-kernel, #3b4450)" if last else _LINE
            limit = self._line(self.bound, "inset:0 auto -3px 0", "solid") if last else ""
            shown = f"<strong>{number(speed)}</strong>" if last else number(speed)
            lines.append(
                f"<code>{escape(name)}</code>"
                '<div style="position:relative;height:14px;background:var(--lab-grid, #e1e4e8)">'
                f'<div style="width:{self._at(speed)};height:100%;background:{hue}"></div>'
                f'{limit}</div><span style="text-align:right">{shown}</span>'
            )
        rows = f"inset:0 auto 0 0;align-self:stretch;grid-area:2/2/{2 + len(self.speeds)}/3"
        lines.append(self._line(self.peak, rows, f"dashed {_MUTED}"))
        lines.append(f"<span></span>{self._label(self.bound, self._limit)}<span></span>")
        return (
            f'<div role="img" aria-label="{escape(self.text)}" style="position:relative;'
            "display:grid;grid-template-columns:fit-content(40%) minmax(0,1fr) max-content;"
            'gap:5px 10px;align-items:center;margin:10px 0 0;font-size:13px">'
            f"{''.join(lines)}</div>"
        )

    def _line(self, speed: float, place: str, style: str) -> str:
        """Return a vertical line at a speed: the peak's crosses all bars, the limit's only one."""
        return (
            f'<div style="position:absolute;{place};width:{self._at(speed)};'
            f'border-right:2px {style}"></div>'
        )

    @property
    def _peak(self) -> str:
        return f"peak of {self.units} {number(self.peak)}"

    @property
    def _limit(self) -> str:
        return f"limit {number(self.bound)}"

    def _label(self, speed: float, text: str, style: str = "") -> str:
        """Return the label of a mark: as far to its left as the mark is to the right."""
        at = self._at(speed)
        return (
            f'<div style="height:1.5em;{style}"><span style="position:relative;white-space:nowrap;'
            f'display:inline-block;left:{at};transform:translateX(-{at})">{text}</span></div>'
        )

    def _at(self, speed: float) -> str:
        return f"{100 * speed / max(self.bound, self.peak):.1f}%"


def peak_of(gpu: Gpu, arithmetic: str) -> tuple[str, float]:
    """Return the units that multiply in an arithmetic, and their peak in GFLOP/s."""
    base = arithmetic.removeprefix("3x")
    units = "FP32 units" if base == "fp32" else f"tensor cores in {base.upper()}"
    return units, FLOP_PER_WARP_FMA * rates(gpu, base)[PEAK]


class Box(NamedTuple):
    """The content of a closing box."""

    name: str
    """Of the kernel or the plan."""
    size: Size
    bound: tuple[str, str]
    """What holds it back, and the rest of that sentence; both "" where that is not known."""
    rows: Rows
    numbers: Rows
    """The rows that are folded."""
    source: str
    bars: Bars | None = None
    share: str = ""
    """Of cuBLAS in the same arithmetic, such as "17 % of cuBLAS"."""

    @property
    def _at(self) -> str:
        at = "" if self.size == CUBE else f" at {size_text(self.size)}"
        return f"{at}: {self.share}" if self.share else at

    @property
    def _lead(self) -> str:
        return with_spaced_percents("".join(self.bound))

    def html(self) -> str:
        """Return the box as HTML."""
        head, rest = self.bound
        lead = f"<strong>{escape(head)}</strong>{with_code(with_spaced_percents(rest))}"
        lead = _WAIT.sub(r'<span data-term="stall reason">\g<0></span>', lead, count=1)
        lead = f'<p style="margin:0">{lead}</p>' if head else ""
        numbers = (
            '<details style="margin-top:8px"><summary>The numbers</summary>'
            f"{_terms(self.numbers)}</details>"
        )
        made = (
            f'<section class="lab-closing" aria-label="Closing box: {escape(self.name)}" '
            f'style="border:1px solid {_LINE};border-radius:8px;padding:12px 16px;margin:4px 0">'
            f'<p style="margin:0 0 6px;color:{_MUTED}">Where <code>{escape(self.name)}</code> '
            f"stands{self._at}</p>"
            f"{lead}{self.bars.html() if self.bars else ''}{_terms(self.rows)}"
            f"{numbers if self.numbers else ''}"
            f'<p class="lab-provenance" style="margin:10px 0 0">{escape(self.source)}</p></section>'
        )
        return made.replace(" %", "\N{NO-BREAK SPACE}%")

    def text(self) -> str:
        """Return the box as lines of text."""
        bars = f" {self.bars.text}" if self.bars else ""
        lines = [f"Where {self.name} stands{self._at}.{bars}"]
        lines += [f"  {self._lead}"] if self._lead else []
        lines += [
            f"  {term}: {with_spaced_percents(text)}" for term, text in (*self.rows, *self.numbers)
        ]
        return "\n".join([*lines, self.source])


def _terms(rows: Rows) -> str:
    lines = "".join(
        '<div style="display:flex;flex-wrap:wrap;gap:0 12px;margin-top:3px">'
        f'<dt style="flex:0 0 7.5rem;font-weight:normal;color:{_MUTED}">{term}</dt>'
        f'<dd style="flex:1 1 18rem;margin:0">{with_code(with_spaced_percents(text))}</dd></div>'
        for term, text in rows
    )
    return f'<dl style="margin:8px 0 0;font-size:0.92em;line-height:1.5">{lines}</dl>'
