"""The book's colours and the SVG of still pictures."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray

from sgemm_lab import style

LEVELS = ("--lab-dram", "--lab-l2", "--lab-shared", "--lab-register")
NOT_TEXT = ("--lab-grid", "--lab-bg", "--lab-surface", "--lab-line")

# What dichromats see, in linear RGB (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "full": np.eye(3),
    "protan": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]
    ),
    "deutan": np.array(
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "tritan": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}
Vector = NDArray[np.float64]


def linear(colour: str) -> Vector:
    channel = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return float((light + 0.05) / (dark + 0.05))


def cielab(rgb: Vector) -> Vector:
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_every_text_colour_can_be_read(mode: int) -> None:
    grounds = [style.THEME_COLOURS[name][mode] for name in ("--lab-bg", "--lab-surface")]
    for name, pair in style.THEME_COLOURS.items():
        if name not in NOT_TEXT:
            assert min(contrast(pair[mode], ground) for ground in grounds) >= 4.5, name
    borders = [contrast(style.THEME_COLOURS["--lab-line"][mode], ground) for ground in grounds]
    assert min(borders) >= 3


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_memory_levels_stay_apart_for_every_eye(mode: int, vision: str) -> None:
    seen = {
        name: cielab(VISION[vision] @ linear(style.THEME_COLOURS[name][mode])) for name in LEVELS
    }
    for one, other in itertools.combinations(LEVELS, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 16, (one, other)


def picture() -> str:
    fig = style.figure(4, 3)
    with style.book_style():
        axes = fig.subplots()
        axes.plot([1, 2, 3], color=style.KERNEL, label="a < b & c")
        axes.fill_between([0, 1], [1, 2], color=style.CUBLAS, hatch="//")
        axes.legend()
    return style.svg(fig, "A & B", "It rises <fast>.")


def test_svg_is_well_formed_and_says_what_it_is() -> None:
    root = ET.fromstring(picture())
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None
    assert description is not None
    assert (title.text, description.text) == ("A & B", "It rises <fast>.")
    assert root.get("aria-labelledby") == title.get("id")
    assert any(node.text == "a < b & c" for node in root.iter(f"{space}text"))


def test_ids_are_unique_even_for_the_same_picture_twice() -> None:
    page = picture() + picture()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert used
    assert set(used) <= set(ids)
