"""What all drawings share: shapes in the page's colours, panels, and the figure around them."""

import re
from collections.abc import Iterable, Mapping
from html import escape

from sgemm_lab.lab.output import Output
from sgemm_lab.style import THEME_COLOURS
from sgemm_lab.widgets import Frames
from sgemm_lab.widgets.frames import Frame

PANEL_WIDTH = 340
LETTERS = 12
"""Size of words in a drawing, in px; a panel never shrinks, so they keep it."""
PALE = 0.26
"""Opacity of what was fetched or is owned, but not in use."""


def colour(name: str) -> str:
    """A colour of the book: the page's own, or the light one where there is no style sheet."""
    variable = f"--lab-{name}"
    return f"var({variable},{THEME_COLOURS[variable][0]})"


def rectangle(
    x: float, y: float, width: float, height: float, hue: str, opacity: float = 1.0
) -> str:
    """Return a filled rectangle; ``hue`` names a colour of the book, such as "shared"."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour(hue)}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def outline(
    x: float,
    y: float,
    width: float,
    height: float,
    hue: str = "line",
    thick: float = 1,
    dashed: bool = False,
) -> str:
    """Return the outline of a rectangle, drawn as by ``stroke``."""
    return stroke(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z", hue, thick=thick, dashed=dashed)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    hue: str,
    opacity: float = PALE,
    label: str = "",
    *,
    ink: str = "fg",
    edge: str = "",
    bold: bool = False,
) -> str:
    """Return a rectangle with its outline, in another hue where ``edge`` has one, and a label."""
    shapes = rectangle(x, y, width, height, hue, opacity) if opacity else ""
    shapes += outline(x + 0.5, y + 0.5, width - 1, height - 1, edge or hue)
    middle, base = x + width / 2, y + height / 2 + 4
    return shapes + words(middle, base, label, hue=ink, anchor="middle", bold=bold) * bool(label)


def stroke(path: str, hue: str, *, thick: float = 1, dashed: bool = False) -> str:
    """Return a line along a path of SVG."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{colour(hue)}" stroke-width="{thick:g}"{dashes}/>'


def lattice(x: float, y: float, rows: range, columns: range, wide: float, high: float) -> str:
    """Return the lines above some rows and left of some columns of cells of that size."""
    across, down = (columns.stop - 1) * wide, (rows.stop - 1) * high
    lines = [f"M{x:g} {y + i * high:g}h{across:g}" for i in rows]
    lines += [f"M{x + i * wide:g} {y:g}v{down:g}" for i in columns]
    return stroke("".join(lines), "grid", thick=0.8)


def words(
    x: float,
    y: float,
    text: str,
    *,
    hue: str = "fg",
    anchor: str = "start",
    bold: bool = False,
    size: float = LETTERS,
) -> str:
    """Return a text whose baseline begins, ends or has its middle at a place."""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
        f'fill="{colour(hue)}">{escape(text)}</text>'
    )


def drawing(parts: Iterable[str], height: float, described: str, width: float = PANEL_WIDTH) -> str:
    """Return shapes as one picture; ``described`` says what it shows to who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(described)}" class="lab-drawing">{"".join(parts)}</svg>'
    )


def panel(
    title: str, parts: Iterable[str], height: float, described: str, says: str = ""
) -> Output:
    """Return a drawing with its title above and a line with numbers below it.

    ``says`` may set words in bold between two stars.
    """
    picture = drawing(parts, height, described)
    html = (
        f'<div class="lab-panel"><p class="lab-panel-title">{escape(title)}</p>{picture}'
        f'<p class="lab-panel-says">{_bold(says)}</p></div>'
    )
    return Output(html, f"{title}: {described} {_plain(says)}".rstrip())


def beside(*panels: Output) -> Output:
    """Set panels side by side as one; on a phone they stand below each other."""
    drawn = "".join(one.html for one in panels)
    return Output(f'<div class="lab-panels">{drawn}</div>', "\n".join(one.text for one in panels))


def figure(*panels: Output, conclusion: str = "", question: str = "", origin: str = "") -> Output:
    """Set one or two panels side by side, with their conclusion below them.

    The first sentence of ``conclusion`` is bold. A figure with a ``question`` opens a chapter;
    where the question is about a widget, the widget follows, and after it another figure has the
    conclusion. ``origin`` says where numbers come from.
    """
    asked = f'<p class="lab-opener-question">{escape(question)}</p>' if question else ""
    side_by_side = beside(*panels).html if panels else ""
    kind = "lab-opener lab-beside" if len(panels) == 1 else "lab-opener"
    html = figure_html(f"{asked}{side_by_side}", conclusion, origin=origin, kind=kind)
    lines = [question, *(one.text for one in panels), _plain(conclusion), origin]
    return Output(html, "\n".join(line for line in lines if line))


def figure_html(
    content: str, conclusion: str, *, origin: str = "", kind: str = "lab-opener"
) -> str:
    """Return a figure with its caption, whose first sentence is bold."""
    found = re.match(r"(.*?[.:?!])(\s.*|$)", conclusion, re.S)
    first, rest = found.groups() if found else (conclusion, "")
    source = f'<p class="lab-origin">{escape(origin)}</p>' if origin else ""
    concluded = f"<p><strong>{_bold(first)}</strong>{_bold(rest)}</p>" if conclusion else ""
    caption = f"<figcaption>{concluded}{source}</figcaption>" if concluded or source else ""
    return f'<figure class="{kind}">{content}{caption}</figure>'


def intervals(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return whole numbers as runs of neighbours: 0, 1, 2, 8, 9 becomes (0, 2), (8, 9)."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def frames(label: str, panels: Mapping[str, Output], *, frame: int = 0) -> Frames:
    """Slide through panels of the same size, such as ``reads`` at one k after the other.

    Args:
        label: what the slider moves.
        panels: by what the slider shows for each, such as "k = 3".
        frame: the number of the one that is shown first; paper shows it alone.
    """
    return Frames(
        [Frame(name=name, html=one.html, says=one.text) for name, one in panels.items()],
        label,
        frame=frame,
    )


def _bold(text: str) -> str:
    marked = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", marked)


def _plain(text: str) -> str:
    return text.replace("**", "").replace("`", "")
