"""The book on paper: one PDF of the built pages, with contents, page numbers and working links.

``python -m sgemm_lab.book.pdf`` makes it from ``_build/html``; ``make pdf`` builds that first.
Chromium prints the articles of all pages as one document.
"""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from sgemm_lab.book import browser
from sgemm_lab.book.repository import known_repository
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_SCALE = 0.72
"""How large a page's pixel is printed: a line of prose then has some 90 letters."""
_SECONDS = 300
"""How long loading may take: a machine may have other work."""
_SMALL = "font: 8pt sans-serif; color: #555"
_UNFOLD = """
const folded = document.querySelectorAll("article details:not(.lab-widget-table, .hide)");
for (const one of folded) one.open = true;
"""
"""Opens what is folded, but for tables that repeat a picture and the cells of a notebook."""
_STYLE = f"""
@page {{ size: A4; margin: 18mm 17mm 20mm; @bottom-center {{ content: counter(page); {_SMALL} }} }}
@page front {{ @bottom-center {{ content: none }} }}
.paper-front {{ page: front; font: 15pt/1.5 sans-serif; color: #1f2328 }}
.paper-front h1 {{ font-size: 42pt; line-height: 1.15; margin: 75mm 0 8mm }}
.paper-front h2 {{ font-size: 22pt; break-before: page }}
.paper-front :is(li, p) {{ margin: 1.6mm 0 }}
.paper-front ol {{ list-style: none; padding: 0 }}
.paper-front a {{ color: inherit; text-decoration: none }}
.paper-front .part {{ margin-top: 7mm; font-weight: bold }}
body {{ display: block }}
article {{ width: 46rem; margin-left: 4rem }}
"""
_ID = re.compile(r'(?<=\bid=")(?=[^"])|(?<=href="#)|(?<=url\(#)')
_OTHER_PAGE = re.compile(r'href="([\w.-]+)\.html(?:#([^"]*))?"')
_ELSEWHERE = re.compile(r'href="(?!https?:|#)[^"]*"')


@dataclass(frozen=True)
class Part:
    """One page of the site, as the table of contents lists it."""

    file: Path
    caption: str | None
    """What stands above it in the contents: the name of a part of the book that begins here."""

    @property
    def article(self) -> str:
        """The page's article; ids begin with the page's name, and links lead to such ids."""
        name = self.file.stem
        html = self.file.read_text(encoding="utf-8")
        found = html[html.index("<article") : html.index("</article>")]
        found = _ID.sub(f"{name}--", found)
        found = _OTHER_PAGE.sub(
            lambda link: f'href="#{link[1]}{f"--{link[2]}" if link[2] else ""}"', found
        )
        found = _ELSEWHERE.sub("", found)
        return f'<div id="{name}" style="page: part-{name}">{found}</article></div>'

    @property
    def title(self) -> str:
        """The page's heading."""
        heading = re.search(r"<h1>(.*?)</h1>", self.article, re.DOTALL)
        without_link = re.sub(r"<a\b.*?</a>|<[^>]+>", "", heading[1] if heading else "")
        return " ".join(without_link.split())


def parts_of(toc: Path, site: Path) -> list[Part]:
    """Return the pages of a built site in the order of its table of contents.

    Raises:
        LabError: a page was not built.
    """
    listed = yaml.safe_load(toc.read_text(encoding="utf-8"))
    names: list[tuple[str, str | None]] = [(listed["root"], None)]
    for part in listed.get("parts", [listed]):
        caption = part.get("caption")
        for chapter in part["chapters"]:
            names.append((chapter["file"], caption))
            caption = None
    found = [Part(site / f"{name.removesuffix('.md')}.html", caption) for name, caption in names]
    for part in found:
        if not part.file.is_file():
            raise LabError(f"There is no page {part.file}. Build the book first: make book.")
    return found


def write(chromium: "Browser", parts: Sequence[Part], title: str, out: Path) -> None:
    """Print the parts, pages of one folder, into one PDF.

    Raises:
        LabError: the file cannot be written.
    """
    paper = parts[0].file.with_name("paper.html")
    page = chromium.new_page()
    page.set_default_timeout(_SECONDS * 1000)
    page.emulate_media(media="print", color_scheme="light")
    try:
        paper.write_text(_document(parts, title), encoding="utf-8")
        page.goto(paper.as_uri())
        page.evaluate("document.fonts.ready")
        page.evaluate(_UNFOLD)  # Paper cannot open what is folded.
        pdf = page.pdf(
            prefer_css_page_size=True,
            print_background=True,
            outline=True,
            tagged=True,
            scale=_SCALE,
        )
    finally:
        paper.unlink()
        page.close()
    write_whole(out, pdf)


def _document(parts: Sequence[Part], title: str) -> str:
    """Return all parts as one page behind a cover and the contents."""
    head = "".join(re.findall(r"<link[^>]*stylesheet[^>]*>", parts[0].file.read_text("utf-8")))
    running = "".join(
        f"@page part-{part.file.stem} {{ @top-right {{ {_SMALL}; "
        f"content: {json.dumps(part.title, ensure_ascii=False)} }} }}"
        for part in parts
    )
    rows = "".join(
        (f'<li class="part">{escape(one.caption)}</li>' if one.caption else "")
        + f'<li><a href="#{one.file.stem}">{one.title}</a></li>'
        for one in parts
    )
    known = known_repository(Path.cwd())
    return (
        '<!doctype html><html lang="en" data-theme="light" data-mode="light"><meta charset="utf-8">'
        f"<title>{escape(title)}</title>{head}<style>{_STYLE}{running}</style>"
        f'<div class="paper-front"><h1>{escape(title)}</h1><p>The pages of an interactive book, as '
        "they stood when this file was made. Its widgets are still pictures here.</p>"
        + (f"<p>{escape(known.address)}</p>" if known else "")
        + f"<h2>Contents</h2><ol>{rows}</ol></div>"
        + "".join(part.article for part in parts)
    )


def main() -> None:
    """Print the book of this checkout and say where the file is."""
    root = Path.cwd()
    title = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["title"]
    out = root / "_build" / "book.pdf"
    try:
        parts = parts_of(root / "_toc.yml", root / "_build" / "html")
        with browser.opened() as chromium:
            write(chromium, parts, title, out)
    except LabError as refused:
        sys.exit(str(refused))
    print(f"The book on paper: {out} ({out.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
