"""A page with a panel or an exercise and no book around it, and what tests do there."""

import shutil
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from sgemm_lab import bundles
from sgemm_lab.book.assets import ASSETS, stylesheet

_PAGE = """<!doctype html><html lang="en" data-theme="{mode}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<link rel="stylesheet" href="book-theme.css">{sheets}
<script>DOCUMENTATION_OPTIONS = {{}};</script>{scripts}</head>
<body style="background: var(--lab-bg); color: var(--lab-fg)"><main class="bd-article">
<h1>{title}</h1>{content}</main></body></html>"""


def page_of(content: str, title: str, assets: tuple[str, ...], mode: str = "light") -> str:
    """Return a page with some of the book's sheets and scripts."""
    sheets = [f'<link rel="stylesheet" href="{one}">' for one in assets if one.endswith(".css")]
    scripts = [f'<script defer src="{one}"></script>' for one in assets if one.endswith(".js")]
    return _PAGE.format(
        mode=mode, title=title, sheets="".join(sheets), scripts="".join(scripts), content=content
    )


def furnish(folder: Path, assets: tuple[str, ...]) -> None:
    """Put some of the book's sheets and scripts into a folder, and its colours."""
    for name in assets:
        script = name.endswith(".js")
        shutil.copy((bundles.FOLDER / "pages" if script else ASSETS) / name, folder)
    (folder / "book-theme.css").write_text(stylesheet(), encoding="utf-8")


class Opened:
    """A page that a test has opened, with what it complains of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def part(self, name: str) -> Locator:
        return self.page.locator(f'[data-lab="{name}"]')

    def press_until(self, wanted: str) -> None:
        """Press Tab until what is focussed matches."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("(one) => document.activeElement.matches(one)", wanted):
                return
        raise AssertionError(f"Tab does not reach {wanted}.")

    def judged(self) -> str:
        """Wait until a run of the panel has ended; return the verdict's first line."""
        state = self.page.locator('[data-lab="verdict"]:is([data-state=right], [data-state=wrong])')
        state.wait_for(timeout=60_000)
        expect(self.part("run")).to_have_text("Run", timeout=60_000)
        return self.part("verdict").inner_text().splitlines()[0]
