"""Exercises and predictions on a page: asked, answered, judged and kept, with no kernel."""

from typing import Any

import pytest
from judged_answers import right_answer as listed_right
from playwright.sync_api import Locator, Page
from sites import ROOT, WAYS, Site
from turns import TAKES_TURNS

from accessible import faults
from browser import PHONE
from sgemm_lab.exercises import Exercise, Lines, Question, exercises, find_prediction
from sgemm_lab.lab.exercise import machine_of_records

pytestmark = [pytest.mark.browser, TAKES_TURNS]

PAGE = "chapters/first.html"


def box(page: Page, name: str) -> Locator:
    return page.locator(f'[data-name="{name}"]')


def part(page: Page, name: str, what: str) -> Locator:
    return box(page, name).locator(f'[data-lab="{what}"]')


def answer(page: Page, name: str, text: str) -> str:
    """Answer as a reader does, and return what is said to it."""
    fields = part(page, name, "answer")
    if fields.first.get_attribute("type") == "radio":
        box(page, name).locator(f'[value="{text}"]').check()
    else:
        fields.fill(text)
    part(page, name, "judge").click()
    return part(page, name, "verdict").locator("p").first.inner_text()


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_answer_is_judged_where_it_stands_and_kept_until_forgotten(
    specimen: Site, contexts: Any, scheme: str
) -> None:
    visit = contexts().goto(specimen, PAGE, scheme)
    page = visit.page
    assert part(page, "2.1", "solution").is_hidden()
    said = answer(page, "2.1", "131,072")
    assert said == "✗ 131,072 is not it. That is one strip; there is one of A and one of B."
    assert box(page, "2.1").get_attribute("data-state") == "wrong"
    assert part(page, "2.1", "solution").is_visible()
    assert answer(page, "2.1", "2*32*4096").startswith("✓ Right: 262,144. ")

    page.reload()
    assert part(page, "2.1", "answer").input_value() == "2*32*4096"
    assert box(page, "2.1").get_attribute("data-state") == "right"
    assert part(page, "2.1", "verdict").inner_text().startswith("✓ Right: 262,144. ")
    with page.expect_navigation():
        page.locator("[data-lab=forget]").click()
    assert box(page, "2.1").get_attribute("data-state") == "empty"
    assert part(page, "2.1", "answer").input_value() == ""
    assert page.locator("[data-lab=forget]").is_hidden()
    assert (visit.console, visit.outside) == ([], [])


def test_a_choice_is_a_commitment(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    part(page, "2.3", "judge").click()
    assert part(page, "2.3", "verdict").inner_text() == "Choose one first."
    said = answer(page, "2.3", "slower")
    assert said.startswith('✗ You said "slower"; it is "faster". At 1×4096×4096 tiled reaches ')
    assert part(page, "2.3", "verdict").locator("code").all_inner_texts() == ["tiled", "naive"]
    assert part(page, "2.3", "judge").is_hidden()
    assert box(page, "2.3").locator(":disabled").count() == 3
    page.reload()
    assert box(page, "2.3").locator("[value=slower]").is_checked()
    assert box(page, "2.3").get_attribute("data-state") == "wrong"


def test_prediction_can_be_passed_and_what_waits_for_it_shows(
    specimen: Site, contexts: Any
) -> None:
    page = contexts().goto(specimen, PAGE).page
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('p'), {id: 'waits',"
        " textContent: 'the result'}));"
        "document.querySelector('#waits').dataset.labAfter = 'window-gain';"
        "document.querySelector('#waits').toggleAttribute('data-lab-waits', true);"
        "window.heard = []; document.addEventListener('lab-answered', (e) => heard.push(e.detail))"
    )
    assert page.locator("#waits").is_hidden()
    part(page, "window-gain", "pass").click()
    assert page.locator("#waits").is_visible()
    assert page.evaluate("heard") == [{"name": "window-gain", "state": "passed"}]
    assert part(page, "window-gain", "verdict").inner_text().startswith("It is 1.")
    assert page.evaluate("document.activeElement.dataset.lab") == "verdict"
    page.reload()
    assert box(page, "window-gain").get_attribute("data-state") == "passed"
    assert part(page, "window-gain", "judge").is_hidden()


def test_all_predictions_can_be_passed_at_once_and_asked_again(
    specimen: Site, contexts: Any
) -> None:
    page = contexts().goto(specimen, PAGE).page
    part(page, "window-gain", "pass-all").focus()
    page.keyboard.press("Enter")
    assert box(page, "window-gain").get_attribute("data-state") == "passed"
    assert page.evaluate("document.activeElement.dataset.lab") == "verdict"
    assert box(page, "2.1").get_attribute("data-state") == "empty"
    page.reload()
    assert box(page, "window-gain").get_attribute("data-state") == "passed"
    with page.expect_navigation():
        page.locator("[data-lab=forget]").click()
    assert box(page, "window-gain").get_attribute("data-state") == "empty"


def test_a_prediction_hides_its_result_and_what_repeats_it(specimen: Site, contexts: Any) -> None:
    page = contexts().page
    data = find_prediction("window-gain").judging(machine_of_records())
    low, high = f"{data['expected']:.2f}", f"{data['expected']:.3f}"
    first = '<div class="lab-exercise" role="group" data-lab="exercise" data-name="2.1"'
    rows = f"<table id=rows><tr><td>a</td></tr><tr><td>{low}</td></tr></table>"
    later = f"<p id=other>Other 7{low} text.</p><p id=told>It is {high} times as fast.</p>{rows}"
    tables = '<section id="tables">'
    text = (specimen.folder / PAGE).read_text()
    text = text.replace(first, "<p id=result>A loss.</p>" + first)
    text = text.replace(tables, f"<section><h2>Later</h2>{later}</section>{tables}")
    page.route(f"**/{PAGE}", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(specimen.url(PAGE))
    gate = box(page, "window-gain")
    result = page.locator("#result")
    assert result.is_hidden()
    assert [row.is_visible() for row in page.locator("#rows tr").all()] == [True, False]
    assert page.locator("#told").is_hidden()
    assert page.locator("#other").is_visible()
    assert box(page, "2.1").is_visible()
    note = page.locator("#told > a.lab-hidden-note")
    assert note.get_attribute("href") == f"#{gate.get_attribute('id')}"
    assert note.is_visible()
    headings = page.locator(".bd-article :is(h2, h3)")
    assert all(heading.is_visible() for heading in headings.all())
    gate.get_by_role("button", name="Show the result without predicting").click()
    assert result.is_visible()
    assert page.locator("#told").is_visible()
    assert page.locator("[data-lab-waits]").count() == 0
    assert note.is_hidden()
    assert part(page, "window-gain", "pass").is_hidden()


def test_keyboard_alone_answers_and_opens_the_solution(specimen: Site, contexts: Any) -> None:
    page = contexts().goto(specimen, PAGE).page
    part(page, "2.1", "answer").focus()
    page.keyboard.type("262144")
    page.keyboard.press("Enter")
    assert part(page, "2.1", "verdict").inner_text().startswith("✓")
    assert part(page, "2.1", "verdict").get_attribute("role") == "status"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert part(page, "2.1", "solution").locator("> div").is_visible()
    box(page, "2.3").locator("[value=slower]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert part(page, "2.3", "verdict").inner_text().startswith("✓ Right: faster.")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.chromium_only("a finger")
@pytest.mark.parametrize(("device", "colours"), WAYS)
def test_judged_answers_are_accessible_and_fit(
    specimen: Site, contexts: Any, colours: str, device: str
) -> None:
    options = PHONE if device == "phone" else {}
    page = contexts(color_scheme=colours, reduced_motion="reduce", **options).goto(
        specimen, PAGE
    ).page  # fmt: skip
    answer(page, "2.1", "131072")
    answer(page, "2.3", "faster")
    answer(page, "window-gain", "2")
    page.evaluate("scrollTo(0, 0)")  # the theme's button for it fades in too pale
    page.locator("#pst-back-to-top").wait_for(state="hidden")
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    wanted = 44 if options else 36
    for button in page.locator(".lab-answer button:visible, .lab-progress button").all():
        assert button.bounding_box()["height"] >= wanted  # type: ignore[index]


def right_answer(exercise: Question) -> str:
    found = exercise.judging(machine_of_records())["expected"]
    return found if isinstance(found, str) else repr(found)


@pytest.mark.parametrize("chapter", sorted((ROOT / "chapters").glob("0[1-9]*.md")))
def test_every_exercise_of_the_book_is_answered_on_its_page(
    book: Site, contexts: Any, chapter: Any
) -> None:
    page = contexts().goto(book, f"chapters/{chapter.stem}.html").page
    number = str(int(chapter.stem[:2]))
    own: list[Exercise] = [e for e in exercises() if e.name.partition(".")[0] == number]
    assert own
    for exercise in own:  # before the pointer meets an editor, which brings CodeMirror
        if isinstance(exercise, Lines):
            # test_lines_in_page.py has these run.
            assert part(page, exercise.name, "editor").input_value() == exercise.start
            assert part(page, exercise.name, "solution").is_hidden()
    for exercise in own:
        if isinstance(exercise, Question):
            right = right_answer(exercise)
            assert answer(page, exercise.name, right).startswith("✓ Right")
            said = exercise.judge(
                listed_right(exercise.name) or float(right), machine_of_records()
            ).text
            shown = part(page, exercise.name, "verdict").locator("p").first.inner_text()
            assert shown.removeprefix("✓ ") == said.replace("`", "")
            part(page, exercise.name, "solution").locator("summary").click()
            assert part(page, exercise.name, "solution").inner_text().strip() != "Solution"
