"""What a page loads: letters, icons and colours, all from the site itself."""

import shutil
from pathlib import Path

from sphinx.application import Sphinx

from sgemm_lab import bundles
from sgemm_lab.book import icons, mathml, theme

ASSETS = Path(__file__).parent / "assets"
_OF_ALL_PAGES = ("book.", "exercises.", "widgets")
"""The others come with the panels and the reader's card."""
TEMPLATES = Path(__file__).parent / "templates"


def clear_icons(app: Sphinx) -> None:
    """Make room for the theme's own icon fonts, which are cut down after the build."""
    icons.clear(Path(app.outdir))


def write_assets(app: Sphinx) -> None:
    """Put letters, icons, the book's colours and the widgets beside the built pages."""
    site = Path(app.outdir)
    static = site / "_static"
    (static / "book-theme.css").write_text(theme.stylesheet(), encoding="utf-8")
    for path in (bundles.FOLDER / "pages").iterdir():
        if path.name.startswith(_OF_ALL_PAGES):
            shutil.copy(path, static)
    mathml.write_font(site)
    icons.write_fonts(site)
