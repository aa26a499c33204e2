"""One choice of GPU for the boxes, tables and widgets of a page, which the browser remembers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import sgemm_lab
from sgemm_lab import lab
from sgemm_lab.bundles import bundled
from sgemm_lab.errors import LabError
from sgemm_lab.lab.output import Output, of_gpus

SCRIPT = Path(sgemm_lab.__file__).parent / "book" / "page_scripts" / "card_choice.ts"
H200, H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"
WIDGETS = """
    const drawn = (...names) => {
      const gpus = names.map((name) => ({ id: name.toLowerCase(), name }));
      const state = { gpus, gpu: gpus[0].id };
      return { model: { get: (key) => state[key], set: (key, value) => { state[key] = value; } } };
    };
    const all = [drawn("H200", "H100 SXM", "T4"), drawn("T4", "H100 SXM", "H200"), drawn("L4")];
    document.querySelectorAll(".lab-widget").forEach((place, i) => { place.labDrawn = all[i]; });"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Return a page with a header, a box for two GPUs and three widgets."""
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://book.test/")
    yield page
    context.close()


def show(page: Page, *parts: tuple[str, str]) -> None:
    widgets = 3 * '<div class="lab-widget"></div>'
    page.set_content(f'<div class="article-header-buttons"></div>{of_gpus(parts)}{widgets}')
    page.evaluate(f"() => {{{WIDGETS}}}")
    page.evaluate(f"() => {{{bundled(SCRIPT, 'labChoice')}}}")


def gpus(page: Page) -> list[str]:
    """Return the GPU that each widget shows."""
    script = "(all) => all.map((place) => place.labDrawn.model.get('gpu'))"
    found: list[str] = page.locator(".lab-widget").evaluate_all(script)
    return found


def test_boxes_and_widgets_follow_the_choice_and_the_browser_remembers_it(page: Page) -> None:
    parts = ((H200, "<p>two</p>"), (H100, "<p>one</p>"))
    show(page, *parts)
    choice = page.get_by_label("GPU of boxes")
    expect(choice).to_have_value(H200)
    expect(page.get_by_text("two", exact=True)).to_be_visible()
    expect(page.get_by_text("one", exact=True)).to_be_hidden()
    choice.select_option("H100")
    expect(page.get_by_text("one", exact=True)).to_be_visible()
    expect(page.get_by_text("two", exact=True)).to_be_hidden()
    assert gpus(page) == ["h100 sxm", "t4", "l4"]  # an example on another GPU stays
    show(page, *parts)
    expect(choice).to_have_value(H100)
    expect(page.get_by_text("one", exact=True)).to_be_visible()


def test_a_page_with_results_of_one_gpu_has_no_choice(page: Page) -> None:
    show(page, (H200, "<p>two</p>"))
    expect(page.locator("select")).to_have_count(0)
    assert gpus(page) == ["h200", "t4", "l4"]


def test_what_a_function_returns_is_shown_for_each_gpu_that_has_it() -> None:
    def table() -> Output:
        return lab.table(["speed"], [[f"{lab.speed('split'):.0f}"]])

    both = lab.each_gpu(table)
    assert [float(one) for one in re.findall(r"<td>(\d+)</td>", both.html)] == pytest.approx(
        [lab.recorded(gpu).record.score(lab.kernel("split"), (4096,) * 3).gflops
         for gpu in ("H200", "H100")], abs=0.5
    )  # fmt: skip
    assert both.text == lab.table(["speed"], [[f"{lab.speed('split'):.0f}"]]).text

    def alone() -> Output:
        if lab.card().device.name != H200:
            raise LabError("It was not measured there.")
        return lab.table(["speed"], [["1"]])

    assert lab.each_gpu(alone).html.startswith(f'<div data-gpu-alone="{H200}">')


def test_what_is_of_one_gpu_alone_says_so_where_another_is_chosen(page: Page) -> None:
    show(page, (H200, "<p>two</p>"), (H100, "<p>one</p>"))
    page.evaluate(
        """(alone) => {
            document.querySelector('select').remove();
            document.body.insertAdjacentHTML('afterbegin', '<article><h1>Title</h1></article>');
            document.body.insertAdjacentHTML('beforeend', alone);
        }""",
        of_gpus([(H100, "<p>single</p>")]),
    )
    page.evaluate(f"() => {{{bundled(SCRIPT, 'labChoice')}}}")
    single, text = (
        page.get_by_text("Recorded on the H100 only."),
        page.get_by_text("The text quotes"),
    )
    expect(single).to_be_visible()
    expect(text).to_be_hidden()
    page.get_by_label("GPU of boxes").select_option("H100")
    expect(single).to_be_hidden()
    expect(text).to_have_text("The text quotes the H200.")
    expect(page.get_by_text("single", exact=True)).to_be_visible()
