"""The place that measures the reader's card: what it loads and when, what it shows and keeps."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from panel_pages import Opened, furnish, page_of
from playwright.sync_api import Browser, Page, expect
from turns import in_turn

from accessible import faults
from browser import still
from serving import address_of
from sgemm_lab import lab
from sgemm_lab.book import reader_cards
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.lab.ladders import chapter_pages
from sgemm_lab.text import number
from sgemm_lab.wgsl.programs import load_programs

pytestmark = pytest.mark.browser

BOXES = ("naive_rows", "naive", "tiled", "strip", "sliding_window")
"""Whose closing boxes the chapter of the tests has."""
KEY = "sgemm-lab:card"
ASSETS = ("reader_card.css", "book.css", "book.js")
BOOK = reader_cards.book_card()
STEPS = BOOK["steps"]
SECONDS = {"naive_rows": 0.004, "naive": 0.001, "tiled": 0.0008, "split": 0.0001}
"""Of a product at 128³: 1.05, 4.19, 5.24 and 41.9 GFLOP/s."""
MEASURED: dict[str, Any] = {
    "form": "sgemm-lab card 1",
    "card": "A laptop's card",
    "date": "2026-11-22T10:00:00.000Z",
    "clock": "timestamps",
    "size": 128,
    "copy_gbs": 60.5,
    "multiply_add_gflops": 83.8,
    "rungs": [
        {
            "name": step["name"],
            "fingerprint": step["fingerprint"],
            "seconds": [SECONDS[step["name"]]],
        }
        for step in STEPS
        if step["name"] in SECONDS
    ],
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("reader_card")
    furnish(folder, ASSETS)
    (folder / reader_cards.SCRIPT).write_text(reader_cards.script(), encoding="utf-8")
    steps = reader_cards.chapter_script()
    (folder / reader_cards.CHAPTER_SCRIPT).write_text(steps, encoding="utf-8")
    (folder / "empty.html").write_text("<!doctype html><title>Empty</title>", encoding="utf-8")
    boxes = "".join(lab.closing(name)._repr_html_() for name in BOXES)
    for mode in ("light", "dark"):
        pages = {
            mode: reader_cards.place(),
            f"chapter-{mode}": boxes,
            f"step-{mode}": reader_cards.step_place("tiled"),
        }
        for name, content in pages.items():
            html = page_of(content, "A card", ASSETS, mode)
            (folder / f"{name}.html").write_text(html, encoding="utf-8")
    with address_of(folder) as served:
        yield served


class OpenedPlace(Opened):
    """A page with the place, and all that it asked for."""

    def __init__(self, page: Page, address: str) -> None:
        super().__init__(page)
        self.address = address
        self.asked: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))

    def goto(self, mode: str = "light") -> "OpenedPlace":
        self.page.goto(f"{self.address}/{mode}.html")
        return self

    def keep(self, measured: Any) -> None:
        """Let the browser keep a card. A page without anything is quickest to do that from."""
        if not self.page.url.startswith(self.address):
            self.page.goto(f"{self.address}/empty.html")
            self.asked.clear()
        text = measured if isinstance(measured, str) else json.dumps(measured)
        self.page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])

    def kept(self) -> Any:
        """Return what the browser keeps."""
        text = self.page.evaluate("(key) => localStorage.getItem(key)", KEY)
        return text and json.loads(text)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    @property
    def scripts(self) -> list[str]:
        names = (reader_cards.SCRIPT, reader_cards.CHAPTER_SCRIPT)
        return [url for url in self.asked if url.endswith(names)]

    @property
    def card_steps(self) -> dict[str, str]:
        """The lines of the closing boxes, by the program of the box."""
        found = self.page.locator(".lab-closing .lab-card-step dd").all()
        boxes = [line.locator("xpath=ancestor::section") for line in found]
        return {
            str(box.get_attribute("data-program")): " ".join(line.inner_text().split())
            for box, line in zip(boxes, found, strict=True)
        }


@pytest.fixture
def opened(chromium: Browser, address: str) -> Iterator[Any]:
    contexts = []

    def visit(browser: Browser = chromium, **options: Any) -> OpenedPlace:
        contexts.append(browser.new_context(**still(browser, **options)))
        return OpenedPlace(contexts[-1].new_page(), address)

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.parametrize("program", load_programs(), ids=lambda program: program.name)
def test_a_program_in_the_page_lacks_nothing_but_prose(program: Kernel) -> None:
    shipped = parse_kernel(program.name, reader_cards.without_prose(program.source))
    assert shipped.fingerprint == program.fingerprint
    assert replace(shipped, source="") == replace(program, source="")
    assert len(shipped.source) < len(program.source)


def test_nothing_comes_before_the_reader_asks_and_without_a_card_it_is_one_line(
    opened: Any,
) -> None:
    place = opened().goto()
    expect(place.part("measure")).to_be_visible()
    assert not place.scripts
    place.part("measure").click()
    expect(place.part("told")).to_contain_text("This browser offers no graphics card to pages")
    assert len(place.scripts) == 1
    expect(place.part("measure")).to_have_text("Measure my card")
    expect(place.part("result")).to_be_empty()
    assert not [text for text in place.complaints if "No available adapters" not in text]


def test_a_measurement_ends_by_a_button_or_a_hidden_tab_and_begins_again(
    opened: Any, chromium_with_card: Browser
) -> None:
    place = opened(chromium_with_card).goto()
    hide = """() => {
      Object.defineProperty(document, "hidden", { value: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    for stop, said in (
        (place.part("measure").click, "Stopped. Nothing was saved."),
        (lambda: place.page.evaluate(hide), "you turned to another tab"),
    ):
        place.part("measure").click()
        expect(place.part("told")).to_contain_text("SwiftShader", ignore_case=True)
        expect(place.part("told").locator("progress")).to_be_visible()
        stop()
        expect(place.part("told")).to_contain_text(said)
        expect(place.part("measure")).to_have_text("Measure my card")
    assert not place.complaints
    assert place.kept() is None


def test_a_kept_card_is_shown_beside_the_books(opened: Any) -> None:
    place = opened()
    place.keep(MEASURED)
    place.goto()
    rows = place.page.locator(".lab-card-ladder tbody tr")
    expect(rows).to_have_count(len(SECONDS))
    texts = rows.all_inner_texts()
    cells = [[" ".join(cell.split()) for cell in text.split("\t")] for text in texts]
    wgsl, cuda = BOOK["wgsl"]["gflops"], BOOK["cuda"]["gflops"]
    first = [number(speeds["naive_rows"]) for speeds in (wgsl, cuda)]
    assert cells[0] == ["Naive rows", "1.05", *first]
    assert cells[1][:2] == ["Naive", "4.19 ×4"]
    assert cells[1][2].startswith(f"{number(wgsl['naive'])} ×")
    assert cells[2][1] == "5.24 ×1.25"  # tiled after naive
    assert "×" not in cells[3][1]  # split: the step that it builds on is not there
    said = place.part("result").inner_text()
    assert "A laptop's card, WGSL: 40 times as fast, from 1.05 to 41.9 GFLOP/s" in said
    assert "That is 50 % of the 83.8 GFLOP/s" in said
    assert f"their programs are newer: {len(STEPS) - len(SECONDS)} steps." in said
    link = rows.first.locator("a")
    assert link.get_attribute("href") == dict(chapter_pages())[1][0]
    assert not place.complaints


def test_a_saved_card_is_a_file_and_can_be_forgotten(opened: Any) -> None:
    place = opened()
    place.keep(MEASURED)
    place.goto()
    with place.page.expect_download() as download:
        place.press("Save as a file")
    assert json.loads(Path(download.value.path()).read_text(encoding="utf-8")) == MEASURED
    place.press("Forget")
    expect(place.part("result")).to_be_empty()
    assert place.kept() is None


NO_CARDS = ["", "{}", "[]", "null", json.dumps(MEASURED)[:-3],
            json.dumps(MEASURED | {"rungs": [{}]}), json.dumps(MEASURED | {"size": "128"}),
            json.dumps(MEASURED | {"form": "another"})]  # fmt: skip


def test_what_is_kept_and_is_no_card_is_not_shown(opened: Any) -> None:
    place = opened()
    for text in NO_CARDS:
        place.keep(text)
        place.goto()
        if text not in ("", "{}"):
            place.page.wait_for_selector("[data-ready]")
        expect(place.part("result")).to_be_empty()
    assert not place.complaints


def cuda_factor(name: str, before: str) -> float:
    """Return how many times as fast the book's GPU is with a step, in CUDA."""
    speeds: dict[str, float] = BOOK["cuda"]["gflops"]
    return speeds[name] / speeds[before]


def with_samples(**seconds: list[float]) -> dict[str, Any]:
    """Return the measured card with other samples of some steps."""
    prints = {step["name"]: step["fingerprint"] for step in STEPS}
    all_seconds = {name: [one] for name, one in SECONDS.items()} | seconds
    steps = [
        {"name": name, "fingerprint": prints[name], "seconds": some}
        for name, some in all_seconds.items()
    ]
    return MEASURED | {"rungs": steps}


def test_closing_boxes_tell_how_a_kept_card_took_the_step(opened: Any) -> None:
    place = opened()
    place.keep(MEASURED)
    place.goto("chapter-light")
    place.page.wait_for_selector(".lab-card-step")
    # The first step has none before it; the card lacks sliding_window, and WGSL lacks strip.
    there = cuda_factor("tiled", "naive")
    assert there > 1.15
    assert place.card_steps == {
        "naive": "A laptop's card, WGSL at 128³: 4.19 ÷ 1.05 GFLOP/s = 4.00 times “Naive rows”. "
        "On the NVIDIA H200 in CUDA: "
        f"{cuda_factor('naive', 'naive_rows'):.2f} times. It helps on both.",
        "tiled": "A laptop's card, WGSL at 128³: 5.24 ÷ 4.19 GFLOP/s = 1.25 times “Naive”. "
        f"On the NVIDIA H200 in CUDA: {there:.2f} times. It helps on both.",
    }
    terms = place.page.locator(".lab-card-step dt").all_inner_texts()
    assert terms == ["On your card", "On your card"]
    assert place.scripts == [f"{place.address}/{reader_cards.CHAPTER_SCRIPT}"]
    assert not place.complaints


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ([0.001], "It helped there and not here."),
        ([0.0009], "times."),  # 1.11 times: may be noise
        ([0.0005, 0.0008, 0.001], "too much to tell what the step gains."),
    ],
)
def test_a_closing_box_judges_a_step_by_what_was_measured(
    opened: Any, seconds: list[float], verdict: str
) -> None:
    place = opened()
    place.keep(with_samples(tiled=seconds))
    place.goto("chapter-light")
    place.page.wait_for_selector(".lab-card-step")
    assert place.card_steps["tiled"].endswith(verdict)


@pytest.mark.parametrize(
    "kept",
    [{"form": "another"}, {"rungs": [step | {"fingerprint": "old"} for step in MEASURED["rungs"]]}],
)
def test_closing_boxes_say_nothing_of_a_card_that_does_not_fit_the_book(
    opened: Any, kept: dict[str, Any]
) -> None:
    place = opened()
    place.keep(MEASURED | kept)
    with place.page.expect_response(f"**/{reader_cards.CHAPTER_SCRIPT}"):
        place.goto("chapter-light")
    place.page.wait_for_load_state("networkidle")
    assert place.card_steps == {}
    assert not place.complaints


def test_a_step_of_a_chapter_is_measured_where_the_reader_asks(
    opened: Any, chromium_with_card: Browser
) -> None:
    place = opened(chromium_with_card)
    place.keep(MEASURED)
    place.goto("step-light")
    expect(place.page.locator(".lab-card")).to_contain_text(
        "This runs “Naive” and “Tiled” in WGSL on this device"
    )
    assert not place.scripts
    place.press("Measure this step")
    told = place.part("told")
    expect(told).to_contain_text("WGSL at ", timeout=60_000)
    expect(told).to_contain_text("times “Naive”.")
    expect(told).to_contain_text(f"in CUDA: {cuda_factor('tiled', 'naive'):.2f} times")
    expect(place.page.get_by_role("button", name="Measure this step")).to_be_visible()
    assert place.kept() == MEASURED
    assert not place.complaints


@pytest.mark.parametrize(("width", "mode"), in_turn(("1280", "390"), (("light",), ("dark",))))
def test_a_shown_card_is_at_home_on_every_screen(opened: Any, mode: str, width: str) -> None:
    place = opened(viewport={"width": int(width), "height": 844})
    place.keep(MEASURED)
    place.goto(mode)
    place.page.wait_for_selector(".lab-card-ladder")
    assert place.page.evaluate("document.documentElement.scrollWidth") <= int(width)
    sizes = place.page.evaluate(
        """() => [...document.querySelectorAll(".lab-card *")].filter((one) => one.innerText)
          .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    )
    assert min(sizes) >= 11
    assert faults(place.page) == []
