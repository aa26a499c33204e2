"""Widgets with a kernel behind them, in JupyterLab: state goes to Python and back, and is kept."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from notebook_server import open_notebook, run_cell, served_notebooks
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser import STILL

WAIT = 60_000
"""Milliseconds that Python may take to answer."""

CELLS = [
    "import ladder_samples, occupancy_samples\nfrom widget_samples import GPUS, POINTS\n"
    "from request_samples import SHARED\nfrom sgemm_lab.widgets import Banks, Roofline\n"
    "roofline = Roofline(GPUS, POINTS)\nroofline",
    "banks = Banks(SHARED)\nbanks",
    "occupancy = occupancy_samples.example()\noccupancy",
    "ladder = ladder_samples.ladder()\nladder",
    "print('kernel has', roofline.gpu, roofline.level, banks.stride, len(banks.wavefronts), "
    "occupancy.threads, ladder.measure)",
    "roofline.gpu = 't4'\nbanks.chosen = 0\nbanks.wavefront = 1\noccupancy.registers = 64\n"
    "ladder.size = (256, 256, 256)",
]
ROOTS = tuple(f".sgemm-lab.lab-{name}" for name in ("roofline", "banks", "occupancy", "ladder"))
# JupyterLab keeps the state of widgets in a saved notebook only where the reader asks for it, in
# Settings, "Save Widget State Automatically".
SAVE = {"@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the notebooks and of JupyterLab's settings."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def addresses(folder: Path) -> Iterator[dict[str, str]]:
    with served_notebooks(folder, {"live": CELLS}, SAVE) as addresses:
        yield addresses


@pytest.fixture
def address(addresses: dict[str, str]) -> str:
    return addresses["live"]


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1000, "height": 10_000}, **STILL)
    context.set_default_timeout(40_000)
    yield context
    context.close()


def expect_last_state(page: Page) -> None:
    """All widgets show what Python set in the last cell."""
    for root in ROOTS:
        expect(page.locator(f"{root} svg:visible").first).to_be_visible(timeout=WAIT)
    expect(page.locator(".lab-roofline .lab-point")).to_have_count(0, timeout=WAIT)
    expect(page.locator(".lab-roofline select").first).to_have_value("t4")
    wavefront = page.locator(".lab-banks").get_by_role("slider", name="Clock")
    expect(wavefront).to_have_attribute("aria-valuetext", "1 of 2", timeout=WAIT)
    registers = page.get_by_role("slider", name="Registers per thread")
    expect(registers).to_have_attribute("aria-valuetext", "64", timeout=WAIT)
    square = page.locator(".lab-ladder").get_by_role("slider", name="M = N = K")
    expect(square).to_have_attribute("aria-valuetext", "256", timeout=WAIT)


def save(page: Page, notebook: Path) -> None:
    """Save until the file has the widgets' state: saving collects it and does not wait for it."""
    for _ in range(WAIT // 500):
        # `void`: an evaluation that waits for JupyterLab's promise has no time limit.
        page.evaluate("void window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(500)
        with suppress(json.JSONDecodeError):  # JupyterLab is writing the file
            if has_every_state(json.loads(notebook.read_text())):
                return
    raise AssertionError("the saved notebook lacks the state of a widget")


def has_every_state(notebook: dict[str, Any]) -> bool:
    """Whether a notebook holds the state of each widget that it shows."""
    kind = "application/vnd.jupyter.widget-{}+json"
    saved = notebook["metadata"].get("widgets", {}).get(kind.format("state"), {}).get("state", {})
    outputs = [output["data"] for cell in notebook["cells"] for output in cell.get("outputs", [])
               if "data" in output]  # fmt: skip
    shown = [
        data[kind.format("view")]["model_id"] for data in outputs if kind.format("view") in data
    ]
    return bool(shown) and set(shown) <= set(saved)


def test_state_reaches_python_and_comes_back(
    address: str, folder: Path, context: BrowserContext
) -> None:
    page = context.new_page()
    open_notebook(page, address)
    for cell, root in enumerate(ROOTS):
        run_cell(page, cell)
        page.wait_for_selector(f"{root} svg:visible")

    page.locator(".lab-roofline select").first.select_option("a100")
    page.locator(".lab-roofline").get_by_role("radio", name="DRAM").check(force=True)
    expect(page.locator(".lab-roofline .lab-point")).to_have_count(2)
    page.locator(".lab-banks").get_by_role("radio", name="3", exact=True).check(force=True)
    page.get_by_role("slider", name="Threads per block").fill("15")  # the 16th warp: 512
    page.locator(".lab-ladder").get_by_role("radio", name="GFLOP/s").check(force=True)
    run_cell(page, len(ROOTS))
    said = "kernel has a100 dram 3 1 512 gflops"
    expect(page.get_by_text(said)).to_be_visible(timeout=WAIT)
    run_cell(page, len(ROOTS) + 1)
    expect_last_state(page)
    # JupyterLab's own rules for lists of terms stay outside.
    rooms = page.locator(".lab-rooms :is(dt, dd)").first
    assert rooms.evaluate("(node) => getComputedStyle(node).float") == "none"
    save(page, folder / "live.ipynb")
    page.reload()  # the kernel lives on
    expect_last_state(page)
    with page.expect_response(lambda r: r.request.method == "DELETE" and "/sessions/" in r.url):
        page.evaluate("void window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def test_saved_closed_and_reopened_each_draws_its_last_state(
    address: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(address)
    # On a busy machine JupyterLab at times draws outputs before it has read the file's widgets.
    early = page.get_by_text("Error displaying widget: model not found").first
    drawn = page.locator(f"{ROOTS[0]} svg:visible").first
    expect(drawn.or_(early).first).to_be_visible(timeout=WAIT)
    if early.is_visible():
        page.reload()
    expect_last_state(page)
    # No kernel knows these widgets any more, and they still answer.
    page.locator(".lab-banks").get_by_role("radio", name="16", exact=True).check(force=True)
    expect(page.locator(".lab-banks .lab-verdict")).to_contain_text("16 rows: 16 clocks.")
