"""What holds for every widget on a page without a kernel."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from widget_samples import CONSTANTS, GPUS, POINTS

from conftest import Opener
from sgemm_lab.style import THEME_COLOURS
from sgemm_lab.widgets import Intensity, LabWidget, Roofline

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WIDGETS: dict[str, Callable[[], LabWidget]] = {
    "roofline": lambda: Roofline(GPUS, POINTS),
    "intensity": lambda: Intensity(CONSTANTS, GPUS),
    "predict": lambda: Intensity(CONSTANTS, GPUS, predict=True),
}
every_widget = pytest.mark.parametrize("name", WIDGETS)


def colour(page: Page, selector: str, name: str) -> Any:
    return page.evaluate(
        "([s, n]) => getComputedStyle(document.querySelector(s))[n]", [selector, name]
    )


def rgb(hexadecimal: str) -> str:
    return f"rgb({', '.join(str(int(hexadecimal[i : i + 2], 16)) for i in (1, 3, 5))})"


@every_widget
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_axe_finds_nothing(show: Opener, name: str, device: str) -> None:
    page = show(WIDGETS[name](), **(PHONE if device == "phone" else {}))
    for theme in ("light", "dark"):
        page.evaluate("(theme) => (document.documentElement.dataset.theme = theme)", theme)
        results = Axe().run(page, "#widget")
        assert results.violations_count == 0, results.generate_report()
        assert len(results.response["passes"]) > 8


@every_widget
def test_it_fits_a_phone(show: Opener, name: str) -> None:
    page = show(WIDGETS[name](), **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    outside = page.evaluate(
        """() => [...document.querySelectorAll("#widget *")].filter((node) => {
             const box = node.getBoundingClientRect();
             return box.width && (box.left < 0 || box.right > 390.5);
           }).map((node) => node.outerHTML.slice(0, 90))"""
    )
    assert outside == []
    small = page.evaluate(
        """() => [...document.querySelectorAll("#widget :is(button, select, input)")]
             .filter((node) => node.offsetParent && node.offsetHeight < 44)
             .map((node) => node.outerHTML.slice(0, 90))"""
    )
    assert small == [], "targets for a finger"


@every_widget
def test_labels_never_overlap(show: Opener, name: str) -> None:
    for options in ({}, PHONE):
        page = show(WIDGETS[name](), **options)
        for gpu in GPUS:
            page.select_option("select", gpu["id"])
            pairs = page.evaluate(
                """() => [...document.querySelectorAll("#widget svg")].flatMap((picture) => {
                     const level = [...picture.querySelectorAll("text")]
                       .filter((t) => !/rotate/.test(t.getAttribute("transform") ?? ""));
                     const boxes = level.map((t) => [t.textContent, t.getBoundingClientRect()]);
                     return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
                       .filter(([, q]) => p.left < q.right && q.left < p.right
                         && p.top + 3 < q.bottom - 3 && q.top + 3 < p.bottom - 3)
                       .map(([b]) => `${a} / ${b}`));
                   })"""
            )
            assert pairs == []


@every_widget
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
    grid, line = (rgb(pair[1]) for key, pair in THEME_COLOURS.items() if key in _LINES)
    assert colour(page, ".lab-grid", "stroke") == grid
    assert colour(page, ".lab-axis", "stroke") == line


_LINES = ("--lab-grid", "--lab-line")


def test_the_rules_of_the_page_stay_outside(show: Opener) -> None:
    page = show(WIDGETS["intensity"]())
    assert colour(page, ".lab-number dd", "marginLeft") == "0px"
    assert colour(page, ".lab-numbers", "marginBottom") == "0px"
    assert colour(page, ".lab-verdict p", "marginBottom") == "0px"
    assert colour(page, ".lab-slider code", "backgroundColor") == "rgba(0, 0, 0, 0)"
    page = show(WIDGETS["roofline"]())
    assert colour(page, ".lab-roofs", "marginTop") == "0px"
    assert colour(page, ".lab-roofs li", "marginTop") == "0px"
    assert colour(page, ".lab-field", "marginBottom") == "0px"


@every_widget
def test_nothing_moves_where_motion_is_unwelcome(show: Opener, name: str) -> None:
    moving = """() => [...document.querySelectorAll("#widget *")]
        .flatMap((node) => getComputedStyle(node).transitionDuration.split(","))
        .filter((seconds) => parseFloat(seconds) > 0).length"""
    change = "window.model.set('gpu', 'a100')"
    for motion, expected in (("reduce", False), ("no-preference", True)):
        page = show(WIDGETS[name](), reduced_motion=motion)
        page.evaluate(change)
        assert (page.evaluate(moving) > 0) is expected


@every_widget
def test_a_closed_widget_lets_go_of_its_model(show: Opener, name: str) -> None:
    page = show(WIDGETS[name]())
    listeners = "Object.values(window.model.listeners).reduce((sum, set) => sum + set.size, 0)"
    assert page.evaluate(listeners) > 0
    page.evaluate("window.stop()")
    assert page.evaluate(listeners) == 0


@every_widget
def test_two_views_of_one_model_keep_step(show: Opener, name: str) -> None:
    page = show(WIDGETS[name]())
    page.evaluate(
        """async () => {
             const { esm } = JSON.parse(document.getElementById("data").textContent);
             const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
             const { default: widget } = await import(url);
             const el = document.createElement("div");
             document.querySelector("main").append(el);
             widget.render({ model: window.model, el });
           }"""
    )
    page.get_by_label("GPU").first.select_option("t4")
    assert page.get_by_label("GPU").last.input_value() == "t4"
    titles = page.locator("svg[aria-label*='T4']")
    assert titles.count() == 2
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
