"""Chapter 10's panel: the reader's code stepped through, whose warps wait for some others only."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler_here import code_editor, package
from playwright.sync_api import Locator, Page, expect
from sites import Site, served

from sgemm_lab.book import panels, theme
from sgemm_lab.book.assets import ASSETS
from sgemm_lab.clang.package import write_site
from sgemm_lab.kernel import load_kernel

pytestmark = pytest.mark.browser

CHAPTER = Path(__file__).parents[2] / "chapters" / "10_past_the_library.md"
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A panel</title>
<link rel="stylesheet" href="book-theme.css"><link rel="stylesheet" href="panel.css">
<script>DOCUMENTATION_OPTIONS = {{}};</script><script defer src="book.js"></script></head>
<body><main><h1>A panel</h1>{panel}</main></body></html>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve chapter 10's panel, and the compiler."""
    folder = tmp_path_factory.mktemp("parts")
    package()
    code_editor()
    for name in ("book.js", "panel.css"):
        shutil.copy(ASSETS / name, folder)
    (folder / "book-theme.css").write_text(theme.stylesheet(), encoding="utf-8")
    kernel = load_kernel("persistent")
    for file, text in panels.site_files([kernel.name], write_site(folder / "clang")).items():
        (folder / file).write_text(text, encoding="utf-8")
    option = re.search(r"\{panel\} persistent\n:steps: (.+)\n", CHAPTER.read_text(encoding="utf-8"))
    assert option
    panel = panels.panel(kernel, panels.read_toy(kernel, option[1]), [])
    (folder / "panel.html").write_text(PAGE.format(panel=panel), encoding="utf-8")
    with served(folder) as site:
        yield site


class Opened:
    """The page, whose editor is a text area: CodeMirror keeps only the lines in view."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def part(self, name: str) -> Locator:
        return self.page.locator(f'[data-lab="{name}"]')

    def edit(self, old: str, new: str) -> None:
        self.part("editor").focus()
        self.page.wait_for_selector("[data-ready]")
        text = self.part("editor").input_value()
        assert text.count(old) == 1
        self.part("editor").fill(text.replace(old, new))

    def press_until(self, wanted: str) -> None:
        """Press Tab until what is focussed matches."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("(one) => document.activeElement.matches(one)", wanted):
                return
        raise AssertionError(f"Tab does not reach {wanted}.")

    def run(self) -> str:
        """Run by keyboard from the editor; return the verdict's first line."""
        self.part("editor").focus()
        self.page.wait_for_selector("[data-ready]")
        self.page.keyboard.press("Control+Enter")
        state = self.page.locator('[data-lab="verdict"]:is([data-state=right], [data-state=wrong])')
        state.wait_for(timeout=60_000)
        expect(self.part("run")).to_have_text("Run", timeout=60_000)
        return self.part("verdict").inner_text().splitlines()[0]

    def step_through(self) -> Locator:
        """Go on to the step-through by keyboard; return it."""
        self.press_until('[data-lab="step"]')
        self.page.keyboard.press("Enter")
        steps = self.page.locator(".lab-steps")
        steps.wait_for(timeout=60_000)
        return steps


@pytest.fixture
def opened(reading: Any, site: Site) -> Opened:
    context = reading()
    empty = panels.WITHOUT_CODEMIRROR
    context.route("**/panel-code.js", lambda route: route.fulfill(body=empty))
    found = Opened(context.new_page())
    found.page.goto(site.url("panel.html", "http"))
    return found


NEXT = '[aria-label="On to the next barrier"]'


def test_the_books_kernel_is_stepped_through_by_keyboard_alone(opened: Opened) -> None:
    assert opened.run() == "✓ Right, and no race"
    steps = opened.step_through()
    said = opened.part("steps").inner_text()
    assert said.startswith("Your copy at 4×4×20, with BM = 64, BN = 64, TM = 4, TN = 4,")
    opened.press_until(NEXT)
    place = steps.locator(".lab-place")
    opened.page.keyboard.press("Enter")
    expect(place).to_have_text(
        "Warps 8–11: copy window 1. Copy 1 of 4. At the same time warps 0–7: multiply window 0."
    )
    opened.page.keyboard.press("Enter")
    expect(place).to_contain_text("Warps 0–7: multiply window 0. Read 1 of 2. At the same time")
    assert "As[window][k]" in steps.locator(".lab-lit").inner_text()
    assert opened.complaints == []


@pytest.mark.chromium_only("an editor that a script writes into")
def test_an_edit_is_compiled_in_the_page_and_stepped_through(opened: Opened) -> None:
    opened.edit("const int i = j % 2 ? TM - 1 - s : s;", "const int i = s;")
    assert opened.run() == "✓ Right, and no race"
    assert "Compiled by clang" in opened.part("verdict").inner_text()
    steps = opened.step_through()
    steps.locator("select").select_option("Warps 0–7: multiply window 0")
    # Two reads, then the products: down one column, and now down the next, too.
    steps.get_by_role("slider", name="Step").fill("15")
    expect(steps.locator(".lab-sum").first).to_contain_text("acc[0][1] += fragA[k % 2][0]")
    expect(steps.locator(".lab-place")).to_contain_text(
        "At the same time warps 8–11: copy window 1"
    )
    assert opened.complaints == []


@pytest.mark.chromium_only("an editor that a script writes into")
def test_who_does_not_wait_is_seen_to_read_too_early(opened: Opened) -> None:
    opened.edit("waitFor(&filled[0], 0);", "")
    assert opened.run() == "✗ What nothing wrote is read at 1³"
    steps = opened.step_through()
    assert "lab-unsafe" in (steps.get_attribute("class") or "")
    last = steps.locator("select option").count() - 1
    steps.locator("select").select_option(index=last)
    steps.get_by_role("slider", name="Step").press("End")
    expect(steps.locator(".lab-danger")).to_contain_text("no barrier between")
    assert opened.complaints == []
