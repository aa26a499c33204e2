"""Symbols lead to what they mean: from listings, from prose, and never to nowhere."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from sites import ROOT, Site

from accessible import faults
from sgemm_lab import lab
from sgemm_lab.book import collecting
from sgemm_lab.book.glossary import pages_to_link_again, with_links

pytestmark = pytest.mark.browser

PAGE = "chapters/claims.html"
LINK = re.compile(r'<a class="[^"]*\blab-symbol\b[^"]*" href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
TERM = re.compile(r'<a class="[^"]*\blab-word\b[^"]*" href="([^"]*)">(.*?)</a>', re.DOTALL)
ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
ANCHOR = re.compile(r'id="symbol-(\w+)"')
DECLARED = re.compile(r"\b(?:int|float|float4|bool|auto)\s*\*?\s*([A-Za-z_]\w+)")


def names(html: str) -> list[str]:
    return [re.sub(r"<.*?>", "", text) for _, text in LINK.findall(html)]


def test_listing_links_a_symbol_where_it_first_stands_and_changes_no_text() -> None:
    html = lab.show("sliding_window").html
    linked = with_links(html, {"TILE": "w.html#symbol-TILE", "As": "w.html#symbol-As"})
    assert re.sub(r"<.*?>", "", linked) == re.sub(r"<.*?>", "", html)
    assert LINK.findall(linked) == [
        ("w.html#symbol-TILE", '<span class="n">TILE</span>'),
        ("w.html#symbol-As", '<span class="n">As</span>'),
    ]
    assert linked.count('rel="nofollow"') == 2


def test_terms_are_written_in_every_build_for_the_search() -> None:
    pages = {"words": {"words": [[("tile", "term-tile", "A part of a matrix.")]]}}
    env: Any = SimpleNamespace(found_docs={"words", "other"}, **{collecting._ATTRIBUTE: pages})
    app: Any = None
    assert sorted(pages_to_link_again(app, env)) == ["other", "words"]
    assert pages_to_link_again(app, env) == ["words"]


def test_text_links_a_symbol_once_in_each_section_and_in_no_heading(specimen: Site) -> None:
    (article,) = ARTICLE.findall((specimen.folder / PAGE).read_text())
    first, second = article.split("<h2>")
    listing = re.compile(r"<figure class=\"lab-source\">.*?</figure>", re.DOTALL)
    assert names(listing.sub("", first)) == ["TILE", "threadIdx.x"]
    assert names(listing.sub("", second)) == ["TILE", "__syncthreads()"]
    (source,) = listing.findall(second)
    assert names(source) == ["TILE", "BK", "As", "Bs", "threadIdx", "__syncthreads"]


@pytest.mark.chromium_only("a page without scripts")
def test_symbol_leads_to_its_meaning_without_scripts(specimen: Site, contexts: Any) -> None:
    page = contexts(java_script_enabled=False).goto(specimen, PAGE).page
    page.locator(".lab-source a.lab-symbol").nth(2).click()
    page.wait_for_url("**/words.html#symbol-As")
    assert page.locator(":target").inner_text() == "As"


def test_a_term_is_linked_once_a_page_and_never_where_it_is_explained(book: Site) -> None:
    for page in book.pages:
        html = (book.folder / page).read_text()
        addresses = [address for address, _ in TERM.findall(html)]
        assert len(addresses) == len(set(addresses)), page
        assert not re.search(r"<h\d[^>]*>[^<]*<a[^>]*lab-word", html), page
        assert not re.search(r"<strong><a[^>]*lab-word[^>]*>[^<]*</a></strong>", html), page
    chapter = TERM.findall((book.folder / "chapters" / "02_tiling.html").read_text())
    assert len(chapter) > 5


def test_a_word_explains_itself_where_it_stands(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    link = page.locator(".lab-source a.lab-symbol").nth(2)
    note = page.locator("#lab-meaning")
    height = page.evaluate("document.documentElement.scrollHeight")

    link.hover()  # the pointer rests on it
    note.wait_for()
    assert note.inner_text().startswith("As Tiles, filled by each threadIdx")
    assert link.get_attribute("aria-describedby") == "lab-meaning"
    page.mouse.move(3, 3)
    note.wait_for(state="detached")

    page.keyboard.press("Tab")  # from now on the focus shows
    link.focus()
    note.wait_for()
    page.keyboard.press("Escape")
    assert note.count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") == height
    link.click()
    page.wait_for_url("**/words.html#symbol-As")


@pytest.mark.chromium_only("a finger")
def test_a_tap_explains_on_a_phone_and_axe_finds_nothing(specimen: Site, contexts: Any) -> None:
    phone = contexts(viewport={"width": 390, "height": 844}, has_touch=True)
    page = phone.goto(specimen, PAGE).page
    page.locator(".lab-source a.lab-symbol").nth(2).tap()
    note = page.locator("#lab-meaning")
    box = note.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults(page) == []


def test_every_symbol_of_the_book_leads_somewhere(book: Site) -> None:
    known = set(ANCHOR.findall((book.folder / "chapters" / "A3_words.html").read_text()))
    found = 0
    for page in book.pages:
        for address, _ in LINK.findall((book.folder / page).read_text()):
            home, _, name = address.partition("#symbol-")
            assert (home, name in known) == ("A3_words.html", True), (page, address)
            found += 1
    assert found


def test_every_name_that_a_kernel_declares_has_a_meaning(book: Site) -> None:
    known = set(ANCHOR.findall((book.folder / "chapters" / "A3_words.html").read_text()))
    for path in (ROOT / "kernels").glob("*.cu*"):
        source = re.sub(r'//.*|"[^"\n]*"', "", path.read_text())
        new = set(DECLARED.findall(source)) - known - {"operator"}
        assert new == set(), f"{path.name}: say in chapters/A3_words.md what they mean"
