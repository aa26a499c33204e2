"""One style sheet and one script for all pages, in place of the thirty that a theme brings.

Each is joined from files of the site, in the order in which a page would load them. Looks of others
are pruned to what the site shows. What only some pages need stays with those pages.
"""

import json
import posixpath
import re
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgemm_lab import npm

SHEET = "site.css"
SCRIPT = "site.js"

_THEIR_SHEETS = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "sphinx-design.min.css",
)
_OUR_SHEETS = (
    *("exercises.css", "panel.css", "book-theme.css", "book.css"),
    "pictures.css",
    "widgets.css",
)
_SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "scripts/sphinx-book-theme.js",
    "book.js",
    "scripts/pydata-sphinx-theme.js",
)
_PURGE = Path(__file__).with_name("purge.mjs")
_IDLE = "*design-tabs.js"
"""No page has tabs."""
_ADDRESS = re.compile(r"""url\((["']?)(?!data:|[a-z]+:|/|#)([^"')]+)\1\)""")
_TAB_STOPS = re.compile(r'(?<=,)"complete"===[\w.]+\?(\w+)\(\):[\w.]+\("load",\1\)')
"""Where the theme measures, one by one, what scrolls, folded parts too. ``book.ts`` does that."""
_SCRIPT_TYPES = (None, "text/javascript", "module")
_SETTING = "DOCUMENTATION_OPTIONS."


def lighten(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Leave to a page what is its own: sheets, scripts, and data, which go to its end.

    The theme's settings go: they switch on a choice of versions and a search in the page, and this
    book has neither.
    """
    context["css_files"] = [one for one in context["css_files"] if not _is_joined(one.filename)]
    scripts, context["page_data"] = [], []
    for one in context["script_files"]:
        if one.attributes.get("type") not in _SCRIPT_TYPES:
            context["page_data"].append(one)
        elif one.filename is None and one.attributes.get("body", "").startswith(_SETTING):
            continue
        elif one.filename is None or not (_is_joined(one.filename) or fnmatch(one.filename, _IDLE)):
            scripts.append(one)
    context["script_files"] = scripts


def write(app: Sphinx) -> None:
    """Write the bundled style sheet and script to the built site."""
    site = Path(app.outdir)
    static = site / "_static"
    script = joined_script(static)
    (static / SCRIPT).write_text(script, encoding="utf-8")
    sheet = joined_sheet(static, site.rglob("*.html"), [*static.glob("*.js"), static / SCRIPT])
    (static / SHEET).write_text(sheet, encoding="utf-8")


def joined_script(static: Path) -> str:
    """Return the scripts that all pages load, as one text."""
    texts = (path.read_text(encoding="utf-8") for path in _found(static, _SCRIPTS))
    # A line of its own: the last one of a script may be a comment. A script may end without ";".
    return _TAB_STOPS.sub("0", "".join(f"{text}\n;\n" for text in texts))


def joined_sheet(static: Path, pages: Iterable[Path], scripts: Iterable[Path]) -> str:
    """Return the style sheets that all pages load, as one text.

    Sheets of others are pruned to what occurs in a page or a script. ``static`` is the folder of
    the site that holds them.
    """
    theirs, ours = (_found(static, sheets) for sheets in (_THEIR_SHEETS, _OUR_SHEETS))
    of_pages = {*static.glob("*.css")} - {*theirs, *ours, static / SHEET}
    request = {
        "theirs": "\n".join(_rebased(path, static) for path in theirs),
        "ours": "\n".join(_rebased(path, static) for path in ours),
        "pages": [str(path) for path in pages],
        # A file of PTX has none of our code, and any word may occur in it.
        "scripts": [str(one) for one in (*scripts, *of_pages) if "panel-ptx-" not in one.name],
    }
    npm.fetch()
    done = npm.node(str(_PURGE), input=json.dumps(request), stdout=subprocess.PIPE, check=True)
    return str(done.stdout)


def _found(static: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(static.glob(pattern))]


def _rebased(sheet: Path, static: Path) -> str:
    """Return a sheet whose addresses are those seen from the folder ``static``."""
    folder = sheet.parent.relative_to(static).as_posix()

    def moved(address: re.Match[str]) -> str:
        return f"url({posixpath.normpath(posixpath.join(folder, address[2]))})"

    return _ADDRESS.sub(moved, sheet.read_text(encoding="utf-8"))


def _is_joined(file: Any) -> bool:
    name = str(file).removeprefix("_static/")
    return any(fnmatch(name, one) for one in (*_THEIR_SHEETS, *_OUR_SHEETS, *_SCRIPTS))
