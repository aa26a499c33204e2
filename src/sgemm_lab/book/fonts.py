"""Fonts cut down to the signs that a site shows: the icons then take 3 KB instead of 260."""

import logging
import re
import shutil
from collections.abc import Iterator, Set
from pathlib import Path

import pydata_sphinx_theme  # type: ignore[import-untyped]
from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from sphinx.application import Sphinx

logging.getLogger("fontTools").setLevel(logging.WARNING)  # It reports every table it touches.

_LICENCE = [0, 5, 13, 14]
"""Entries of a font that name its author and its licence."""
_THEME_STATIC = (
    Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
)
_FONTS = Path("vendor/fontawesome/webfonts")
_ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
_ICON_NAME = re.compile(r"\bfa-([a-z0-9-]+)")
_CODE_POINT = re.compile(r'"\\([ef][0-9a-f]{3})"')


def cut_down(source: Path, target: Path, points: Set[int]) -> None:
    """Write the font ``source`` with the signs ``points`` alone, for a page, to ``target``."""
    options = subset.Options(
        flavor="woff2", notdef_outline=True, name_IDs=[1, 2, 4, 6, *_LICENCE], layout_features=[]
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as file:
        font = subset.load_font(file, options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=sorted(points))
        cutter.subset(font)
        subset.save_font(font, str(target), options)


def code_points(source: Path) -> set[int]:
    """Return the signs that a font has."""
    with source.open("rb") as file:
        return set(TTFont(file).getBestCmap())


def write_icons(site: Path) -> None:
    """Replace the icon fonts of the built site by fonts with only the icons in use."""
    points = used_code_points(site)
    for source in sorted((_THEME_STATIC / _FONTS).glob("*.woff2")):
        cut_down(source, site / "_static" / _FONTS / source.name, points)


def clear_icons(app: Sphinx) -> None:
    """Remove the icon fonts of the last build, or Sphinx would warn that it overwrites them."""
    shutil.rmtree(Path(app.outdir) / "_static" / _FONTS, ignore_errors=True)


def used_code_points(site: Path) -> set[int]:
    """Return the icons that the site's pages, scripts and styles ask for."""
    styles = "".join(path.read_text(encoding="utf-8") for path in _styles(site))
    by_name = {
        name: int(point, 16)
        for selectors, point in _ICON_RULE.findall(styles)
        for name in _ICON_NAME.findall(selectors)
    }
    named = {
        by_name[name]
        for path in [*site.rglob("*.html"), *(site / "_static").glob("*.js")]
        for name in _ICON_NAME.findall(path.read_text(encoding="utf-8"))
        if name in by_name
    }
    outside_icon_rules = _ICON_RULE.sub("", styles)
    return named | {int(point, 16) for point in _CODE_POINT.findall(outside_icon_rules)}


def _styles(site: Path) -> Iterator[Path]:
    yield _THEME_STATIC / "styles" / "pydata-sphinx-theme.css"
    yield from (site / "_static").rglob("*.css")
