"""Cards with the first picture of a page, for chat programs: one photograph by a browser, cut up.

The site's own sheet draws them, so a card looks like its page.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path

from bs4 import BeautifulSoup
from PIL import Image

from sgemm_lab.book.browser import FLAGS, NAMES
from sgemm_lab.files import write_whole

WIDTH, HEIGHT = 1200, 630
"""Pixels; the shape that social networks show whole."""

_PICTURES = "figure.lab-opener:has(svg), .lab-widget-still, figure.lab-captioned svg"
_WORDS = "figcaption, .lab-opener-question, .lab-opener-origin"
_SECONDS = 120
_ROOM = 640
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
.share-card-picture {{ flex: none; width: {_ROOM}px; height: 530px; overflow: hidden; }}
.share-card-picture > div {{ width: 686px; transform-origin: 0 0; }}
.share-card-picture .lab-widget-still {{ display: block; }}
"""
_FIT = f"""
for (const picture of document.querySelectorAll(".share-card-picture")) {{
  const inside = picture.firstElementChild;
  const scale = Math.min({_ROOM} / inside.scrollWidth, 530 / inside.scrollHeight, 1.4);
  const above = (530 - scale * inside.scrollHeight) / 2;
  inside.style.transform = `translateY(${{above}}px) scale(${{scale}})`;
}}
"""


@dataclass(frozen=True)
class Words:
    """What stands beside a picture: the book, the page's title, and what the page changes."""

    book: str
    title: str
    change: str


def program() -> str | None:
    """Return a Chromium that can draw the cards, if one is here."""
    named = os.environ.get("SGEMM_LAB_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def picture_of(html: str) -> str:
    """Return the first picture of a page as HTML, or "" if it has none."""
    found = BeautifulSoup(html, "html.parser").select_one(_PICTURES)
    if found is None:
        return ""
    for words in found.select(_WORDS):
        words.decompose()
    return str(found)


def draw(chromium: str, sheet: Path, cards: Sequence[tuple[Path, Words, str]]) -> None:
    """Draw cards and write each as a PNG.

    Args:
        chromium: the program.
        sheet: the site's style sheet.
        cards: of each the file to write, its words, and a picture of ``picture_of``.

    Raises:
        subprocess.CalledProcessError: the browser failed.
        subprocess.TimeoutExpired: it took too long.
    """
    body = "".join(_card(place, words, picture) for place, (_, words, picture) in enumerate(cards))
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
            for place, (file, _, _) in enumerate(cards):
                part = whole.crop((0, HEIGHT * place, WIDTH, HEIGHT * (place + 1)))
                packed = BytesIO()
                part.convert("RGB").quantize(128).save(packed, "png", optimize=True)
                write_whole(file, packed.getvalue())


def _card(place: int, words: Words, picture: str) -> str:
    return (
        f'<div class="share-card" style="top: {place * HEIGHT}px"><div class="share-card-text">'
        f"<b>{escape(words.book)}</b><strong>{escape(words.title)}</strong>"
        f'<p>{escape(words.change)}</p></div><div class="share-card-picture">'
        f'<div class="bd-article sgemm-lab">{picture}</div></div></div>'
    )
