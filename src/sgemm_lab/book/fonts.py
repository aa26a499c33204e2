"""Fonts cut down to the signs that a site shows."""

import logging
from collections.abc import Set
from pathlib import Path

from fontTools import subset  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

logging.getLogger("fontTools").setLevel(logging.WARNING)  # It reports every table it touches.

_LICENCE = [0, 5, 13, 14]
"""Entries of a font that say who made it and under which terms it may be passed on."""


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
