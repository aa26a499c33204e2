"""The two panels of an opening figure stand side by side from 1,024 px on, and nothing is cut."""

from typing import Any

import pytest
from sites import Site

PAIR = """() => {
  const figure = document.querySelector(".lab-opener");
  const clip = figure.closest(".cell_output").getBoundingClientRect().right;
  const panels = [...figure.querySelectorAll(".lab-panel")].map((p) => p.getBoundingClientRect());
  const drawn = [...figure.querySelectorAll("svg")].map((p) => p.getBoundingClientRect().right);
  return { tops: panels.map((p) => Math.round(p.top)), right: Math.max(...drawn), clip };
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1024, 1200, 1265, 1280])
def test_an_opening_pair_stands_side_by_side(book: Site, contexts: Any, width: int) -> None:
    page = contexts().goto(book, "chapters/02_tiling.html").page
    page.set_viewport_size({"width": width, "height": 800})
    found = page.evaluate(PAIR)
    assert len(found["tops"]) == 2
    assert len(set(found["tops"])) == 1
    assert found["right"] <= found["clip"] + 1
