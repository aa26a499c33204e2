"""The theme's icon fonts, cut down to the icons that the pages use: 3 KB instead of 260."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pydata_sphinx_theme  # type: ignore[import-untyped]

from sgemm_lab.book import fonts

_THEME_STATIC = (
    Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
)
_FONTS = Path("vendor/fontawesome/webfonts")
_ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
_ICON_NAME = re.compile(r"\bfa-([a-z0-9-]+)")
_CODE_POINT = re.compile(r'"\\([ef][0-9a-f]{3})"')


def write_fonts(site: Path) -> None:
    """Replace the icon fonts of the built site by fonts with only the icons in use."""
    points = used_code_points(site)
    for source in sorted((_THEME_STATIC / _FONTS).glob("*.woff2")):
        fonts.cut_down(source, site / "_static" / _FONTS / source.name, points)


def clear(site: Path) -> None:
    """Remove the fonts of the last build, or Sphinx would warn that it overwrites them."""
    shutil.rmtree(site / "_static" / _FONTS, ignore_errors=True)


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
