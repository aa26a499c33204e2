"""Every page of the book in WebKit, Safari's engine, as WebKitGTK has it. Run by ``make whole``."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver import Remote
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service
from sites import ROOT, Site

import browser

pytestmark = [pytest.mark.browser, pytest.mark.whole]

CHAPTERS = [f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.md"))]
SECONDS = 90

LISTEN = """
window.faults = [];
addEventListener("error", ({ message }) => faults.push(message));
addEventListener("unhandledrejection", ({ reason }) => faults.push(String(reason)));
"""
# Passes all questions, opens all folds, and comes by every widget: they wake when they are seen.
GO_THROUGH = """
const done = arguments[0];
const wait = (ms) => new Promise((passed) => setTimeout(passed, ms));
const passes = () => [...document.querySelectorAll(".lab-exercise button")]
  .find((one) => one.textContent.includes("Show the result") && one.offsetParent);
(async () => {
  for (let pass = passes(); pass; pass = passes()) pass.click();
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const widgets = [...document.querySelectorAll(".lab-widget")];
  const isLive = (one) => one.querySelector(".lab-widget-live > *")?.checkVisibility();
  for (const widget of widgets) {
    widget.scrollIntoView();
    for (let i = 0; i < 300 && !isLive(widget); i += 1) await wait(100);
  }
  done({
    asleep: widgets.filter((one) => !isLive(one)).length,
    flat: [...document.querySelectorAll("math")].flatMap((one) => {
      const { width, height } = one.getBoundingClientRect();
      const drawn = !one.checkVisibility() || (width > 2 && height > 5);
      return drawn ? [] : [one.textContent];
    }),
    wider: document.documentElement.scrollWidth - innerWidth,
    faults,
  });
})();
"""
RUN = """
const done = arguments[0];
const part = (name) => document.querySelector(`.lab-bench [data-lab=${name}]`);
const look = () => {
  const { state } = part("verdict").dataset;
  if (state === "right" || state === "wrong") done(part("verdict").innerText);
  else setTimeout(look, 100);
};
part("run").click();
look();
"""


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """Return the screen that is there, or one that nobody sees."""
    if there := os.environ.get("DISPLAY"):
        yield there
        return
    program = shutil.which("Xvfb")
    assert program, "There is no screen, and no Xvfb. Run: python tests/browser.py --webkit"
    command = [program, "-displayfd", "1", "-screen", "0", "1400x1000x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as screen:
        assert screen.stdout
        yield f":{screen.stdout.readline().strip()}"
        screen.terminate()


@pytest.fixture(scope="module")
def webkit(display: str) -> Iterator[Any]:
    programs = browser.find_webkit()
    assert programs, "No WebKitGTK. Run: python tests/browser.py --webkit"
    driver, shell = programs
    options = Options()
    options.binary_location = str(shell)
    options.add_argument("--automation")
    # A container has no rights to build a sandbox in; pages of the book are all that it opens.
    settings = {"DISPLAY": display, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
    service = Service(str(driver), env={**os.environ, **settings})
    service.start()
    try:
        at = ClientConfig(service.service_url)
        with Remote(RemoteConnection(client_config=at), options=options) as opened:
            opened.set_script_timeout(SECONDS)
            opened.set_window_size(1280, 950)
            yield opened
    finally:
        service.stop()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_page_fits_and_its_widgets_live(book: Site, webkit: Any, chapter: str) -> None:
    webkit.get(book.url(chapter))
    webkit.execute_script(LISTEN)
    found = webkit.execute_async_script(GO_THROUGH)
    assert found == {"asleep": 0, "flat": [], "wider": 0, "faults": []}


def test_the_kernel_of_a_page_runs_in_it(book: Site, webkit: Any) -> None:
    webkit.get(book.url("chapters/02_tiling.html"))
    said = webkit.execute_async_script(RUN)
    assert said.startswith("✓ Right, and no race")
