"""One style sheet and one script for all pages."""

import re
from pathlib import Path

import pytest
from sites import Site
from turns import TAKES_TURNS

from sgemm_lab.book import asset_bundle

pytestmark = TAKES_TURNS

STYLES = re.compile(r'<link[^>]*rel="stylesheet"[^>]*>')
SCRIPTS = re.compile(r'<script[^>]*src="(?:[^"]*/)?([^"/?]+)')


def static(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


THEIRS = """.a, .absent { x: var(--one) } .set { x: y } .word { x: y }
:root { --one: 1; --two: 2; --three: 3 } p { a: url(../font.woff2); b: url(data:x) }
"""


def test_looks_of_others_are_pruned_and_the_books_own_are_not(tmp_path: Path) -> None:
    files = {
        "styles/pydata-sphinx-theme.css": THEIRS,
        "book.css": ".c { x: var(--two) }",
        "page.html": "<p class='a b'>word</p>",
        "page.js": 'node.className = "set"',
    }
    folder = static(tmp_path, files)
    sheet = asset_bundle.joined_sheet(folder, [folder / "page.html"], [folder / "page.js"])
    assert sheet.splitlines()[0] == (
        ".a{x:var(--one)}.set{x:y}:root{--one: 1;--two: 2}p{a:url(font.woff2);b:url(data:x)}"
        ".c{x:var(--two)}"
    )


def test_scripts_keep_their_order_and_do_not_run_into_each_other(tmp_path: Path) -> None:
    files = {"book.js": "two() // last", "doctools.js": "one()"}
    assert asset_bundle.joined_script(static(tmp_path, files)) == "one()\n;\ntwo() // last\n;\n"


@pytest.mark.browser
def test_a_page_loads_one_sheet_and_no_script_that_it_does_not_need(specimen: Site) -> None:
    script = (specimen.folder / "_static" / asset_bundle.SCRIPT).read_text(encoding="utf-8")
    assert 'addEventListener("load",I)' not in script  # the theme's tab stops
    for page in ("chapters/first.html", "chapters/second.html"):
        html = (specimen.folder / page).read_text(encoding="utf-8")
        assert len(STYLES.findall(html)) == 1
        scripts = SCRIPTS.findall(html)
        assert scripts[0] == asset_bundle.SCRIPT
        assert not {"bootstrap.js", "fontawesome.js", "searchtools.js", "book.js"} & {*scripts}
