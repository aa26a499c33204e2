"""Ways through the book: the foot of each page, and the search."""

from itertools import pairwise
from typing import Any

import pytest
from page_kinds import CHAPTERS
from sites import Site
from turns import TODAY, in_turn

SEARCHED = ["sliding_window", "__syncthreads", "wavefront", "float4"]


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


def test_takeaway_of_a_chapter_leads_to_the_next(book: Site) -> None:
    for page, after in pairwise(CHAPTERS[1:16]):
        _, _, rest = (book.folder / page).read_text("utf-8").partition('<div class="takeaway')
        assert f'href="{after.rpartition("/")[2]}"' in rest.partition("</div>")[0], page


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
@pytest.mark.sampled(every=3, first=TODAY)
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
    excerpt = visit.page.locator("#search-results .context").first.inner_text()
    assert not excerpt.startswith(("Notebook", "Contents"))
