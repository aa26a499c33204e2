"""Data of widgets: refused settings, what they say without scripts, and what a page has of them."""

import json
import re
from typing import Any

import pytest
from every_widget import SAMPLES
from widget_samples import H200, POINTS

import sgemm_lab.widgets
from sgemm_lab.book import stills
from sgemm_lab.book.render import page_scripts, page_state
from sgemm_lab.errors import LabError
from sgemm_lab.widgets import WIDGET_MIME, LabWidget, Roofline, Scoreboard


def changed(item: Any, **changes: Any) -> Any:
    return {**item, **changes}


SETTINGS: list[tuple[str, str, object, str]] = [
    ("banks", "bits", 256, "256"), ("banks", "wavefront", -1, "-1"),
    ("ladder", "size", [7, 7, 7], "Nothing was measured at 7³"),
    ("occupancy", "threads", 2000, "2,000"),
    ("roofline", "gpu", "x", "There is no GPU 'x' here. Choose h200"),
    ("scoreboard", "sort", "colour", "'colour'"),
    ("steps", "who", "me", "'me'"), ("tile waves", "size", 63, "63"),
    ("timeline", "stages", 7, "7"),
]  # fmt: skip


@pytest.mark.parametrize(("widget", "name", "value", "said"), SETTINGS)
def test_a_setting_out_of_its_range_is_refused_in_a_sentence(
    widget: str, name: str, value: object, said: str
) -> None:
    live = SAMPLES[widget].make()
    before = getattr(live, name)
    with pytest.raises(LabError, match=re.escape(said)) as error:
        setattr(live, name, value)
    assert str(error.value).endswith(".")
    assert getattr(live, name) == before


@pytest.mark.parametrize("name", SAMPLES)
def test_the_bundle_holds_all_a_page_without_scripts_needs(name: str) -> None:
    widget = SAMPLES[name].make()
    bundle = widget._repr_mimebundle_()
    assert bundle is not None
    data, _ = bundle
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    ours = data[WIDGET_MIME]
    assert set(ours) == {"model_id", "table", "room"}
    assert ours["model_id"] == widget.model_id
    assert data["text/plain"] == f"{type(widget).__name__}: an interactive picture"
    assert ("<caption>" in ours["table"]) is not isinstance(widget, Scoreboard)


def test_texts_are_escaped() -> None:
    gpu = changed(H200, name="<b>H200</b> & co")
    roofline = Roofline([gpu], [changed(POINTS[0], kernel="<script>")])
    assert "<script>" not in roofline.table()
    assert "<b>" not in roofline.table()


def state_of(*widgets: LabWidget) -> dict[str, Any]:
    return page_state({widget.model_id: {"state": widget.get_state()} for widget in widgets})


def test_every_class_of_widget_has_a_sample() -> None:
    there = (value for value in vars(sgemm_lab.widgets).values() if isinstance(value, type))
    names = {one.__name__ for one in there if issubclass(one, LabWidget)} - {"LabWidget"}
    assert {type(sample.make()).__name__ for sample in SAMPLES.values()} == names


def test_a_page_loads_the_scripts_of_its_widgets_and_holds_no_code_of_theirs() -> None:
    make = SAMPLES["ladder"].make
    page = state_of(make(), make())
    assert page_scripts(page) == ["widgets.js", "widgets-ladder.js"]
    assert len(page) == 2
    assert "function render(" not in json.dumps(page)


def test_a_widget_that_cannot_be_drawn_or_is_not_the_books_is_named() -> None:
    class Mine(LabWidget):
        _esm = "export default { render() {} };"

    with pytest.raises(LabError, match=r"Mine is no widget of the book\."):
        state_of(Mine())
    broken = {"kind": "latency_hiding", "state": {}, "buffers": []}
    with pytest.raises(LabError, match=r"The widget latency_hiding cannot be drawn: TypeError"):
        stills.draw([broken])
