"""Ways through the book: the foot of each page, and the search."""

import re
from typing import Any

import pytest
import yaml
from sites import ROOT, Site
from turns import in_turn

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
SEARCHED = ["sliding_window", "__syncthreads", "wavefront", "float4"]


def front_matter(text: str) -> dict[str, Any]:
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return yaml.safe_load(found[1]) if found else {}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_page_says_in_a_short_sentence_what_it_changes(chapter: Any) -> None:
    change = front_matter(chapter.read_text()).get("change", "")
    assert 15 <= len(change) <= 90
    assert not change.endswith(".")


@pytest.mark.browser
def test_foot_of_a_page_tells_what_its_neighbours_change(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, "chapters/broken.html").page
    foot = page.get_by_role("navigation", name="Previous and next page")
    after = foot.locator(".right-next")
    assert after.locator(".prev-next-title").inner_text() == "Claims about TILE"
    assert after.locator(".prev-next-change").inner_text() == "Claims & a listing <of a kernel>"
    assert foot.locator(".left-prev .prev-next-title").inner_text() == "A second page"
    assert foot.locator(".left-prev .prev-next-change").count() == 0
    after.click()
    page.wait_for_url("**/claims.html")


@pytest.mark.browser
@pytest.mark.parametrize(("word", "scheme"), in_turn(SEARCHED, (("http",), ("file",))))
def test_search_finds_the_names_of_kernels_and_terms(
    book: Site, contexts: Any, word: str, scheme: str
) -> None:
    visit = contexts().goto(book, f"search.html?q={word}", scheme)
    visit.page.get_by_text("Search finished").wait_for()
    assert visit.page.locator("#search-results ul.search a").count() >= 1
    assert (visit.console, visit.outside) == ([], [])


@pytest.mark.browser
@pytest.mark.parametrize("term", ["Stream-K", "TMA", "NVLink", "occupancy", "swizzle"])
def test_search_finds_a_term_on_few_pages_and_first_where_it_is_explained(
    book: Site, contexts: Any, term: str
) -> None:
    page = contexts().goto(book, f"search.html?q={term}", "http").page
    page.get_by_text("Search finished").wait_for()
    found = page.locator("#search-results ul.search > li > a").all_inner_texts()
    assert len(found) <= 12
    explained = [title for title in found if title == "Words and symbols"]
    assert explained
    if term != "TMA":  # an abbreviation of the term's name
        assert found[0] == "Words and symbols"


@pytest.mark.browser
def test_search_finds_what_stands_in_a_listing_alone(specimen: Site, contexts: Any) -> None:
    visit = contexts().goto(specimen, "search.html?q=constexpr")
    visit.page.get_by_text("Search finished").wait_for()
    found = visit.page.locator("#search-results ul.search > li > a").all_inner_texts()
    assert found == ["Claims about TILE"]


@pytest.mark.browser
def test_an_excerpt_is_of_the_article_and_the_icon_covers_no_text(
    specimen: Site, contexts: Any
) -> None:
    page = contexts().goto(specimen, "search.html?q=constexpr").page
    excerpt = page.locator("#search-results .context").first.inner_text()
    assert not excerpt.startswith(("Notebook", "Contents"))
    field = page.locator(".bd-article input.form-control, main input.form-control").first
    icon = page.locator("main .bd-search .fa-magnifying-glass").first.bounding_box()
    padding = field.evaluate("one => parseFloat(getComputedStyle(one).paddingInlineStart)")
    assert field.bounding_box()["x"] + padding >= icon["x"] + icon["width"]
