"""The ledger: every claim with its verdict, on its page and on the page of all claims."""

import re
from typing import Any

import pytest
from sites import WAYS, Site

from accessible import faults
from browser import PHONE

ANCHOR = re.compile(r'id="verdict-([\w-]+)"')
PAGE = "chapters/ledger.html"


def keys_on_pages(site: Site) -> dict[str, list[str]]:
    return {page: ANCHOR.findall((site.folder / page).read_text()) for page in site.pages}


@pytest.mark.browser
def test_page_of_all_claims_has_them_all_and_leads_to_each(book: Site) -> None:
    html = (book.folder / "chapters" / "A4_ledger.html").read_text()
    links = re.findall(r'href="([\w.]+)#verdict-([\w-]+)"', html)
    claims = [(page, key) for page, keys in keys_on_pages(book).items() for key in keys]
    assert sorted((f"chapters/{page}", key) for page, key in links) == sorted(claims)


def visible_verdicts(page: Any) -> list[str]:
    rows = page.locator(".lab-ledger tr[data-verdict]:visible")
    return [str(row.get_attribute("data-verdict")) for row in rows.all()]


@pytest.mark.browser
def test_claims_are_grouped_by_page_in_order(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    heads = page.locator(".lab-ledger th[scope=rowgroup]")
    assert heads.all_inner_texts() == ["Claims about TILE"]
    assert visible_verdicts(page) == ["wrong", "confirmed", "depends"]
    shown = page.locator(".lab-ledger label").all_inner_texts()
    assert shown == ["all 3", "✓ confirmed 1", "✗ wrong 1", "⇄ depends 1"]


@pytest.mark.browser
def test_reader_filters_claims_with_the_keyboard_and_follows_one(
    specimen: Site, contexts: Any
) -> None:
    page = contexts().goto(specimen, PAGE).page
    page.locator(".lab-ledger input").first.focus()
    for verdict in ("confirmed", "wrong", "depends"):
        page.keyboard.press("ArrowDown")
        assert visible_verdicts(page) == [verdict]
    assert page.locator(".lab-ledger input:focus-visible").count() == 1
    page.keyboard.press("Tab")  # to the link of the page
    page.keyboard.press("Tab")  # to the verdict that is left
    page.keyboard.press("Enter")
    page.wait_for_url("**/claims.html#verdict-more-slower")
    assert page.locator("#verdict-more-slower").inner_text().startswith("It is slower.")


@pytest.mark.browser
@pytest.mark.parametrize("name", [PAGE, "chapters/claims.html"])
@pytest.mark.parametrize(("device", "colours"), WAYS)
def test_verdicts_are_accessible_and_fit(
    specimen: Site, contexts: Any, name: str, colours: str, device: str
) -> None:
    options = PHONE if device == "phone" else {}
    page = contexts(color_scheme=colours, **options).goto(specimen, name).page
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
