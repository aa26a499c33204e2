"""The book on paper: all pages in order, unfolded, and no code cut off."""

import re
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from sites import ROOT, Site

from sgemm_lab.book.pdf import pages_of, write
from sgemm_lab.errors import LabError

TOC = "root: one\nparts:\n- chapters:\n  - file: two\n"
FOLDS = """<details><summary>More</summary>Unfolded.</details>
<details class="hide"><summary>Cell</summary>Folded.</details>"""


@pytest.mark.browser
def test_pages_follow_each_other_unfolded(tmp_path: Path, chromium: Any) -> None:
    (tmp_path / "_toc.yml").write_text(TOC)
    for name in ("one", "two"):
        article = f"<title>{name}</title><article>This is {name}. {FOLDS}</article>"
        (tmp_path / f"{name}.html").write_text(article)
    write(chromium, pages_of(tmp_path / "_toc.yml", tmp_path), tmp_path / "paper.pdf")
    paper = PdfReader(tmp_path / "paper.pdf")
    texts = [page.extract_text() for page in paper.pages]
    assert [name in text for name, text in zip(("one", "two"), texts, strict=True)] == [True, True]
    assert all("Unfolded." in text and "Folded." not in text for text in texts)
    assert [one["/Title"] for one in paper.outline if not isinstance(one, list)] == ["one", "two"]


@pytest.mark.browser
def test_a_chapter_prints_its_listing_whole_and_its_panel_not_at_all(
    book: Site, chromium: Any, tmp_path: Path
) -> None:
    out = tmp_path / "chapter.pdf"
    write(chromium, [book.folder / "chapters" / "02_tiling.html"], out)
    text = re.sub(r"\s", "", "".join(page.extract_text() for page in PdfReader(out).pages))
    source = (ROOT / "kernels" / "030_tiled.cu").read_text().splitlines()
    longest = max((line for line in source if "static_assert" in line), key=len)
    assert re.sub(r"\s", "", longest) in text
    panel = "Notrunyet"
    html = (book.folder / "chapters" / "02_tiling.html").read_text(encoding="utf-8")
    assert panel in re.sub(r"\s", "", html)
    assert panel not in text


def test_a_page_that_was_not_built_is_named(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text(TOC)
    with pytest.raises(LabError, match=r"no page .*one\.html\. Build the book first: make book"):
        pages_of(tmp_path / "_toc.yml", tmp_path)
