"""Chapter 10's panel: the reader's code stepped through, whose warps wait for some others only."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiler_here import package
from panel_pages import Opened, furnish, page_of
from playwright.sync_api import Browser, Locator, expect
from sites import Site, served

from browser import still
from sgemm_lab.book import panels
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.clang.package import write_site

pytestmark = pytest.mark.browser

PARTS = ("panel.css", "book.js")
KERNEL = load_kernel("producers")
CHAPTER = Path(__file__).parents[2] / "chapters" / "10_past_the_library.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve chapter 10's panel, and the compiler."""
    folder = tmp_path_factory.mktemp("parts")
    package()
    furnish(folder, PARTS)
    for file, text in panels.site_files([KERNEL.name], write_site(folder / "clang")).items():
        (folder / file).write_text(text, encoding="utf-8")
    option = re.search(r"\{panel\} producers\n:steps: (.+)\n", CHAPTER.read_text(encoding="utf-8"))
    assert option
    panel = panels.panel(KERNEL, panels.read_step_example(KERNEL, option[1]), [])
    (folder / "panel.html").write_text(page_of(panel, "A panel", PARTS), encoding="utf-8")
    with served(folder) as site:
        yield site


class OpenedPanel(Opened):
    """The page."""

    def edit(self, *changes: tuple[str, str]) -> str:
        """Change the book's own text as if on an earlier visit, and run it."""
        text = KERNEL.source
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        edits = json.dumps({KERNEL.name: text})
        self.page.evaluate("edits => localStorage.setItem('sgemm-lab:edits', edits)", edits)
        self.page.reload()
        return self.run()

    def run(self) -> str:
        """Run by keyboard from the editor; return the verdict's first line."""
        self.part("editor").focus()
        self.page.wait_for_selector("[data-ready]")
        self.page.keyboard.press("Control+Enter")
        return self.judged()

    def step_through(self) -> Locator:
        """Go on to the step-through by keyboard; return it."""
        self.press_until('[data-lab="step"]')
        self.page.keyboard.press("Enter")
        steps = self.page.locator(".lab-steps")
        steps.wait_for(timeout=60_000)
        return steps


@pytest.fixture(scope="module")
def opened(reader: Browser, site: Site) -> Iterator[OpenedPanel]:
    """Return the page, for all tests: the compiler takes seconds to come."""
    found = OpenedPanel(reader.new_page(**still(reader)))
    found.page.goto(site.url("panel.html", "http"))
    yield found
    found.page.close()


NEXT = '[aria-label="On to the next barrier"]'


def test_the_books_kernel_is_stepped_through_by_keyboard_alone(opened: OpenedPanel) -> None:
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


@pytest.mark.whole  # test_lines_in_page.py compiles in a page each time
@pytest.mark.chromium_only("an editor that a script writes into")
def test_an_edit_is_compiled_in_the_page_and_stepped_through_and_reads_too_early(
    opened: OpenedPanel,
) -> None:
    order = ("const int i = j % 2 ? TM - 1 - s : s;", "const int i = s;")
    wait = ("mbarrierWait(&filled[0], 0);", "")
    assert opened.edit(order, wait) == "✗ What nothing wrote is read at 1³"
    assert "Compiled by clang" in opened.part("verdict").inner_text()
    steps = opened.step_through()
    assert "lab-unsafe" in (steps.get_attribute("class") or "")
    stages = steps.locator("select")
    stages.select_option("Warps 0–7: multiply window 1")
    # Four products down one column, and now down the next, too.
    steps.get_by_role("slider", name="Step").fill(str(int(stages.input_value()) + 5))
    expect(steps.locator(".lab-sum").first).to_contain_text("acc[0][1] += fragA[k % 2][0]")
    expect(steps.locator(".lab-place")).to_contain_text(
        "At the same time warps 8–11: copy window 2"
    )
    steps.get_by_role("slider", name="Step").press("End")
    expect(steps.locator(".lab-danger")).to_contain_text("no barrier between")
    assert opened.complaints == []
