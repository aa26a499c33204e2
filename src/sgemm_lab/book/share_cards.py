"""The picture that goes with a page's address where it is shared: title, change, and a picture.

One photograph by a browser has them all, and is cut up. The site's own style sheet draws them, so a
card looks like its page. Where no browser is found, pages have no cards.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from bs4 import BeautifulSoup
from PIL import Image
from sphinx.application import Sphinx

from sgemm_lab.book.browser import FLAGS, NAMES
from sgemm_lab.files import write_whole

FIELD = "change"
"""The field of a page's front matter that says in a short sentence what the page changes."""
FOLDER = "_static/cards"
WIDTH, HEIGHT = 1200, 630
"""Pixels; the shape that social networks show whole."""

_PICTURES = "figure.lab-opener:has(svg), .lab-widget-still, figure.lab-captioned svg"
_WORDS = "figcaption, .lab-opener-question, .lab-opener-origin"
_SECONDS = 120
_PICTURE_WIDTH = 640
_STYLE = f"""
body {{ margin: 0; }}
.share-card {{ position: absolute; display: flex; gap: 44px; align-items: center;
  box-sizing: border-box; overflow: hidden; width: {WIDTH}px; height: {HEIGHT}px;
  padding: 44px 52px; }}
.share-card-text {{ flex: 1; min-width: 0; }}
.share-card-text b {{ color: var(--lab-muted); font-size: 21px; font-weight: 400; }}
.share-card-text strong {{ display: block; margin: 18px 0 22px; font-size: 46px; line-height: 1.12;
  overflow-wrap: anywhere; }}
.share-card-text p {{ font-size: 24px; line-height: 1.4; }}
.share-card-picture {{ flex: none; width: {_PICTURE_WIDTH}px; height: 530px; overflow: hidden; }}
.share-card-picture > div {{ width: 686px; transform-origin: 0 0; }}
.share-card-picture .lab-widget-still {{ display: block; }}
"""
_FIT = f"""
for (const picture of document.querySelectorAll(".share-card-picture")) {{
  const inside = picture.firstElementChild;
  const scale = Math.min({_PICTURE_WIDTH} / inside.scrollWidth, 530 / inside.scrollHeight, 1.4);
  const above = (530 - scale * inside.scrollHeight) / 2;
  inside.style.transform = `translateY(${{above}}px) scale(${{scale}})`;
}}
"""


def program() -> str | None:
    """Return a Chromium that can draw the cards, if one is here."""
    named = os.environ.get("SGEMM_LAB_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def write_cards(app: Sphinx) -> None:
    """Draw the card of every page, if the site's address is known: a card is found by it alone."""
    chromium = program()
    if not app.config.html_baseurl or not chromium:
        return
    site = Path(app.outdir)
    (site / FOLDER).mkdir(parents=True, exist_ok=True)
    pages = sorted(app.env.found_docs)
    pictures = {page: picture_of((site / f"{page}.html").read_text("utf-8")) for page in pages}
    cards = {
        site / FOLDER / f"{Path(page).name}.png": card(
            app.config.html_title,
            _numbered(page, app.env.titles[page].astext()),
            str(app.env.metadata[page].get(FIELD, "")),
            pictures[page] or pictures[app.config.root_doc],
        )
        for page in pages
    }
    draw(chromium, site / "_static" / "site.css", list(cards), list(cards.values()))


def _numbered(page: str, title: str) -> str:
    """Return a page's title, behind the number of its chapter, which its name begins with."""
    number = Path(page).name.partition("_")[0]
    return f"{int(number)}  {title}" if number.isdecimal() and int(number) else title


def picture_of(html: str) -> str:
    """Return the first picture of a page as HTML, or "" if it has none."""
    found = BeautifulSoup(html, "html.parser").select_one(_PICTURES)
    if found is None:
        return ""
    for words in found.select(_WORDS):
        words.decompose()
    return str(found)


def card(book: str, title: str, change: str, picture: str) -> str:
    """Return a card as HTML: the book's title, the page's, what the page changes, a picture."""
    return (
        f'<div class="share-card-text"><b>{escape(book)}</b><strong>{escape(title)}</strong>'
        f'<p>{escape(change)}</p></div><div class="share-card-picture">'
        f'<div class="bd-article sgemm-lab">{picture}</div></div>'
    )


def draw(chromium: str, sheet: Path, files: Sequence[Path], cards: Sequence[str]) -> None:
    """Draw cards, one below the other, and write each to its file as a PNG.

    Args:
        chromium: the program.
        sheet: the site's style sheet.
        files: where the cards go.
        cards: as ``card`` returns them.
    """
    body = "".join(
        f'<div class="share-card" style="top: {place * HEIGHT}px">{one}</div>'
        for place, one in enumerate(cards)
    )
    with tempfile.TemporaryDirectory() as folder:
        page, photograph = Path(folder, "cards.html"), Path(folder, "cards.png")
        page.write_text(
            '<!doctype html><html lang="en" data-theme="light" data-mode="light">'
            f'<meta charset="utf-8"><link rel="stylesheet" href="{sheet.as_uri()}">'
            f"<style>{_STYLE}</style><body>{body}<script>{_FIT}</script></body></html>",
            encoding="utf-8",
        )
        size = f"--window-size={WIDTH},{HEIGHT * len(cards)}"
        command = [chromium, "--headless", *FLAGS, "--hide-scrollbars", size]
        command += ["--virtual-time-budget=4000", f"--screenshot={photograph}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        with Image.open(photograph) as whole:
            for place, file in enumerate(files):
                part = whole.crop((0, HEIGHT * place, WIDTH, HEIGHT * (place + 1)))
                packed = BytesIO()
                part.convert("RGB").quantize(128).save(packed, "png", optimize=True)
                write_whole(file, packed.getvalue())
