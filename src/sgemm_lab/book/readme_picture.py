"""A picture of a page at work, for README: chapter 2, right after a barrier was deleted and run.

``python -m sgemm_lab.book.readme_picture`` makes it from ``_build/html``,
light and dark. What the page
said is kept in the picture, so that a test finds out when the page says something else.
"""

import functools
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from sgemm_lab.book import browser
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Mode = Literal["light", "dark"]
MODES: tuple[Mode, ...] = ("light", "dark")
PAGE = "chapters/02_tiling.html"
SAID = "said"
"""Under this name the picture keeps what the page said."""

_DELETED = "        __syncthreads();  // no one overwrites a tile before all have read it\n"
_WIDE, _HIGH = 1050, 840
_TO_THE_PANEL = "document.querySelector('.lab-bench').scrollIntoView()"
_RACES = "one => /race/.test(one.innerText)"
_SECONDS = 60


def picture(chromium: "Browser", address: str, mode: Mode) -> tuple[bytes, str]:
    """Return a picture (PNG) of the page served at ``address``, and what its panel says.

    Raises:
        LabError: the kernel of the page has no such barrier any more.
    """
    context = chromium.new_context(
        viewport={"width": _WIDE, "height": _HIGH}, color_scheme=mode, device_scale_factor=1.5
    )
    page = context.new_page()
    page.set_default_timeout(_SECONDS * 1000)
    page.goto(f"{address}/{PAGE}")
    editor = page.locator("[data-lab=editor]").first
    before = editor.input_value()
    if _DELETED not in before:
        raise LabError(f"The kernel of {PAGE} has no line {_DELETED.strip()!r} to delete.")
    editor.focus()
    page.wait_for_selector(".lab-bench .cm-editor")
    editor.fill(before.replace(_DELETED, ""))
    page.locator("[data-lab=run]").first.click()
    verdict = page.locator("[data-lab=verdict]").first
    page.wait_for_function(
        "one => /race|barrier/.test(one.innerText)", arg=verdict.element_handle()
    )
    said = " ".join(verdict.inner_text().split())
    page.evaluate("document.activeElement.blur()")
    page.evaluate(_TO_THE_PANEL)
    page.wait_for_timeout(300)
    shot = page.screenshot()
    context.close()
    return shot, said


def kept(shot: bytes, said: str) -> bytes:
    """Return the picture in 128 colours, with what the page said in it."""
    few = Image.open(io.BytesIO(shot)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    text = PngInfo()
    text.add_text(SAID, said)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, pnginfo=text)
    return out.getvalue()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; give the address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def write(chromium: "Browser", site: Path, folder: Path) -> list[Path]:
    """Write the pictures of a built site into a folder; return the files.

    Raises:
        LabError: the page has changed so that there is nothing to show.
    """
    files = []
    with served(site) as address:
        for mode in MODES:
            files.append(folder / f"page-{mode}.png")
            write_whole(files[-1], kept(*picture(chromium, address, mode)))
    return files


def main() -> None:
    """Write the pictures of this checkout's book and say where."""
    try:
        with browser.opened() as chromium:
            files = write(chromium, Path.cwd() / "_build" / "html", Path.cwd() / "docs")
    except LabError as refused:
        sys.exit(str(refused))
    for file in files:
        print(f"{file} ({file.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
