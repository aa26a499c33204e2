"""What a page says of itself to search engines, and where its address is shared."""

import re

import pytest
from sites import ADDRESS, Site

META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


@pytest.mark.browser
def test_every_page_says_what_it_is_and_where(specimen: Site) -> None:
    html = (specimen.folder / "chapters" / "first.html").read_text(encoding="utf-8")
    said = dict(META.findall(html))
    assert said["description"].startswith("Every element of a chapter. A page of “")
    assert said["og:description"] == said["description"]
    assert said["og:url"] == f"{ADDRESS}chapters/first.html"
    assert f'<link rel="canonical" href="{ADDRESS}chapters/first.html" />' in html
    picture = specimen.folder / said["og:image"].removeprefix(ADDRESS)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.browser
def test_descriptions_differ_from_page_to_page(book: Site) -> None:
    said = {}
    for path in sorted((book.folder / "chapters").glob("*.html")):
        found = dict(META.findall(path.read_text(encoding="utf-8")))
        said[found["description"]] = path.name
        assert 40 <= len(found["description"]) <= 400, path.name
    assert len(said) == len([*(book.folder / "chapters").glob("*.html")])
