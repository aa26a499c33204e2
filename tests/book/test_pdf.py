"""The book on paper: numbered pages, contents, links that lead on within, and no code cut off."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from sites import ROOT, Site

from sgemm_lab.book.pdf import Part, parts_of, write
from sgemm_lab.errors import LabError

TOC = """
root: one
parts:
  - caption: More
    chapters:
      - file: two
      - file: three
"""
TALL = "<p style='height: 1500px'>tall</p>"
PAGES = {
    "one": f'<h1>First</h1><a href="two.html#deep">on</a>{TALL}',
    "two": "<h1>Second<a style='display: none'>#</a></h1>"
    f'<a href="#deep">down</a>{TALL}{TALL}<p id="deep">Deep.</p>',
    "three": '<h1>Third</h1><a href="one.html">back</a> <a href="notes.ipynb">a file</a>'
    ' <a href="https://example.org/">out</a><details><summary>More</summary>Unfolded.</details>'
    '<details class="hide"><summary>Cell</summary>Folded.</details>',
}


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> PdfReader:
    folder = tmp_path_factory.mktemp("paper")
    (folder / "_toc.yml").write_text(TOC)
    for name, body in PAGES.items():
        html = f"<!doctype html><meta charset=utf-8><article>{body}</article>"
        (folder / f"{name}.html").write_text(html)
    out = folder / "paper.pdf"
    write(chromium, parts_of(folder / "_toc.yml", folder), "Three pages", out)
    return PdfReader(out)


def titles(outline: Sequence[Any]) -> list[str]:
    return [one["/Title"] for one in outline if not isinstance(one, list)]


def links(reader: PdfReader, number: int) -> list[int | str]:
    """Where the links of a page lead: the number of a page, from 1, or an address."""
    places = reader.named_destinations
    found: list[int | str] = []
    for reference in reader.pages[number - 1].get("/Annots", ()):
        annotation = reference.get_object()
        if "/Dest" in annotation:
            place = reader.get_destination_page_number(places[annotation["/Dest"]])
            found.append(1 + (place or 0))
        else:
            found.append(annotation["/A"]["/URI"])
    return found


def start_of(reader: PdfReader, title: str) -> int:
    """The number of the first page, from 1, whose running head has the title."""
    texts = [page.extract_text() for page in reader.pages]
    return next(i for i, text in enumerate(texts, 1) if i > 2 and text.startswith(title))


@pytest.mark.browser
def test_pages_are_numbered_from_the_cover_and_the_contents_lead_to_all(paper: PdfReader) -> None:
    texts = [page.extract_text() for page in paper.pages]
    assert "Three pages" in texts[0]
    for number, text in enumerate(texts[2:], 3):
        assert str(number) in text.splitlines()
    starts = {title: start_of(paper, title) for title in ("First", "Second", "Third")}
    assert texts[1].splitlines() == ["Contents", "First", "More", "Second", "Third"]
    assert titles(paper.outline) == ["Three pages", "First", "Second", "Third"]
    assert links(paper, 2) == list(starts.values())


@pytest.mark.browser
def test_links_lead_within_the_paper_or_out_to_the_web(paper: PdfReader) -> None:
    texts = [page.extract_text() for page in paper.pages]
    deep = next(i for i, text in enumerate(texts, 1) if "Deep." in text)
    second = start_of(paper, "Second")
    assert deep > second
    assert links(paper, 3) == [deep]
    assert links(paper, second) == [deep]
    assert links(paper, start_of(paper, "Third")) == [3, "https://example.org/"]


@pytest.mark.browser
def test_a_chapter_prints_its_listing_whole_and_its_panel_not_at_all(
    book: Site, chromium: Any, tmp_path: Path
) -> None:
    out = tmp_path / "chapter.pdf"
    write(chromium, [Part(book.folder / "chapters" / "02_tiling.html", None)], "A chapter", out)
    text = re.sub(r"\s", "", "".join(page.extract_text() for page in PdfReader(out).pages))
    source = (ROOT / "kernels" / "030_tiled.cu").read_text().splitlines()
    longest = max((line for line in source if "static_assert" in line), key=len)
    assert re.sub(r"\s", "", longest) in text
    panel = "Notrunyet"
    html = (book.folder / "chapters" / "02_tiling.html").read_text(encoding="utf-8")
    assert panel in re.sub(r"\s", "", html)
    assert panel not in text
    assert "Contents" in text


def test_a_page_that_was_not_built_is_named(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text(TOC)
    with pytest.raises(LabError, match=r"no page .*one\.html\. Build the book first: make book"):
        parts_of(tmp_path / "_toc.yml", tmp_path)
