"""A kernel in CUDA and in WGSL on a page: side by side where there is room, else below."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from accessible import faults
from sgemm_lab import lab
from sgemm_lab.book import readme_picture, theme
from sgemm_lab.book.assets import ASSETS

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en" data-theme="{mode}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Two languages</title>
<link rel="stylesheet" href="book-theme.css"><link rel="stylesheet" href="book.css"></head>
<body style="margin: 0; background: var(--lab-bg); color: var(--lab-fg)">
<main class="bd-article" style="max-width: 48rem; padding: 0 1rem"><h1>Two languages</h1>
<div class="cell"><details class="above-output" open><summary>In WGSL</summary>
<div class="cell_output"><div class="output text_html">{content}</div></div></details></div>
</main></body></html>"""
ROWS = """() => [...document.querySelectorAll(".lab-beside tbody tr")].map((row) =>
  [...row.cells].map((cell) => cell.getBoundingClientRect()).map(({ left, top, right, bottom }) =>
    ({ left, top, right, bottom })))"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("beside")
    shutil.copy(ASSETS / "book.css", folder)
    (folder / "book-theme.css").write_text(theme.stylesheet(), encoding="utf-8")
    content = lab.wgsl("double_buffer").html
    for mode in ("light", "dark"):
        html = PAGE.format(mode=mode, content=content)
        (folder / f"{mode}.html").write_text(html, encoding="utf-8")
    with readme_picture.served(folder) as served:
        yield served


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    yield context.new_page()
    context.close()


def opened(page: Page, address: str, width: int, mode: str = "light") -> Page:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}/{mode}.html")
    return page


def test_what_says_the_same_stands_in_one_row_where_there_is_room(page: Page, address: str) -> None:
    opened(page, address, 1280)
    for cuda, wgsl in page.evaluate(ROWS):
        assert cuda["top"] == wgsl["top"]
        assert cuda["right"] <= wgsl["left"]


def test_on_a_phone_each_line_stands_under_its_fellow(page: Page, address: str) -> None:
    opened(page, address, 390)
    for cuda, wgsl in page.evaluate(ROWS):
        assert cuda["bottom"] <= wgsl["top"]
        assert cuda["left"] == wgsl["left"]


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_scrolls_sideways(page: Page, address: str, width: int) -> None:
    opened(page, address, width)
    wide = page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll(".lab-beside *")]
          .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 0)
          .map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert not wide


@pytest.mark.parametrize(("width", "mode"), [(1280, "light"), (390, "dark")])
def test_it_is_a_table_to_those_who_hear_it(
    page: Page, address: str, width: int, mode: str
) -> None:
    opened(page, address, width, mode)
    assert faults(page, ".lab-beside") == []
    table = page.get_by_role("table")
    assert table.get_by_role("columnheader").all_inner_texts() == [
        "CUDA · kernels/180_double_buffer.cu",
        "WGSL",
    ]
    rows = table.get_by_role("row").evaluate_all("(all) => all.map((row) => row.cells.length)")
    assert set(rows) == {2}
    assert table.get_by_role("cell").count() == 2 * (len(rows) - 1)  # less the head
