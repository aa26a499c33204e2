"""Books to build, sites to serve, pages to visit: what the tests of the book share."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock
from playwright.sync_api import Page, Response

from serving import address_of
from sgemm_lab.book.repository import SITE_VARIABLE

ROOT = Path(__file__).parents[2]
SPECIMEN = Path(__file__).parent / "specimen"
ADDRESS = "https://someone.example/the-book/"
"""Where the specimen says that it is published."""
WAYS = (("desktop", "light"), ("phone", "dark"))
"""Both devices and both colours; the other two pairs hold no rule that these do not."""
REDIRECTS: dict[str, str] = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))[
    "sphinx"
]["config"]["redirects"]
"""Former addresses of pages."""
LOST = "404.html"
"""The page for unknown addresses."""
BUILT = "SGEMM_LAB_BOOK"
"""Set by ``make``, which builds the book before it starts the tests."""


def build(source: Path, *options: str, address: str | None = None) -> None:
    """Build a book, as one that is published at ``address``."""
    program = Path(sys.executable).with_name("jupyter-book")
    command = [str(program), "build", str(source)]
    done = subprocess.run(
        [*command, "-W", "-n", "--keep-going", *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | ({SITE_VARIABLE: address} if address is not None else {}),
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Let one worker make something for all of them in a folder, which is returned."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, made = shared / name, shared / f"{name}.made"
    with FileLock(shared / f"{name}.lock"):
        if not made.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            made.touch()
    return folder


@dataclass(frozen=True)
class Site:
    """A built book: its folder and the address where it is served."""

    folder: Path
    address: str

    @property
    def pages(self) -> list[str]:
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*.html"))
        apart = {LOST, *(f"{former}.html" for former in REDIRECTS)}
        names = [path.as_posix() for path in found if "_static" not in path.parts]
        return [name for name in names if name not in apart]

    def url(self, page: str, scheme: str = "http") -> str:
        base = self.address if scheme == "http" else self.folder.as_uri()
        return f"{base}/{page}"


@dataclass
class Visit:
    """One page in the browser, with everything it said and asked for."""

    page: Page
    console: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def goto(self, site: Site, page: str, scheme: str = "http", until: Any = "load") -> "Visit":
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("response", lambda response: self.responses.append(response))
        inside = (site.address, site.folder.as_uri(), "blob:", "data:")

        def guard(route: Any) -> None:
            self.outside.append(route.request.url)
            route.abort()

        # A pattern, which the driver knows: what stays inside takes no way through Python.
        self.page.route(re.compile(f"^(?!{'|'.join(map(re.escape, inside))})"), guard)
        self.page.goto(site.url(page, scheme), wait_until=until)
        self.page.wait_for_function(
            "() => document.fonts.ready.then(() => window.labDrawWidgets?.()).then(() => true)"
        )
        return self

    def _heard(self, message: Any) -> None:
        # The theme announces its mode. Everything else is news.
        if not message.text.startswith("[PST]"):
            self.console.append(message.text)


STILL = """async (behind) => {
  const seen = (one) => one?.checkVisibility({ visibilityProperty: true }) ?? false;
  const found = [];
  for (const widget of document.querySelectorAll(".lab-widget")) {
    widget.scrollIntoView();
    if (!behind && !seen(widget)) continue;
    const live = () => seen(widget.querySelector(".lab-widget-live > *"));
    const late = performance.now() + 20_000;
    while (!live() && performance.now() < late) await new Promise(requestAnimationFrame);
    const still = seen(widget.querySelector(".lab-widget-still"));
    if (!live() || still) found.push(widget.outerHTML.slice(0, 90));
  }
  return found;
}"""


def widgets_that_stay_still(page: Page, *, behind: bool = True) -> list[str]:
    """Scroll to each widget and wait for it; return those that do not come to life.

    Without ``behind`` those that wait behind a question are left out.
    """
    return list(page.evaluate(STILL, behind))


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    with address_of(folder) as address:
        yield Site(folder, address)


def build_specimen(out: Path) -> None:
    """Build the book with every element of a chapter, with the book's own configuration."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["logo"] = str(ROOT / config["logo"])
    config["html"]["favicon"] = str(ROOT / config["html"]["favicon"])
    (out / "_config.yml").write_text(yaml.safe_dump(config))
    options = ["--config", str(out / "_config.yml"), "--path-output", str(out)]
    build(SPECIMEN, *options, address=ADDRESS)
