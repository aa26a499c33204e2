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


@pytest.mark.browser
def test_claims_are_grouped_by_page_in_order_and_lead_to_it(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    heads = page.locator(".lab-verdicts th[scope=rowgroup]")
    assert heads.all_inner_texts() == ["Claims about TILE"]
    verdicts = page.locator("a.lab-verdict")
    assert verdicts.all_inner_texts() == ["✗ wrong", "✓ confirmed", "⇄ depends"]
    verdicts.last.click()
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
