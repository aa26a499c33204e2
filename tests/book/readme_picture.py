"""A picture of a page at work, for README: chapter 2, right after a barrier was deleted and run.

``make picture`` makes it from ``_build/html``, light and dark. It holds what the page said,
so that a test fails when the page says something else.
"""

import io
import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser

from serving import address_of
from sgemm_lab.book import browser
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

Mode = Literal["light", "dark"]
MODES: tuple[Mode, ...] = ("light", "dark")
PAGE = "chapters/02_tiling.html"
SAID = "said"
"""The field of the picture that holds what the page said."""

_DELETED = "        __syncthreads();  // no one overwrites a tile before all have read it\n"
_WIDE, _HIGH = 1050, 840
_SECONDS = 60


def picture(chromium: Browser, address: str, mode: Mode) -> tuple[bytes, str]:
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
    panel = page.locator("[data-lab=panel]")
    editor = panel.locator("[data-lab=editor]")
    before = editor.input_value()
    if _DELETED not in before:
        raise LabError(f"The kernel of {PAGE} has no line {_DELETED.strip()!r} to delete.")
    editor.focus()
    page.wait_for_selector(".lab-bench .cm-editor")
    editor.fill(before.replace(_DELETED, ""))
    panel.locator("[data-lab=run]").click()
    verdict = panel.locator("[data-lab=verdict]")
    page.wait_for_function(
        "one => /race|barrier/.test(one.innerText)", arg=verdict.element_handle()
    )
    said = " ".join(verdict.inner_text().split())
    page.evaluate("document.activeElement.blur()")
    panel.evaluate("one => one.scrollIntoView()")
    page.wait_for_timeout(300)
    shot = page.screenshot()
    context.close()
    return shot, said


def packed(shot: bytes, said: str) -> bytes:
    """Return the picture in 128 colours, with what the page said in it."""
    few = Image.open(io.BytesIO(shot)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    text = PngInfo()
    text.add_text(SAID, said)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, pnginfo=text)
    return out.getvalue()


def main() -> None:
    """Write the pictures of this checkout's book and say where."""
    try:
        with browser.opened() as chromium, address_of(Path.cwd() / "_build" / "html") as address:
            for mode in MODES:
                file = Path.cwd() / "docs" / f"page-{mode}.png"
                write_whole(file, packed(*picture(chromium, address, mode)))
                print(f"{file} ({file.stat().st_size / 1000:.0f} kB)")
    except LabError as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    main()
