"""Axe finds a faint word among many that look alike, whatever makes it faint."""

import pytest
from playwright.sync_api import Browser

from accessible import faults

pytestmark = pytest.mark.browser

ALIKE = "<p class='fine'>as it should be</p>" * 20
PAGE = """<!doctype html><html lang="en"><head><title>Words</title>
<style>.fine {{ color: #333; background: #fff; }} .dark {{ color: #333; }}</style></head>
<body><main><h1>Words</h1>{words}</main></body></html>"""
FAINT = {
    "letters": "<p class='fine' id='faint' style='color: #ccc'>faint</p>",
    "ground": "<p class='fine' id='faint' style='background: #444'>faint</p>",
    "parent's ground": "<div style='background: #444'><p class='dark' id='faint'>faint</p></div>",
    "translucent parent": "<div style='opacity: 0.3'><p class='fine' id='faint'>faint</p></div>",
}


@pytest.mark.parametrize("why", FAINT)
def test_the_one_faint_word_is_found_among_many_alike(chromium: Browser, why: str) -> None:
    with chromium.new_page() as page:
        page.set_content(PAGE.format(words=ALIKE + FAINT[why] + ALIKE))
        (fault,) = faults(page)
        assert fault.startswith("color-contrast: #faint ")
