"""A whole measurement on a card that a processor acts: what it finds, and how it can end."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from sgemm_lab.files import PACKAGE
from sgemm_lab.wgsl.programs import load_programs, roof_sources

pytestmark = pytest.mark.browser

FEW = ("naive", "tiled")
BOOK = {
    "programs": [
        {"name": one.name, "source": one.source, "fingerprint": one.fingerprint}
        for one in load_programs()
        if one.name in FEW
    ],
    "roofs": roof_sources(),
}
LIMITS = {"largest": 128, "rounds": 3}
CLIMB = """async ([book, limits]) => {
  window.told = [];
  try {
    return await lab.climb.climb(card, book, (text, share) => told.push([text, share]), limits);
  } catch (fault) {
    return fault.message;
  }
}"""
OPEN = "async () => { window.card = await lab.card.openCard(); }"
LOSE = """async () => {
  const ask = GPUAdapter.prototype.requestDevice;
  let device;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    device = await ask.apply(this, given);
    return device;
  };
  window.card = await lab.card.openCard();
  GPUAdapter.prototype.requestDevice = ask;
  window.lose = () => device.destroy();
}"""


WITHOUT_FEATURES = """() => {
  Object.defineProperty(GPUAdapter.prototype, "features", { get: () => new Set() });
}"""
TIMED_BY_SIZE = """(at128) => {
  const run = card.seconds.bind(card);
  card.seconds = async (work, grid) => {
    await run(work, grid);
    return at128 * (grid[0] / 4) ** 3;  // a block of naive has 32 columns
  };
}"""


def climb(page: Page, book: dict[str, Any] = BOOK, **limits: int) -> Any:
    return page.evaluate(CLIMB, [book, LIMITS | limits])


def with_programs(*names: str) -> dict[str, Any]:
    programs = [
        {"name": one.name, "source": one.source, "fingerprint": one.fingerprint}
        for one in load_programs()
        if one.name in names
    ]
    return BOOK | {"programs": programs}


@pytest.fixture
def own_card(chromium_with_card: Browser, modules: str) -> Any:
    page = chromium_with_card.new_page()
    page.goto(modules)
    page.wait_for_function("window.lab")
    yield page
    page.close()


def test_a_climb_measures_the_card_and_every_program(with_card: Page) -> None:
    measured = climb(with_card)
    assert measured["form"] == "sgemm-lab card 1"
    assert "swiftshader" in measured["card"].lower()
    assert measured["clock"] in ("timestamps", "wall clock")
    assert measured["size"] == 128
    assert [step["name"] for step in measured["rungs"]] == list(FEW)
    for step in measured["rungs"]:
        assert len(step["seconds"]) == 3
        gflops = 2 * 128**3 / sorted(step["seconds"])[1] / 1e9
        assert 0 < gflops < measured["multiply_add_gflops"]
    assert measured["copy_gbs"] > 0
    assert measured["left_out"] == []
    shares = [share for _, share in with_card.evaluate("told")]
    assert shares == sorted(shares)
    assert shares[-1] < 1


@pytest.mark.parametrize(
    ("at_128", "size"), [(0.0126, 128), pytest.param(0.0124, 256, marks=pytest.mark.whole)]
)
def test_no_run_of_a_program_takes_longer_than_a_tenth_of_a_second(
    own_card: Page, at_128: float, size: int
) -> None:
    own_card.evaluate(OPEN)
    own_card.evaluate(TIMED_BY_SIZE, at_128)
    measured = climb(own_card, with_programs("naive"), largest=4096)
    assert measured["size"] == size
    assert max(max(step["seconds"]) for step in measured["rungs"]) <= 0.1


def test_a_card_without_features_measures_the_rest_by_the_browsers_clock(own_card: Page) -> None:
    own_card.evaluate(WITHOUT_FEATURES)
    own_card.evaluate(OPEN)
    measured = climb(own_card, with_programs("naive", "lanes", "half_windows"))
    assert measured["clock"] == "wall clock"
    assert [step["name"] for step in measured["rungs"]] == ["naive"]
    words = json.loads((PACKAGE / "wgsl" / "features.json").read_text(encoding="utf-8"))
    assert measured["left_out"] == [
        {"name": "lanes", "why": words["subgroups"]},
        {"name": "half_windows", "why": words["shader-f16"]},
    ]


def test_a_program_for_a_feature_that_is_wrong_on_this_card_is_left_out(with_card: Page) -> None:
    book = with_programs("naive", "lanes")
    naive, lanes = book["programs"]
    wrong = lanes | {"source": lanes["source"].replace("fragA[i], l)", "fragA[i], l ^ 1)")}
    measured = climb(with_card, book | {"programs": [naive, wrong]})
    assert [step["name"] for step in measured["rungs"]] == ["naive"]
    [left_out] = measured["left_out"]
    assert left_out["why"].startswith("lanes is wrong at ")


def test_a_climb_can_be_stopped(own_card: Page) -> None:
    own_card.evaluate(OPEN)
    own_card.evaluate("() => { setTimeout(() => card.stop('You stopped it.'), 200); }")
    assert climb(own_card) == "You stopped it."
    assert climb(own_card) == "You stopped it."


def test_a_card_that_is_lost_ends_in_a_sentence(own_card: Page) -> None:
    own_card.evaluate(LOSE)
    own_card.evaluate("() => { setTimeout(lose, 200); }")
    assert climb(own_card).startswith("The browser took the card away")


def test_without_a_card_it_is_one_sentence(chromium: Browser, modules: str) -> None:
    page = chromium.new_page()
    page.goto(modules)
    page.wait_for_function("window.lab")
    said = page.evaluate("() => lab.card.openCard().catch((fault) => fault.message)")
    assert said.startswith("This browser offers no graphics card to pages (WebGPU).")
    page.close()
