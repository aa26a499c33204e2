"""The book's colours and the SVG of still pictures."""

import re
import xml.etree.ElementTree as ET

from sgemm_lab import style


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
