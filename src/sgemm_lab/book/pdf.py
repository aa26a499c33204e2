"""The book on paper: Chromium prints the built pages, one after another, into one PDF.

``python -m sgemm_lab.book.pdf`` makes it from ``_build/html``; ``make pdf`` builds that first.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from sgemm_lab.book import browser
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_SCALE = 0.72
"""How large a page's pixel is printed: a line of prose then has some 90 letters."""
_SECONDS = 300
"""How long loading may take: a machine may have other work."""
_UNFOLD = """
const folded = document.querySelectorAll("article details:not(.lab-widget-table, .hide)");
for (const one of folded) one.open = true;
"""
"""Opens what is folded, but for tables that repeat a picture and the cells of a notebook."""
_FOOT = """<div style="width: 100%; font: 8px sans-serif; color: #555; text-align: center">
<span class="title"></span>, <span class="pageNumber"></span></div>"""


def pages_of(toc: Path, site: Path) -> list[Path]:
    """Return the pages of a built site in the order of its table of contents."""
    listed = yaml.safe_load(toc.read_text(encoding="utf-8"))
    chapters = [one["file"] for part in listed["parts"] for one in part["chapters"]]
    pages = [site / f"{name}.html" for name in (listed["root"], *chapters)]
    for page in pages:
        if not page.is_file():
            raise LabError(f"There is no page {page}. Build the book first: make book.")
    return pages


def write(chromium: "Browser", pages: Sequence[Path], out: Path) -> None:
    """Print pages into one PDF, whose outline has their titles."""
    from pypdf import PdfWriter

    book, whole = PdfWriter(), io.BytesIO()
    tab = chromium.new_page(color_scheme="light")
    tab.set_default_timeout(_SECONDS * 1000)
    for page in pages:
        tab.goto(page.as_uri())
        tab.evaluate("document.fonts.ready")
        tab.evaluate(_UNFOLD)  # Paper cannot open what is folded.
        printed = tab.pdf(
            format="A4",
            margin={"top": "18mm", "bottom": "20mm", "left": "17mm", "right": "17mm"},
            display_header_footer=True,
            header_template="<i></i>",
            footer_template=_FOOT,
            print_background=True,
            tagged=True,
            scale=_SCALE,
        )
        book.append(io.BytesIO(printed), outline_item=tab.title().partition(" — ")[0])
    book.write(whole)
    write_whole(out, whole.getvalue())


def main() -> None:
    """Print the book of this checkout and say where the file is."""
    root = Path.cwd()
    out = root / "_build" / "book.pdf"
    try:
        pages = pages_of(root / "_toc.yml", root / "_build" / "html")
        with browser.opened() as chromium:
            write(chromium, pages, out)
    except LabError as refused:
        sys.exit(str(refused))
    print(f"The book on paper: {out} ({out.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
