"""Exercises of lines on a page: written, run, judged in the notebook's words, and stored."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler_here import package
from panel_pages import Opened, furnish, page_of
from playwright.sync_api import Locator
from sites import Site, served
from turns import TAKES_TURNS, TODAY, in_turn

from accessible import faults
from browser import PHONE
from sgemm_lab.book import panels
from sgemm_lab.book.exercises import lines_data, lines_form
from sgemm_lab.clang.package import write_site
from sgemm_lab.exercises import Lines, find_exercise

pytestmark = [pytest.mark.browser, TAKES_TURNS]

FOUND = find_exercise("2.2")
assert isinstance(FOUND, Lines)
NARROW = {"viewport": {"width": 390, "height": 844}}
ASSETS = ("book.css", "exercises.css", "panel.css",
          "book.js", "exercises.js")  # fmt: skip
EXPECTED = json.loads(
    (Path(__file__).parents[1] / "data" / "judged_lines.json").read_text(encoding="utf-8")
)["2.2"]
EXERCISE = """<div class="lab-exercise" role="group" data-lab="exercise" data-name="2.2"
aria-labelledby="title"><h2 id="title">2.2 Place the barriers</h2><p>Put in as many as needed.</p>
<div class="lab-start"><pre>{start}</pre></div>
<p class="lab-go-on">In the notebook: your lines are compiled and judged there.</p>{form}
<details class="lab-solution" data-lab="solution"><summary>Solution</summary><p>So.</p></details>
<script type="application/json" data-lab="judging">{data}</script></div>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a page with exercise 2.2, and the compiler."""
    folder = tmp_path_factory.mktemp("lines")
    package()
    furnish(folder, ASSETS)
    sizes = write_site(folder / "clang")
    for file, text in panels.site_files([], sizes, ["2.2"]).items():
        (folder / file).write_text(text, encoding="utf-8")
    exercise = EXERCISE.format(
        start=FOUND.start,
        form=lines_form(FOUND),
        data=json.dumps(lines_data(FOUND)).replace("<", "\\u003c"),
    )
    for mode in ("light", "dark"):
        html = page_of(exercise, "An exercise", ASSETS, mode)
        (folder / f"{mode}.html").write_text(html, encoding="utf-8")
    with served(folder) as site:
        yield site


class OpenedExercise(Opened):
    """The page with the exercise."""

    def part(self, name: str) -> Locator:
        return self.page.locator(f'[data-name="2.2"] [data-lab="{name}"]')

    @property
    def state(self) -> str | None:
        return self.page.locator('[data-name="2.2"]').get_attribute("data-state")

    @property
    def text(self) -> str:
        """The reader's lines."""
        if not self.page.locator(".cm-editor").count():
            return self.part("editor").input_value()
        return "\n".join(self.page.locator(".cm-line").all_text_contents())

    def turn_to_the_editor(self) -> None:
        self.part("editor").focus()
        self.page.wait_for_selector(".cm-editor")

    def run(self, answer: str) -> str:
        """Write an answer and press Run; return the verdict's first line."""
        self.turn_to_the_editor()
        self.part("editor").fill(answer)
        assert self.text == answer
        self.part("run").click()
        sign = self.page.locator('[data-lab="verdict"] .lab-sign')
        self.page.locator('[data-lab="form"][data-ready]').wait_for()
        self.page.wait_for_function(
            "document.querySelector('[data-lab=run]').textContent !== 'Stop'", timeout=60_000
        )
        sign.wait_for(timeout=60_000)
        return self.part("verdict").locator("p").first.inner_text()


@pytest.fixture
def opened(reading: Any, site: Site) -> Any:
    def make(page: str = "light.html", scheme: str = "http", **options: Any) -> OpenedExercise:
        found = OpenedExercise(reading(**options).new_page())
        found.page.goto(site.url(page, scheme))
        return found

    return make


@pytest.mark.chromium_only("an editor that a script writes into")
def test_barriers_are_placed_in_the_page_and_judged_as_in_the_notebook(opened: Any) -> None:
    page = opened()
    assert page.part("solution").is_hidden()
    assert page.text == FOUND.start
    assert page.page.locator(".lab-go-on").is_hidden()
    for expected in (EXPECTED[1 + TODAY % 3], EXPECTED[0]):
        said = page.run(expected["answer"])
        assert said == f"{'✓' if expected['right'] else '✗'} {expected['text'].replace('`', '')}"
        assert page.state == ("right" if expected["right"] else "wrong")
    assert page.part("solution").is_visible()
    # On a later visit the compiler comes from the browser's cache.
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.reload()
    said = page.run("        int a = ;")
    assert said.startswith("✗ It does not compile. In your line 1: ")
    assert asked
    assert not [address for address in asked if address.endswith(".wasm.gz")]
    assert page.page.locator(".cm-line.is-named").count() == 1
    assert page.complaints == []


@pytest.mark.chromium_only("an editor that a script writes into")
def test_lines_and_verdict_are_kept_until_forgotten(opened: Any) -> None:
    page = opened()
    said = page.run(FOUND.place)  # the book's own lines need no compiler
    assert said.startswith("✓ Right: no race, and 4 barriers in two K tiles.")
    page.page.reload()
    assert page.state == "right"
    assert page.part("verdict").locator("p").first.inner_text() == said
    page.turn_to_the_editor()
    assert page.text == FOUND.place
    with page.page.expect_navigation():
        page.page.locator("[data-lab=forget]").click()
    assert page.state == "empty"
    assert page.text == FOUND.start
    assert page.complaints == []


@pytest.mark.chromium_only("a finger")
@pytest.mark.parametrize("options", [{"scheme": "file"}, PHONE], ids=["opened as a file", "phone"])
def test_where_nothing_can_be_compiled_the_page_says_how_to_go_on(
    opened: Any, options: dict[str, Any]
) -> None:
    page = opened(**options)
    assert page.page.locator(".lab-go-on").is_visible()
    assert page.page.locator(".lab-start").is_visible()
    assert page.part("solution").is_visible()
    assert page.part("editor").is_hidden()
    assert page.complaints == []


DEVICES = {"desktop": {}, "narrow": NARROW}


@pytest.mark.chromium_only("an editor that a script writes into")
@pytest.mark.parametrize(("device", "mode"), in_turn(DEVICES, (("light",), ("dark",)), every=2))
def test_axe_finds_nothing_and_no_page_is_wider_than_its_window(
    opened: Any, device: str, mode: str
) -> None:
    page = opened(f"{mode}.html", **DEVICES[device])
    page.run(FOUND.place)
    assert faults(page.page) == []
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
