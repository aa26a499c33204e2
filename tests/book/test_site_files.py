"""The front door of a site, its map, and its page for who is lost."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from sites import ADDRESS, Site

from accessible import faults
from sgemm_lab.book import site_files
from sgemm_lab.book.site_files import PageName

PAGES = [PageName("chapters/one", "One & all"), PageName("b", "Two")]


def test_map_lists_every_page_by_its_whole_address() -> None:
    tree = ET.fromstring(site_files.site_map(PAGES, ADDRESS))
    places = [place.text for place in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == [f"{ADDRESS}chapters/one.html", f"{ADDRESS}b.html"]


def test_front_door_leads_to_the_first_page_and_says_what_is_there() -> None:
    door = site_files.front_door("The book", "chapters/one", "It is &lt;one&gt;.", ADDRESS)
    assert '<meta http-equiv="refresh" content="0; url=chapters/one.html">' in door
    assert '<meta name="description" content="It is &lt;one&gt;.">' in door
    assert f'<link rel="canonical" href="{ADDRESS}chapters/one.html">' in door
    assert "canonical" not in site_files.front_door("The book", "chapters/one", "", "")


def test_lost_page_leads_back_from_any_depth() -> None:
    page = site_files.lost("The book", PAGES, ADDRESS)
    assert page.index(f'<base href="{ADDRESS}">') < page.index("<a href")
    assert re.findall(r'<a href="([^"]+)">([^<]+)', page) == [
        ("chapters/one.html", "One &amp; all"),
        ("b.html", "Two"),
    ]


@pytest.mark.browser
@pytest.mark.parametrize("where", ["chapters/none.html", "none.html"])
def test_lost_page_finds_the_root_by_itself_where_no_address_is_known(
    specimen: Site, contexts: Any, where: str
) -> None:
    page = contexts().page
    lost = site_files.lost("The book", [PageName("chapters/first", "First")], "")
    under = f"{specimen.address}/the-book"
    page.route(f"{under}/**", lambda route: route.fulfill(status=404, body=lost))
    page.goto(f"{under}/{where}")
    link = page.get_by_role("link", name="First")
    assert link.evaluate("link => link.href") == f"{under}/chapters/first.html"
    assert faults(page) == []
