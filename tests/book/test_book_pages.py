"""Every page of the book, in a browser that reaches nothing but the page's own site."""

import gzip
import re
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from page_kinds import CHAPTERS, covering, source_of
from playwright.sync_api import Response, expect
from sites import WAYS, Site, Visit, widgets_that_stay_still
from turns import TODAY, in_turn

from accessible import faults
from browser import PHONE
from sgemm_lab.exercises import find_prediction
from sgemm_lab.lab import session
from sgemm_lab.lab.exercise import machine_of_records

pytestmark = pytest.mark.browser

ALREADY_PACKED = (".woff", ".woff2", ".png")
LIGHT = 300_000
"""Bytes of a page with all that it asks for before the reader runs anything, compressed."""
SHOWN = """() => [...document.querySelectorAll(".lab-widget")].map((widget) =>
  [".lab-widget-still > .sgemm-lab", ".lab-widget-live"].map((part) =>
    widget.querySelector(part)?.checkVisibility({ visibilityProperty: true }) ?? false))"""
"""Of each widget, whether its still picture is shown, and whether the live one is."""
SEEN_BELOW = """(name) => {
  const question = document.querySelector(`[data-name="${name}"]`);
  const seen = { visibilityProperty: true };
  return [...document.querySelectorAll(".bd-article :is(p, li, td, dd, h2, text, span)")]
    .filter((part) => question.compareDocumentPosition(part) === 4 && part.checkVisibility(seen))
    .filter((part) => !part.closest('[data-lab="exercise"], .katex, math'))
    .map((part) => part.textContent);
}"""
"""Text of the parts below a question that can be seen: 4 is "following"."""
FEW = 20
"""Requests of such a page."""


def assert_quiet(visit: Visit) -> None:
    """Nothing was asked for outside the site, and the console is empty."""
    assert visit.outside == [], visit.page.url
    assert visit.console == [], visit.page.url


def assert_all_quiet(contexts: Any, site: Site, pages: Iterable[str], scheme: str) -> None:
    """Open pages one after another, and give each time to say something while others open."""
    waiting: deque[Visit] = deque()

    def hear(left: int) -> None:
        while len(waiting) > left:
            visit = waiting.popleft()
            visit.page.wait_for_load_state("networkidle")
            assert_quiet(visit)
            visit.page.close()

    for name in pages:
        waiting.append(contexts().goto(site, name, scheme))
        hear(left=3)
    hear(left=0)


# Those beside the few show no kind of thing that the few do not.
@pytest.mark.parametrize(
    "others", [False, pytest.param(True, marks=pytest.mark.whole)], ids=["few", "others"]
)
def test_no_page_opened_as_a_file_asks_for_anything_outside_or_complains(
    book: Site, contexts: Any, others: bool
) -> None:
    assert set(CHAPTERS) <= set(book.pages)
    rest = set(CHAPTERS).difference(covering())
    pages = rest if others else set(book.pages).difference(rest)
    assert_all_quiet(contexts, book, pages, "file")


def test_no_served_page_beside_the_chapters_asks_for_anything_outside_or_complains(
    book: Site, contexts: Any
) -> None:
    assert_all_quiet(contexts, book, set(book.pages).difference(CHAPTERS), "http")


@pytest.mark.chromium_only("paper")
@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.sampled(every=4, first=TODAY)
def test_served_chapter_is_quiet_and_light_and_its_widgets_live_and_print(
    book: Site, contexts: Any, chapter: str
) -> None:
    visit = contexts().goto(book, chapter)
    pass_predictions(visit.page)
    press_folds(visit.page)
    assert widgets_that_stay_still(visit.page) == []
    press_folds(visit.page)  # closed again: paper shows what is folded all the same
    visit.page.wait_for_load_state("networkidle")
    assert_quiet(visit)
    assert 50_000 < packed_bytes(visit) < LIGHT
    assert len(asked_for(visit)) <= FEW
    visit.page.emulate_media(media="print")
    on_paper = visit.page.evaluate(SHOWN)
    assert on_paper == [[True, False]] * len(on_paper)


def asked_for(visit: Visit) -> list[Response]:
    """Return what came from the site."""
    return [one for one in visit.responses if not one.url.startswith(("blob:", "data:"))]


def pass_predictions(page: Any) -> None:
    """Pass all predictions, so that what waits behind them shows."""
    buttons = page.locator(".lab-exercise button:visible", has_text="Show the result")
    for _ in range(page.locator("[data-lab=pass]").count()):  # some wait for the one before
        buttons.first.click()
    assert buttons.count() == 0, "passing a prediction takes its button away"


@pytest.mark.parametrize("chapter", [one for one in CHAPTERS if "{predict}" in source_of(one)])
@pytest.mark.sampled(every=4, first=TODAY)
def test_no_answer_can_be_read_before_it_is_asked_for(
    book: Site, contexts: Any, chapter: str
) -> None:
    page = contexts().goto(book, chapter).page
    headings = page.locator(".bd-article :is(h2, h3)")
    assert all(heading.is_visible() for heading in headings.all())
    whole = page.evaluate("document.documentElement.scrollHeight")
    for name in re.findall(r"\{predict\} (\S+)", source_of(chapter)):
        data = find_prediction(name).judging(machine_of_records())
        if data["kind"] != "estimate" or data["expected"] == round(data["expected"]):
            continue
        number = re.escape(f"{data['expected']:.2f}")
        answer = re.compile(rf"(?<![\d.,]){number}\d?(?!\d)")
        # The text of every element that is seen below the question.
        seen = page.evaluate(SEEN_BELOW, name)
        assert not [text for text in seen if answer.search(text)], name
    pass_predictions(page)
    assert whole > 0.7 * page.evaluate("document.documentElement.scrollHeight")


@pytest.mark.parametrize(
    "chapter",
    [one for one in CHAPTERS if "lab.closing(" in source_of(one).partition("{predict}")[2]],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_a_prediction_hides_its_result_on_every_gpu(
    book: Site, contexts: Any, chapter: str
) -> None:
    page = contexts().goto(book, chapter).page
    choice, shown = page.locator("select.lab-gpu-choice"), []
    for gpu in ("H200", "H100"):
        choice.select_option(gpu)
        shown.append(page.locator(".lab-closing:visible").count())
    assert shown[0] == shown[1]
    pass_predictions(page)
    assert page.locator(".lab-closing:visible").count() > shown[1]


def test_a_prediction_is_judged_by_the_chosen_gpu(book: Site, contexts: Any) -> None:
    page = contexts().goto(book, "chapters/07_double_buffer.html").page
    prediction = page.locator('[data-name="overlap-gain"]')
    choice, said = page.locator("select.lab-gpu-choice"), prediction.locator("[data-lab=verdict]")
    prediction.locator("[data-lab=answer]").fill("1.1")
    prediction.locator("[data-lab=judge]").click()
    exercise = find_prediction("overlap-gain")
    for gpu in ("NVIDIA H100 80GB HBM3", "NVIDIA H200"):
        choice.select_option(gpu)
        with session.only(gpu):
            data = exercise.judging(machine_of_records())
        expect(said).to_contain_text(f"it is {data['expected']:.2f}")
        expect(said).to_contain_text(data["says"].replace("`", ""))
        expect(prediction.locator("[data-lab=source]")).to_have_text(f"Recorded on {gpu}.")


def press_folds(page: Any) -> None:
    """Press the titles of folded outputs: it opens them, or closes them again."""
    for title in page.locator("details.above-output > summary:visible").all():
        title.click()


def packed_bytes(visit: Visit) -> int:
    """Return what a page with all that it asked for weighs on its way."""
    weight = 0
    for response in asked_for(visit):
        body = response.body()
        packed = response.url.partition("?")[0].endswith(ALREADY_PACKED)
        weight += len(body) if packed else length_packed(body)
    return weight


@cache
def length_packed(body: bytes) -> int:
    """Return the length of something compressed. Most of what a page asks for, all pages do."""
    return len(gzip.compress(body))


@pytest.mark.chromium_only("a page without scripts")
def test_pictures_stand_in_for_widgets_without_scripts(book: Site, contexts: Any) -> None:
    page = contexts(java_script_enabled=False).page
    found = 0
    for chapter in covering():
        page.goto(book.url(chapter))
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        shown = page.evaluate(SHOWN)
        assert all(still for still, _ in shown), chapter
        found += len(shown)
    assert found >= len(covering())


# One page of eight is tried, in one of the two ways in turn: axe takes seconds for each, and the
# widgets have tests with it of their own.
@pytest.mark.parametrize(("chapter", "device", "colours"), in_turn(CHAPTERS, WAYS, every=8))
def test_chapter_is_accessible_and_fits(
    book: Site, contexts: Any, chapter: str, colours: str, device: str
) -> None:
    options = PHONE if device == "phone" else {}
    page = (
        contexts(color_scheme=colours, reduced_motion="reduce", **options).goto(book, chapter).page
    )
    press_folds(page)
    assert faults(page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]


def test_a_widget_far_below_is_drawn_when_the_reader_comes_near(book: Site, contexts: Any) -> None:
    page = contexts(viewport={"width": 412, "height": 823}).page
    page.goto(book.url("chapters/02_tiling.html"))
    page.wait_for_timeout(500)
    last = page.locator(".lab-widget:visible").last
    expect(last).not_to_have_class(re.compile("is-live"))
    last.scroll_into_view_if_needed()
    expect(last).to_have_class(re.compile("is-live"))


@pytest.mark.parametrize("chapter", ["14_fewer_products", "A8_scoreboard"])
@pytest.mark.parametrize("width", [360, 412])
def test_what_is_below_a_widget_of_the_first_screen_does_not_jump(
    book: Site, contexts: Any, chapter: str, width: int
) -> None:
    page = contexts(viewport={"width": width, "height": 823}).page
    page.goto(book.url(f"chapters/{chapter}.html"))
    widget = page.locator(".lab-widget").first
    live = widget.locator(".lab-widget-live > *")
    live.wait_for(state="visible")
    tall = live.bounding_box()["height"]
    widget.evaluate("(one) => one.classList.remove('is-live')")
    assert abs(widget.locator(".lab-widget-still").bounding_box()["height"] - tall) < 30
