"""The picture that goes with a page's address where it is shared: title, change, and a picture.

It is the page's first picture where a browser can draw it, else the ladder.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from sphinx.application import Sphinx

from sgemm_lab import style
from sgemm_lab.book import picture_cards
from sgemm_lab.book.navigation import FIELD
from sgemm_lab.book.picture_cards import HEIGHT, WIDTH, Words
from sgemm_lab.models.ladder import GPU, SIZE, LadderStep, ladder
from sgemm_lab.records.store import load_records

FOLDER = "_static/cards"
_DPI = 100
_TITLE_COLUMNS, _CHANGE_COLUMNS = 30, 62


def write_cards(app: Sphinx) -> None:
    """Draw the card of every page, if the site's address is known: a card is found by it alone."""
    if not app.config.html_baseurl:
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    steps = [step for step in ladder(load_records()) if step.score and ":" not in step.kernel.name]
    chromium = picture_cards.program()
    drawn: list[tuple[Path, Words, str]] = []
    for page in sorted(app.env.found_docs):
        words = Words(
            app.config.html_title,
            _named(app.env.titles[page].astext(), chapter_of(page)),
            str(app.env.metadata[page].get(FIELD, "")),
        )
        file = folder / f"{Path(page).name}.png"
        html = Path(app.outdir, f"{page}.html").read_text(encoding="utf-8")
        if chromium and (picture := picture_cards.picture_of(html)):
            drawn.append((file, words, picture))
        else:
            card(words, steps, chapter_of(page)).savefig(file, dpi=_DPI)
    if chromium and drawn:
        picture_cards.draw(chromium, Path(app.outdir) / "_static" / "site.css", drawn)


def _named(title: str, chapter: int | None) -> str:
    """Return a page's title with the number of its chapter."""
    return f"{chapter}  {title}" if chapter else title


def chapter_of(page: str) -> int | None:
    """Return the number of a chapter, from its name; None for an appendix."""
    number = Path(page).name.partition("_")[0]
    return int(number) if number.isdecimal() else None


def card(words: Words, steps: Sequence[LadderStep], chapter: int | None) -> Figure:
    """Draw a card with the ladder.

    Args:
        words: what stands above the ladder.
        steps: the ladder. The kernels of this chapter stand out.
        chapter: the page's number.
    """
    with style.book_style():
        figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), facecolor=style.BACKGROUND)
        figure.set_layout_engine("none")
        figure.text(0.06, 0.88, words.book, fontsize=20, color=style.MUTED, va="center")
        lines = textwrap.wrap(words.title, _TITLE_COLUMNS)[:2]
        figure.text(0.06, 0.81, "\n".join(lines), fontsize=42, weight="bold", va="top")
        below = 0.81 - 0.13 * len(lines)
        figure.text(
            0.06, below, textwrap.fill(words.change, _CHANGE_COLUMNS), fontsize=19, va="top",
            color=style.FOREGROUND,
        )  # fmt: skip
        axes = figure.add_axes((0.06, 0.12, 0.88, 0.34))
        own = [step.kernel.chapter == chapter for step in steps]
        colours = [style.CUBLAS if mine else style.LINE for mine in own]
        axes.bar(range(len(steps)), [100 * step.share for step in steps], color=colours, width=0.8)
        axes.axhline(100, color=style.KERNEL, linewidth=2)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.text(-0.5, 102, "cuBLAS", fontsize=14, color=style.KERNEL, va="bottom")
        axes.set_xlim(-0.6, len(steps) - 0.4)
        said = f"the book's kernels, as shares of cuBLAS: {GPU}, FP32, {SIZE}³"
        figure.text(0.06, 0.055, said, fontsize=14, color=style.MUTED, va="center")
    return figure
