"""The book on paper: one PDF of the built pages, with contents, page numbers and working links.

``python -m sgemm_lab.book.pdf`` makes it from ``_build/html``; ``make pdf`` builds that first.
Each page is printed by Chromium and the parts are joined by pypdf. Chromium numbers pages by the
counter of CSS ("CSS Paged Media", margin boxes), so a part is printed twice: once to learn how many
pages it has, and once with its first number.
"""

import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import yaml

from sgemm_lab.book import browser
from sgemm_lab.book.repository import known_repository
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pypdf import PdfReader, PdfWriter

_SCALE = 0.72
"""How large a page's pixel is printed: a line of prose then has some 90 letters."""
_SECONDS = 120
"""How long a page may take to load: a machine may have other work."""
_SHEET = "size: A4; margin: 18mm 17mm 20mm;"
_SMALL = "font: 8pt sans-serif; color: #555;"
_UNFOLD = """
const folded = document.querySelectorAll("article details:not(.lab-widget-table, .hide)");
for (const one of folded) one.open = true;
"""
"""Opens what is folded, but for tables that repeat a picture and the cells of a notebook."""
_CONTENTS = """
body { font: 11pt/1.5 sans-serif; color: #1f2328; margin: 0 }
h1 { font-size: 30pt; line-height: 1.15; margin: 55mm 0 6mm }
h2 { font-size: 16pt; break-before: page }
li, p { margin: 1.2mm 0 } ol { list-style: none; padding: 0 }
a { color: inherit; text-decoration: none; display: flex; gap: 3mm; align-items: baseline }
a i { flex: 1; border-bottom: 1px dotted #999 }
.part { margin-top: 5mm; font-weight: bold }
"""


@dataclass(frozen=True)
class Part:
    """One page of the site, as the table of contents lists it."""

    file: Path
    caption: str | None
    """What stands above it in the contents: the name of a part of the book that begins here."""


@dataclass
class Printed:
    """A part as PDF, and its title."""

    part: Part
    title: str
    reader: "PdfReader"
    first: int = 0
    """Number of its first page; the cover is 1."""


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


def write(chromium: "Browser", parts: Sequence[Part], title: str, out: Path) -> int:
    """Print the parts into one PDF; return how many pages it has.

    Raises:
        LabError: the file cannot be written.
    """
    from pypdf import PdfWriter

    page = chromium.new_page()
    page.set_default_timeout(_SECONDS * 1000)
    page.emulate_media(media="print", color_scheme="light")
    made: list[Printed] = []
    for part in parts:
        print(f"Printing {part.file.stem}", file=sys.stderr, flush=True)
        first = made[-1].first + len(made[-1].reader.pages) if made else 0
        made.append(_printed(page, part, first))
    front = len(_read(_print_contents(page, title, made)).pages)
    for one in made:
        one.first += front + 1
        one.reader = _printed(page, one.part, one.first).reader
    contents = _read(_print_contents(page, title, made))
    page.close()
    writer = PdfWriter()
    writer.append(contents, import_outline=False)
    for one in made:
        writer.append(one.reader, outline_item=one.title)
    _lead_links_within(writer, made, front)
    writer.add_metadata({"/Title": title, "/Producer": "sgemm-lab"})
    whole = io.BytesIO()
    writer.write(whole)
    write_whole(out, whole.getvalue())
    return len(writer.pages)


def _read(pdf: bytes) -> "PdfReader":
    from pypdf import PdfReader

    return PdfReader(io.BytesIO(pdf))


def _printed(page: "Page", part: Part, first: int) -> Printed:
    """Open a page of the site and print it, its first page numbered ``first``."""
    page.goto(part.file.as_uri())
    page.evaluate("window.labWidgetsDrawn")
    page.evaluate("document.fonts.ready")
    title = page.locator("article h1").first.inner_text().rstrip("#").strip()
    # Paper cannot open what is folded.
    page.evaluate(_UNFOLD)
    page.add_style_tag(content=_numbered(title, first))
    return Printed(part, title, _read(_pdf(page, scale=_SCALE)), first)


def _numbered(title: str, first: int) -> str:
    """The style that numbers pages from ``first`` and has the title above all but that one."""
    return (
        f"@page {{ {_SHEET}"
        f"@bottom-center {{ content: counter(page); {_SMALL} }}"
        f"@top-right {{ content: {json.dumps(title, ensure_ascii=False)}; {_SMALL} }} }}"
        "@page :first { @top-right { content: none } }"
        f"html {{ counter-reset: page {first - 1} }}"
    )


def _print_contents(page: "Page", title: str, made: Sequence[Printed]) -> bytes:
    """Print the cover and the table of contents."""
    known = known_repository(Path.cwd())
    rows = "".join(
        (f'<li class="part">{escape(one.part.caption)}</li>' if one.part.caption else "")
        + f'<li><a href="{escape(one.part.file.as_uri())}">{escape(one.title)}<i></i>'
        + f"{one.first}</a></li>"
        for one in made
    )
    page.set_content(
        f"<!doctype html><html lang=en><style>{_CONTENTS} @page {{ {_SHEET} }}</style>"
        f"<h1>{escape(title)}</h1><p>The pages of an interactive book, as they stood when "
        "this file was made. Its widgets are still pictures here.</p>"
        + (f"<p>{escape(known.address)}</p>" if known else "")
        + f"<h2>Contents</h2><ol>{rows}</ol>"
    )
    return _pdf(page)


def _pdf(page: "Page", scale: float = 1) -> bytes:
    return page.pdf(
        prefer_css_page_size=True, print_background=True, outline=True, tagged=True, scale=scale
    )


def _lead_links_within(writer: "PdfWriter", made: Sequence[Printed], front: int) -> None:
    """Let links to pages of the site lead to pages of the PDF; drop those to other local files."""
    starts = {one.part.file.as_uri(): one for one in made}
    for sheet, source in _sources(writer, made, front):
        kept = []
        for reference in sheet.get("/Annots", ()):
            annotation = reference.get_object()
            goal = _goal(annotation, source, starts)
            if goal is not None:
                for name in ("/A", "/Dest"):
                    annotation.pop(name, None)
                _point(annotation, writer, goal)
            if goal is not None or not _is_local(annotation):
                kept.append(reference)
        if "/Annots" in sheet:
            _replace_annotations(sheet, kept)


def _sources(
    writer: "PdfWriter", made: Sequence[Printed], front: int
) -> Iterator[tuple[Any, Printed | None]]:
    """Every page of the PDF, with the part that it belongs to; None for the contents."""
    owners: list[Printed | None] = [None] * front
    for one in made:
        owners += [one] * len(one.reader.pages)
    return zip(writer.pages, owners, strict=True)


def _goal(annotation: Any, source: Printed | None, starts: dict[str, Printed]) -> int | None:
    """Return the page, from 0, that a link leads to; None if it leads out of the PDF."""
    if "/Dest" in annotation and source is not None:
        named = source.reader.named_destinations.get(str(annotation["/Dest"]))
        number = None if named is None else source.reader.get_destination_page_number(named)
        return source.first - 1 + (number or 0)
    address, _, anchor = _address(annotation).partition("#")
    part = starts.get(address) or starts.get(unquote(address))
    if part is None:
        return None
    named = part.reader.named_destinations.get(f"/{anchor}")
    number = None if named is None else part.reader.get_destination_page_number(named)
    return part.first - 1 + (number or 0)


def _address(annotation: Any) -> str:
    return str(annotation.get("/A", {}).get("/URI", ""))


def _is_local(annotation: Any) -> bool:
    return _address(annotation).startswith("file:") or "/Dest" in annotation


def _point(annotation: Any, writer: "PdfWriter", goal: int) -> None:
    from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

    sheet = writer.pages[goal]
    # To the top of the page, as large as the reader has it.
    where = (NameObject("/XYZ"), FloatObject(0), FloatObject(sheet.mediabox.top), NullObject())
    place = ArrayObject([sheet.indirect_reference, *where])
    annotation[NameObject("/Dest")] = place


def _replace_annotations(sheet: Any, kept: Sequence[Any]) -> None:
    from pypdf.generic import ArrayObject, NameObject

    sheet[NameObject("/Annots")] = ArrayObject(kept)


def main() -> None:
    """Print the book of this checkout and say where the file is."""
    root = Path.cwd()
    title = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["title"]
    out = root / "_build" / "book.pdf"
    try:
        parts = parts_of(root / "_toc.yml", root / "_build" / "html")
        with browser.opened() as chromium:
            pages = write(chromium, parts, title, out)
    except LabError as refused:
        sys.exit(str(refused))
    print(f"The book has {pages} pages on paper: {out} ({out.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
