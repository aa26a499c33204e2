"""What a page says of itself to search engines, and where its address is shared."""

import re
from pathlib import Path

import pytest
from docutils import nodes
from PIL import Image
from sites import ADDRESS, Site

from sgemm_lab.book import picture_cards, share_cards
from sgemm_lab.book.page_head import description
from sgemm_lab.book.picture_cards import Words
from sgemm_lab.models.ladder import ladder
from sgemm_lab.records.store import load_records

META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


def page(*paragraphs: str | nodes.Element) -> nodes.document:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    section = nodes.section()
    document += section
    for one in paragraphs:
        section += nodes.paragraph("", one) if isinstance(one, str) else one
    return document


LONG = "This is the first sentence, and it is of a fair length."


def test_first_sentence_of_the_text_describes_a_page() -> None:
    assert description(page(f"{LONG} A second one.", "More.")) == LONG


def test_short_sentence_takes_the_next_along() -> None:
    assert description(page("Short. Then a second one. Third.")).startswith("Short. Then a second")


def test_formulas_are_told_by_their_signs() -> None:
    text = nodes.paragraph("", "Look at ", nodes.math("", "T^2"), nodes.Text(f" numbers. {LONG}"))
    assert description(page(text)) == f"Look at T² numbers. {LONG}"


def test_a_sentence_that_leads_to_a_list_ends_with_a_stop() -> None:
    assert description(page(f"{LONG[:-1]}:")) == LONG


@pytest.mark.browser
def test_every_page_says_what_it_is_and_where(specimen: Site) -> None:
    html = (specimen.folder / "chapters" / "first.html").read_text(encoding="utf-8")
    said = dict(META.findall(html))
    assert len(said["description"]) > 40
    assert said["og:description"] == said["description"]
    assert said["og:url"] == f"{ADDRESS}chapters/first.html"
    assert f'<link rel="canonical" href="{ADDRESS}chapters/first.html" />' in html
    card = specimen.folder / said["og:image"].removeprefix(ADDRESS)
    assert card.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.browser
def test_descriptions_differ_from_page_to_page(book: Site) -> None:
    said = {}
    for path in sorted((book.folder / "chapters").glob("*.html")):
        found = dict(META.findall(path.read_text(encoding="utf-8")))
        said[found["description"]] = path.name
        assert 40 <= len(found["description"]) <= 400, path.name
    assert len(said) == len([*(book.folder / "chapters").glob("*.html")])


def test_card_names_book_and_page_and_marks_the_kernels_of_the_chapter(tmp_path: Path) -> None:
    steps = [step for step in ladder(load_records()) if step.score and ":" not in step.kernel.name]
    figure = share_cards.card(Words("The book", "2  Tiling", "What it changes"), steps, 2)
    figure.savefig(tmp_path / "card.png", dpi=100)
    size = int.from_bytes((tmp_path / "card.png").read_bytes()[16:20], "big")
    assert size == picture_cards.WIDTH
    words = [text.get_text() for text in figure.texts]
    assert {"The book", "2  Tiling", "What it changes"} <= set(words)
    bars = figure.axes[0].patches
    colours = {bar.get_facecolor() for bar in bars}
    assert (len(bars), len(colours)) == (len(steps), 2)


OPENER = """<figure class="lab-opener"><p class="lab-opener-question">Why?</p>
<div class="lab-panels"><svg><rect fill="#00f" width="90" height="90"/></svg></div>
<figcaption>So.</figcaption></figure><div class="lab-widget-still">later</div>"""


def test_the_first_picture_of_a_page_is_on_its_card_without_its_words() -> None:
    found = picture_cards.picture_of(OPENER)
    assert "<rect" in found
    assert not {"Why?", "So.", "later"} & set(re.findall(r"[\w?.]+", found))
    assert "later" in picture_cards.picture_of('<div class="lab-widget-still">later</div>')
    assert picture_cards.picture_of("<p>words</p>") == ""


@pytest.mark.browser
def test_a_browser_draws_the_cards(tmp_path: Path) -> None:
    chromium = picture_cards.program()
    if chromium is None:
        pytest.fail("The tests bring a browser.")
    sheet = tmp_path / "site.css"
    sheet.write_text("body { background: #fff }", encoding="utf-8")
    words = Words("The book", "2  Tiling", "What it changes")
    cards = [(tmp_path / f"{i}.png", words, OPENER) for i in range(2)]
    picture_cards.draw(chromium, sheet, cards)
    for file, *_ in cards:
        with Image.open(file) as picture:
            assert picture.size == (picture_cards.WIDTH, picture_cards.HEIGHT)
            found = picture.convert("RGB").getcolors(1 << 20)
        assert any(b > 200 > 60 > r for _, (r, _, b) in found or [])
        assert file.stat().st_size < 100_000
