"""The place that measures the reader's GPU: what it loads and when, and what it shows."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from panel_pages import Opened, furnish, page_of
from playwright.sync_api import Browser, expect
from turns import TAKES_TURNS

from accessible import faults
from browser import still
from serving import address_of
from sgemm_lab.book import reader_cards
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.text import number
from sgemm_lab.wgsl.programs import load_programs

pytestmark = [pytest.mark.browser, TAKES_TURNS]

ASSETS = ("book.css", "exercises.css", "book.js")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("reader_card")
    furnish(folder, ASSETS)
    (folder / reader_cards.SCRIPT).write_text(reader_cards.script(), encoding="utf-8")
    for name in ("", "tiled"):
        html = page_of(reader_cards.place(name), "A card", ASSETS)
        (folder / f"{name or 'whole'}.html").write_text(html, encoding="utf-8")
    with address_of(folder) as served:
        yield served


@pytest.fixture
def opened(address: str) -> Iterator[Any]:
    contexts = []

    def visit(browser: Browser, name: str, **options: Any) -> Opened:
        contexts.append(browser.new_context(**still(browser, **options)))
        place = Opened(contexts[-1].new_page())
        place.page.goto(f"{address}/{name}.html")
        return place

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
    opened: Any, chromium: Browser
) -> None:
    place = opened(chromium, "whole")
    scripts = place.page.locator(f'script[src$="{reader_cards.SCRIPT}"]')
    expect(place.part("measure")).to_be_visible()
    expect(scripts).to_have_count(0)
    place.part("measure").click()
    expect(place.part("told")).to_contain_text("This browser offers no graphics card to pages")
    expect(scripts).to_have_count(1)
    expect(place.part("measure")).to_have_text("Measure my GPU")
    assert not [text for text in place.complaints if "No available adapters" not in text]


def test_a_measurement_ends_by_a_button_or_a_hidden_tab_and_begins_again(
    opened: Any, chromium_with_card: Browser
) -> None:
    place = opened(chromium_with_card, "whole")
    hide = """() => {
      Object.defineProperty(document, "hidden", { value: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    for stop, said in (
        (place.part("measure").click, "Stopped."),
        (lambda: place.page.evaluate(hide), "you turned to another tab"),
    ):
        place.part("measure").click()
        expect(place.part("told")).to_contain_text("SwiftShader", ignore_case=True)
        expect(place.part("told").locator("progress")).to_be_visible()
        stop()
        expect(place.part("told")).to_contain_text(said)
        expect(place.part("measure")).to_have_text("Measure my GPU")
    assert not place.complaints


def test_a_step_is_measured_and_shown_beside_the_books_gpu(
    opened: Any, chromium_with_card: Browser
) -> None:
    book = reader_cards.book_card()
    place = opened(chromium_with_card, "tiled", viewport={"width": 390, "height": 844})
    expect(place.page.locator(".lab-card")).to_contain_text("This runs “Naive” and “Tiled” in WGSL")
    place.part("measure").click()
    rows = place.page.locator(".lab-card tbody tr")
    expect(rows).to_have_count(2, timeout=60_000)
    naive, tiled = (row.locator("th, td").all_inner_texts() for row in rows.all())
    assert (naive[0], tiled[0]) == ("Naive", "Tiled")
    for column, language in enumerate(("wgsl", "cuda"), 2):
        speeds = book[language]["gflops"]
        factor = speeds["tiled"] / speeds["naive"]
        assert naive[column].startswith(f"{number(speeds['naive'])} ×")
        assert tiled[column] == f"{number(speeds['tiled'])} ×{factor:.2f}"
    assert "×" in tiled[1]
    assert place.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults(place.page) == []
    assert not place.complaints


def test_all_steps_can_be_saved_in_the_form_of_a_record(
    opened: Any, chromium_with_card: Browser
) -> None:
    place = opened(chromium_with_card, "whole")
    # One program alone, because all of them take a minute on a processor.
    place.page.add_init_script(
        "Object.defineProperty(window, 'labCard', { set(own) { const { setUp } = own;"
        " delete window.labCard; window.labCard = { setUp: (book) => setUp({ ...book,"
        " steps: book.steps.slice(0, 1) }) }; }, configurable: true });"
    )
    place.page.reload()
    place.part("measure").click()
    save = place.page.get_by_role("button", name="Save as a file")
    save.wait_for(timeout=60_000)
    with place.page.expect_download() as download:
        save.click()
    saved = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert saved["form"] == "sgemm-lab card 1"
    [step] = saved["rungs"]
    assert step["name"] == load_programs()[0].name
    assert step["fingerprint"] == load_programs()[0].fingerprint
    assert len(step["seconds"]) == 7
