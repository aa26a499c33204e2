"""The HTML of a closing box: a name, a picture, terms with their sentences, the source."""

from collections.abc import Sequence
from html import escape

from sgemm_lab.kernel import Size
from sgemm_lab.lab.verdicts import with_code
from sgemm_lab.models.bound import HOLDS
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.text import size_text

CUBE: Size = (SIZE, SIZE, SIZE)
"""The size that a box does not name."""
LINE = "var(--lab-line, #7d8590)"


def before_term(share: float) -> str:
    """Return the term before the bound of the kernel before, which reached that share of it."""
    return "Was bound by" if share >= HOLDS else "Ceiling before"


def now_term(share: float) -> str:
    """Return the term before the bound of a kernel that reaches that share of it."""
    return "Bound now by" if share >= HOLDS else "Ceiling now"


def at_text(size: Size) -> str:
    """Return " at M×N×K", or nothing at the usual size."""
    return "" if size == CUBE else f" at {size_text(size)}"


def box(
    name: str,
    size: Size,
    bar: str,
    rows: list[tuple[str, str]],
    provenance: str,
    legend: str = "",
    program: str = "",
    *,
    folded: Sequence[tuple[str, str]] = (),
) -> str:
    """Return a closing box as HTML: a name, a picture, terms with their sentences, the source.

    Args:
        name: of the kernel or the plan.
        size: M, N, K of the measurement.
        bar: HTML of the picture.
        rows: term and sentence; code stands in backticks.
        provenance: where the numbers come from.
        legend: HTML that explains how to read it.
        program: name of the WGSL twin, by which a page finds the box; "" if there is none.
        folded: more terms, with the arithmetic, which open on request.
    """
    fold = (
        f'<details style="margin-top:8px"><summary>The arithmetic</summary>{_terms(folded)}'
        "</details>"
        if folded
        else ""
    )
    mark = f' data-program="{escape(program)}"' if program else ""
    return (
        f'<section class="lab-closing"{mark} aria-label="Closing box: {escape(name)}" '
        'style="border:1px '
        f'solid {LINE};border-radius:8px;padding:12px 16px;margin:4px 0">'
        f'<p style="margin:0 0 8px"><strong>Where <code>{escape(name)}</code> stands'
        f"{at_text(size)}</strong></p>"
        f"{bar}{_terms(rows)}{legend}{fold}"
        f'<p class="lab-provenance" style="margin:10px 0 0">{escape(provenance)}</p>'
        "</section>"
    )


def _terms(rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(
        '<div style="display:flex;flex-wrap:wrap;gap:0 12px;margin-top:3px">'
        '<dt style="flex:0 0 6.75rem;font-weight:normal;color:var(--lab-muted, #57606a)">'
        f'{term}</dt><dd style="flex:1 1 18rem;margin:0">{with_code(text)}</dd></div>'
        for term, text in rows
    )
    return f'<dl style="margin:8px 0 0;font-size:0.92em;line-height:1.5">{lines}</dl>'
