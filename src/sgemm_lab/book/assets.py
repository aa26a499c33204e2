"""What a page loads: fonts, scripts and colours, all from the site itself."""

import shutil
from pathlib import Path

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx

from sgemm_lab import bundles
from sgemm_lab.book import fonts, mathml
from sgemm_lab.style import theme_css

ASSETS = Path(__file__).parent / "assets"
_OF_ALL_PAGES = ("book.", "exercises.", "widgets")
"""The others come with the panels and the reader's card."""
TEMPLATES = Path(__file__).parent / "templates"
LIGHT_CODE = "github-light"
DARK_CODE = "github-dark"


def write_assets(app: Sphinx) -> None:
    """Write fonts, the book's colours and the widgets to the built site."""
    site = Path(app.outdir)
    static = site / "_static"
    (static / "book-theme.css").write_text(stylesheet(), encoding="utf-8")
    for path in (bundles.FOLDER / "pages").iterdir():
        if path.name.startswith(_OF_ALL_PAGES):
            shutil.copy(path, static)
    mathml.write_font(site)
    fonts.write_icons(site)


def stylesheet() -> str:
    """Return the CSS that no file holds: the colours, and those of sources."""
    light, dark = source_colours("light", LIGHT_CODE), source_colours("dark", DARK_CODE)
    return theme_css("body") + light + dark


def source_colours(mode: str, code_style: str) -> str:
    """Return Pygments' token colours for a kernel's source in one mode of the page.

    The editor of a panel has the classes of a listing, so that it has its colours.
    """
    formatter = HtmlFormatter(style=code_style)
    scope = f'html[data-theme="{mode}"] :is(.lab-source pre, .cm-line)'
    rules: list[str] = formatter.get_token_style_defs(scope)  # type: ignore[no-untyped-call]
    return "\n".join([*rules, ""])
