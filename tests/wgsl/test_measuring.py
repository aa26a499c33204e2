"""A whole measurement on a card that a processor acts: what it finds, and how it can end."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from sgemm_lab.wgsl.programs import load_program

pytestmark = pytest.mark.browser

FEW = ("naive", "tiled")
LIMITS = {"largest": 128, "rounds": 3}
CLIMB = """async ([books, limits]) => {
  window.told = [];
  const programs = books.flatMap((one) => lab.products.programsOf(...one));
  try {
    const report = (text, share) => told.push([text, share]);
    return await lab.webgpu_benchmark.benchmark(card, programs, report, limits);
  } catch (fault) {
    return fault.message;
  }
}"""
OPEN = "async () => { window.card = await lab.webgpu_device.openCard(); }"
LOSE = """async () => {
  const ask = GPUAdapter.prototype.requestDevice;
  let device;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    device = await ask.apply(this, given);
    return device;
  };
  window.card = await lab.webgpu_device.openCard();
  GPUAdapter.prototype.requestDevice = ask;
  window.lose = () => device.destroy();
}"""


TIMED_BY_SIZE = """(at128) => {
  const run = card.seconds.bind(card);
  card.seconds = async (work, grid) => {
    await run(work, grid);
    return at128 * (grid[0] / 4) ** 3;  // a block of naive has 32 columns
  };
}"""


def benchmark(page: Page, *names: str, **limits: int) -> Any:
    books = [(name, load_program(name).source) for name in names or FEW]
    return page.evaluate(CLIMB, [books, LIMITS | limits])


@pytest.fixture
def own_card(chromium_with_card: Browser, modules: str) -> Any:
    page = chromium_with_card.new_page()
    page.goto(modules)
    page.wait_for_function("window.lab")
    yield page
    page.close()


def test_a_benchmark_measures_the_card_and_every_program(with_card: Page) -> None:
    measured = benchmark(with_card)
    assert "swiftshader" in measured["card"].lower()
    assert measured["size"] == 128
    assert list(measured["seconds"]) == list(FEW)
    for seconds in measured["seconds"].values():
        assert len(seconds) == 3
        assert min(seconds) > 0
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
    measured = benchmark(own_card, "naive", largest=4096)
    assert measured["size"] == size
    assert max(measured["seconds"]["naive"]) <= 0.1


def test_a_benchmark_can_be_stopped(own_card: Page) -> None:
    own_card.evaluate(OPEN)
    own_card.evaluate("() => { setTimeout(() => card.stop('You stopped it.'), 200); }")
    assert benchmark(own_card) == "You stopped it."
    assert benchmark(own_card) == "You stopped it."


def test_a_card_that_is_lost_ends_in_a_sentence(own_card: Page) -> None:
    own_card.evaluate(LOSE)
    own_card.evaluate("() => { setTimeout(lose, 200); }")
    assert benchmark(own_card).startswith("The browser took the card away")


def test_without_a_card_it_is_one_sentence(chromium: Browser, modules: str) -> None:
    page = chromium.new_page()
    page.goto(modules)
    page.wait_for_function("window.lab")
    said = page.evaluate("() => lab.webgpu_device.openCard().catch((fault) => fault.message)")
    assert said.startswith("This browser offers no graphics card to pages (WebGPU).")
    page.close()
