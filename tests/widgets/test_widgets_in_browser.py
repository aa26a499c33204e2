"""What holds for every widget on a page without a kernel."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from every_widget import SAMPLES
from playwright.sync_api import Page
from turns import TODAY, in_turn
from widget_page import Opener, overlapping_texts

from accessible import COLOURS, faults
from browser import PHONE
from sgemm_lab.style import THEME_COLOURS
from sgemm_lab.widgets import LabWidget

WIDGETS: dict[str, Callable[[], LabWidget]] = {
    name: sample.make for name, sample in SAMPLES.items()
}
CHANGES = {name: sample.changes for name, sample in SAMPLES.items()}
PAINTED = [name for name, sample in SAMPLES.items() if sample.painted]
ON_AXES = [name for name, sample in SAMPLES.items() if sample.on_axes]
every_widget = pytest.mark.parametrize("name", WIDGETS)
DEVICES = (("desktop",), ("phone",))


SOME = """() => {
  const places = /^(x|y|d|cx|cy|r|x1|y1|x2|y2|width|height|points|transform|viewBox|id|for)$|label/;
  const kinds = new Map([[null, ""]]), counts = new Map();
  window.looked = [...document.querySelectorAll("#widget, #widget *")].filter((node) => {
    const own = [...node.attributes].filter(({ name }) => !places.test(name));
    const ends = [node.previousElementSibling, node.nextElementSibling].map((one) => !one);
    const said = own.map(({ name, value }) => `${name}=${value}`);
    const parent = kinds.get(node.parentElement) ?? "";
    const kind = `${parent}/${node.tagName} ${said} ${ends}`;
    kinds.set(node, kind);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts.get(kind) <= 3;
  });
}"""
"""Choose the elements to look at: of those that no style can tell apart the first three.

A sheet tells elements by tag, attributes, parents, and who comes first or last among siblings.
"""
LOOKS = """() => window.looked.map((node) => {
  const style = getComputedStyle(node);
  const all = style.cssText || [...style].map((key) => `${key}: ${style[key]}`).join("; ");
  return `${node.tagName} ${node.getAttribute("class")} { ${all} }`;
})"""
"""How each of them looks, in all its properties: Firefox has no text of them all."""


def change(page: Page, name: str, value: Any) -> None:
    page.evaluate("([key, value]) => window.model.set(key, value)", [CHANGES[name][0], value])


def unfold(page: Page) -> None:
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")


def colour(page: Page, selector: str, name: str) -> Any:
    return page.evaluate(
        "([s, n]) => getComputedStyle(document.querySelector(s))[n]", [selector, name]
    )


def rgb(hexadecimal: str) -> str:
    return f"rgb({', '.join(str(int(hexadecimal[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize(("name", "device"), in_turn(WIDGETS, DEVICES))
@pytest.mark.sampled(every=4, first=TODAY)
def test_axe_finds_nothing(show: Opener, name: str, device: str) -> None:
    page = show(WIDGETS[name](), **(PHONE if device == "phone" else {}))
    unfold(page)
    assert faults(page, "#widget") == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert faults(page, "#widget", only=COLOURS) == []


@pytest.mark.parametrize("name", PAINTED)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.sampled(every=4, first=TODAY)
def test_text_in_the_picture_can_be_read(show: Opener, name: str, theme: str) -> None:
    """Axe does not look into pictures: words on coloured ground need a contrast of 4.5:1 too."""
    page = show(WIDGETS[name](), theme, reduced_motion="reduce")
    for value in CHANGES[name][1]:
        change(page, name, value)
        faint = page.evaluate(
            """() => {
                 const canvas = new OffscreenCanvas(1, 1)
                   .getContext("2d", { willReadFrequently: true });
                 const light = (colour) => {
                   canvas.clearRect(0, 0, 1, 1);
                   canvas.fillStyle = colour;
                   canvas.fillRect(0, 0, 1, 1);
                   const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
                     .map((v) => v / 255)
                     .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                   return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                 };
                 const named = document.querySelectorAll("#widget g:has(> rect + text)");
                 return [...named].flatMap((node) => {
                   const ground = getComputedStyle(node.querySelector("rect")).fill;
                   const ink = getComputedStyle(node.querySelector("text")).fill;
                   const [a, b] = [light(ground), light(ink)].sort((x, y) => y - x);
                   const ratio = (a + 0.05) / (b + 0.05);
                   const text = node.textContent;
                   return text && ratio < 4.5 ? [`${text} ${ground} ${ink} ${ratio}`] : [];
                 });
               }"""
        )
        assert faint == []
    assert page.locator("#widget g > rect + text").count() > 0


@every_widget
@pytest.mark.sampled(every=4, first=TODAY)
def test_it_fits_a_phone_and_a_finger(show: Opener, name: str) -> None:
    page = show(WIDGETS[name](), **PHONE)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    outside = page.evaluate(
        """() => [...document.querySelectorAll("#widget *")].filter((node) => {
             const box = node.getBoundingClientRect();
             const scrolls = node.parentElement.closest(".lab-line, .lab-code, .lab-rows");
             return box.width && !scrolls && (box.left < 0 || box.right > 390.5);
           }).map((node) => node.outerHTML.slice(0, 90))"""
    )
    assert outside == []
    if page.context.browser.browser_type.name == "firefox":  # type: ignore[union-attr]
        return  # it can't be told that the pointer is a finger
    small = page.evaluate(
        """() => [...document.querySelectorAll("#widget :is(button, select, input)")]
             .filter((node) => node.offsetParent && node.offsetHeight < 42)
             .map((node) => node.outerHTML.slice(0, 90))"""
    )
    assert small == []


@pytest.mark.parametrize("width", [390, 760])
@every_widget
@pytest.mark.sampled(every=4, first=TODAY)
def test_nothing_below_a_slider_moves_and_no_labels_overlap(
    show: Opener, name: str, width: int
) -> None:
    page = show(WIDGETS[name](), viewport={"width": width, "height": 900})
    for value in CHANGES[name][1]:
        change(page, name, value)
        assert overlapping_texts(page) == []
    before = page.evaluate("document.querySelector('#widget').offsetHeight")
    heights = page.evaluate(
        """() => [...document.querySelectorAll("#widget input[type=range]")]
             .filter((slider) => slider.offsetParent && !slider.disabled)
             .flatMap((slider) => [slider.min, (+slider.min + +slider.max) / 2, slider.max]
               .map((value) => {
                 slider.value = value;
                 slider.dispatchEvent(new Event("input", { bubbles: true }));
                 return document.querySelector("#widget").offsetHeight;
               }))"""
    )
    assert set(heights) <= {before}
    assert overlapping_texts(page) == []


@pytest.mark.chromium_only("a system whose colours change")
@every_widget
@pytest.mark.sampled(every=4, first=TODAY)
def test_it_follows_the_page_and_else_the_system(show: Opener, name: str) -> None:
    light, dark = (rgb(value) for value in THEME_COLOURS["--lab-bg"])
    page = show(WIDGETS[name](), "light", color_scheme="dark")
    assert colour(page, ".sgemm-lab", "backgroundColor") == light
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert colour(page, ".sgemm-lab", "backgroundColor") == dark
    page.evaluate("document.documentElement.removeAttribute('data-theme')")
    assert colour(page, ".sgemm-lab", "backgroundColor") == dark
    page.emulate_media(color_scheme="light")
    assert colour(page, ".sgemm-lab", "backgroundColor") == light
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    assert colour(page, ".sgemm-lab", "backgroundColor") == dark
    page.emulate_media(color_scheme="dark")  # as the page was lent


@cache
def every_sheet() -> str:
    """Return the style sheets of all widgets."""
    return "\n".join({str(make()._css) for make in WIDGETS.values()})


@pytest.mark.parametrize(("name", "device"), in_turn(WIDGETS, DEVICES))
@pytest.mark.sampled(every=4, first=TODAY)
def test_the_sheets_of_other_widgets_change_nothing(show: Opener, name: str, device: str) -> None:
    options = PHONE if device == "phone" else {}
    page = show(WIDGETS[name](), reduced_motion="reduce", **options)
    unfold(page)  # what is folded has no sizes yet
    page.evaluate(SOME)
    seen = page.evaluate(f"() => (window.before = ({LOOKS})()).length")
    page.add_style_tag(content=every_sheet())
    # They are compared in the page: there are megabytes of them.
    now, changed = page.evaluate(
        f"""() => [({LOOKS})()].map((after) => [after.length, after.flatMap((look, i) =>
              look === window.before[i] ? [] : [[window.before[i], look]])])[0]"""
    )
    assert now == seen
    assert seen > 25, "the widget's sample draws too few different elements to tell"
    assert changed == []


@pytest.mark.chromium_only("a system that changes what it says of motion")
@every_widget
@pytest.mark.sampled(every=4, first=TODAY)
def test_nothing_moves_where_motion_is_unwelcome(show: Opener, name: str) -> None:
    moving = """() => [...document.querySelectorAll("#widget *")]
        .flatMap((node) => getComputedStyle(node).transitionDuration.split(","))
        .filter((seconds) => parseFloat(seconds) > 0).length"""
    page = show(WIDGETS[name](), reduced_motion="reduce")
    for motion, gpu, expected in (("reduce", "a100", False), ("no-preference", "t4", True)):
        page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
        if name in ON_AXES:  # these move only after a change
            change(page, name, gpu)
        told = "where motion is welcome something has a transition, and elsewhere nothing"
        assert (page.evaluate(moving) > 0) is expected, told
    page.emulate_media(reduced_motion="reduce")  # as the page was lent


@every_widget
@pytest.mark.sampled(every=4, first=TODAY)
def test_two_views_keep_step_and_a_closed_one_lets_go_of_the_model(show: Opener, name: str) -> None:
    page = show(WIDGETS[name]())
    page.evaluate(
        """async () => {
             const { esm } = JSON.parse(document.getElementById("data").textContent);
             const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
             const { default: widget } = await import(url);
             const el = document.createElement("div");
             document.querySelector("main").append(el);
             window.other = widget.render({ model: window.model, el });
           }"""
    )
    for value in CHANGES[name][1]:
        change(page, name, value)
        first, second = page.evaluate(
            """() => [...document.querySelectorAll(".sgemm-lab")].map((node) =>
                 [node.innerText, [...node.querySelectorAll("svg")].map((n) => n.innerHTML)])"""
        )
        assert first == second
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    listeners = "Object.values(window.model.listeners).reduce((sum, set) => sum + set.size, 0)"
    both = page.evaluate(listeners)
    page.evaluate("window.stop()")
    assert both > page.evaluate(listeners) > 0
    page.evaluate("window.other()")
    assert page.evaluate(listeners) == 0
