"""What a page says of itself to search engines, and where its address is shared."""

import re
from pathlib import Path

import pytest
from PIL import Image
from sites import ADDRESS, Site

from sgemm_lab.book import share_cards

META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


@pytest.mark.browser
def test_every_page_says_what_it_is_and_where(specimen: Site) -> None:
    html = (specimen.folder / "chapters" / "first.html").read_text(encoding="utf-8")
    said = dict(META.findall(html))
    assert said["description"].startswith("Every element of a chapter. A page of “")
    assert said["og:description"] == said["description"]
    assert said["og:url"] == f"{ADDRESS}chapters/first.html"
    assert f'<link rel="canonical" href="{ADDRESS}chapters/first.html" />' in html
    card = specimen.folder / said["og:image"].removeprefix(ADDRESS)
    assert card.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.browser
def test_descriptions_differ_from_page_to_page(book: Site) -> None:
    said = {}
    chapters = [book.folder / page for page in book.pages if page.startswith("chapters/")]
    for path in chapters:
        found = dict(META.findall(path.read_text(encoding="utf-8")))
        said[found["description"]] = path.name
        assert 40 <= len(found["description"]) <= 400, path.name
    assert len(said) == len(chapters)


OPENER = """<figure class="lab-opener"><p class="lab-opener-question">Why?</p>
<div class="lab-panels"><svg><rect fill="#00f" width="90" height="90"/></svg></div>
<figcaption>So.</figcaption></figure><div class="lab-widget-still">later</div>"""


def test_the_first_picture_of_a_page_is_on_its_card_without_its_words() -> None:
    found = share_cards.picture_of(OPENER)
    assert "<rect" in found
    assert not {"Why?", "So.", "later"} & set(re.findall(r"[\w?.]+", found))
    assert "later" in share_cards.picture_of('<div class="lab-widget-still">later</div>')
    assert share_cards.picture_of("<p>words</p>") == ""


@pytest.mark.browser
def test_a_browser_draws_the_cards(tmp_path: Path) -> None:
    chromium = share_cards.program()
    if chromium is None:
        pytest.fail("The tests bring a browser.")
    sheet = tmp_path / "site.css"
    sheet.write_text("body { background: #fff }", encoding="utf-8")
    files = [tmp_path / f"{place}.png" for place in range(2)]
    card = share_cards.card("The book", "2  Tiling", "What it changes", OPENER)
    share_cards.draw(chromium, sheet, files, [card, card])
    for file in files:
        with Image.open(file) as picture:
            assert picture.size == (share_cards.WIDTH, share_cards.HEIGHT)
            found = picture.convert("RGB").getcolors(1 << 20)
        assert any(b > 200 > 60 > r for _, (r, _, b) in found or [])
        assert file.stat().st_size < 100_000
