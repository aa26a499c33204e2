"""What a page loads: MathJax, icons and colours, all from the site itself."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from sgemm_lab.book import icons, theme
from sgemm_lab.widgets import bundle

ASSETS = Path(__file__).parent / "assets"
TEMPLATES = Path(__file__).parent / "templates"
MATHJAX_SCRIPT = "mathjax/tex-chtml.js"

_MATHJAX_PACKAGE = "sphinx-mathjax-offline"
# The script itself, its fonts, and the TeX extensions that it fetches when a formula needs them.
_MATHJAX_PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")
_ICON_SCRIPT = re.compile(r"<script[^>]*/fontawesome\.js[^>]*></script>")


def drop_icon_script(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Let the page template leave out the theme's icon script: the icons come from fonts."""

    def without_icon_script(head: str) -> Markup:
        return Markup(_ICON_SCRIPT.sub("", head))

    context["without_icon_script"] = without_icon_script


def clear_icons(app: Sphinx) -> None:
    """Make room for the theme's own icon fonts, which are cut down after the build."""
    icons.clear(Path(app.outdir))


def write_assets(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax, the icons in use, the book's colours and the widgets beside the built pages."""
    if error is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    static = site / "_static"
    (static / "book-theme.css").write_text(theme.stylesheet(), encoding="utf-8")
    for name, text in bundle.site_files().items():
        (static / name).write_text(text, encoding="utf-8")
    _copy_mathjax(static / "mathjax")
    icons.write_fonts(site)


def _copy_mathjax(target: Path) -> None:
    spec = find_spec(_MATHJAX_PACKAGE)
    if spec is None or spec.origin is None:
        raise ExtensionError(
            f"The Python package {_MATHJAX_PACKAGE} is missing, and formulas need it. "
            "Run: pip install -r requirements.txt"
        )
    source = Path(spec.origin).parent / "static" / "mathjax"
    for part in _MATHJAX_PARTS:
        if (target / part).exists():
            continue
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part)
        else:
            shutil.copyfile(source / part, target / part)
