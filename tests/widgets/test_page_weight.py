"""What the widgets of a page weigh, were all of the book on one."""

import gzip
import json

import pytest
from every_widget import BOOK

import sgemm_lab.widgets
from sgemm_lab.book.render import page_state
from sgemm_lab.widgets import WIDGET_MIME, LabWidget

LIMIT = 700_000
"""Bytes of a whole page, compressed."""


@pytest.fixture(scope="module")
def widgets() -> list[LabWidget]:
    return [make() for make in BOOK.values()]


def weight(widgets: list[LabWidget]) -> int:
    """Compressed bytes of code, state, still pictures and tables."""
    bundles = [widget._repr_mimebundle_() for widget in widgets]
    shown = [bundle[0][WIDGET_MIME] for bundle in bundles if bundle]
    state = page_state({widget.model_id: {"state": widget.get_state()} for widget in widgets})
    return len(gzip.compress(json.dumps([state, shown], separators=(",", ":")).encode()))


def test_every_class_of_widget_is_weighed(widgets: list[LabWidget]) -> None:
    names = {name for name in sgemm_lab.widgets.__all__ if name[1].islower()} - {"LabWidget"}
    assert {type(widget).__name__ for widget in widgets} == names


def test_a_page_with_every_widget_is_light(widgets: list[LabWidget]) -> None:
    assert 20_000 < weight(widgets) < LIMIT / 2  # the other half is for text and theme


def test_the_code_of_a_widget_travels_once_however_often_it_is_shown() -> None:
    one, two = BOOK["memory ladder"](), BOOK["memory ladder"]()
    single, double = (
        page_state({widget.model_id: {"state": widget.get_state()} for widget in some})
        for some in ([one], [one, two])
    )
    assert double["code"] == single["code"]
    assert len(double["models"]) == 2
    assert json.dumps(double).count("function render(") == 1
