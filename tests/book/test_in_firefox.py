"""Pages of the book in Firefox. What more its tests hold there, ``--in firefox`` tries."""

from collections.abc import Callable, Iterator

import pytest
from page_kinds import CHAPTERS, covering
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sites import Site, Visit, widgets_that_stay_still
from turns import TAKES_TURNS, TODAY

pytestmark = [pytest.mark.browser, TAKES_TURNS]

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def windows(firefox: Browser) -> Iterator[dict[int, BrowserContext]]:
    """A window of each width. Its pages share a process, which takes long to begin."""
    opened = {
        width: firefox.new_context(viewport={"width": width, "height": 900}) for width in WIDTHS
    }
    yield opened
    for context in opened.values():
        context.close()


@pytest.fixture
def visit(windows: dict[int, BrowserContext]) -> Iterator[Callable[[int], Visit]]:
    opened: list[Page] = []

    def visit(width: int) -> Visit:
        opened.append(windows[width].new_page())
        return Visit(opened[-1])

    yield visit
    for page in opened:
        page.close()


@pytest.mark.parametrize("chapter", covering()[::2])
@pytest.mark.sampled(every=2, first=TODAY)
def test_a_page_is_quiet_and_fits_and_its_widgets_live(
    book: Site, visit: Callable[[int], Visit], chapter: str
) -> None:
    width = WIDTHS[CHAPTERS.index(chapter) % 2]
    found = visit(width).goto(book, chapter)
    page = found.page
    assert widgets_that_stay_still(page, behind=False) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert found.outside == found.console == []


def test_formulas_are_drawn(book: Site, visit: Callable[[int], Visit]) -> None:
    page = visit(1280).goto(book, "chapters/02_tiling.html").page
    sizes = page.locator("math:visible").evaluate_all(
        """(all) => all.map((one) => one.getBoundingClientRect())
          .map(({ width, height }) => Math.min(width, height))"""
    )
    assert sizes
    assert min(sizes) > 5


def test_the_kernel_of_a_page_runs_in_it(book: Site, visit: Callable[[int], Visit]) -> None:
    found = visit(1280).goto(book, "chapters/02_tiling.html")
    bench = found.page.locator(".lab-bench").first
    bench.locator("[data-lab=run]").click()
    expect(bench.locator("[data-lab=verdict]")).to_contain_text("Right", timeout=60_000)
    expect(bench.locator("[data-lab=counts]")).to_contain_text("counted at")
    assert found.outside == found.console == []
