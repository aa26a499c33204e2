"""What settings of widgets are refused, in plain sentences, and what they say without scripts."""

import re
from typing import Any

import pytest
from every_widget import SAMPLES
from widget_samples import H200, POINTS

from sgemm_lab.errors import LabError
from sgemm_lab.widgets import WIDGET_MIME, Roofline, Scoreboard


def changed(item: Any, **changes: Any) -> Any:
    return {**item, **changes}


SETTINGS: list[tuple[str, str, object, str]] = [
    ("banks", "bits", 256, "256"),
    ("banks", "wavefront", -1, "-1"),
    ("coalescing", "off", [32], "32"),
    ("ladder", "size", [7, 7, 7], "Nothing was measured at 7³"),
    ("many GPUs", "copies", 3, "3"),
    ("occupancy", "threads", 2000, "2,000"),
    ("roofline", "gpu", "x", "There is no GPU 'x' here. Choose h200"),
    ("scoreboard", "sort", "colour", "'colour'"),
    ("speed over error", "k", 7, "Nothing was measured at k 7. There are 0,"),
    ("steps", "who", "me", "'me'"),
    ("tile waves", "size", 63, "63"),
    ("timeline", "stages", 7, "7"),
]


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


def test_the_measured_roof_is_the_one_to_compare_with() -> None:
    sheet_first = changed(H200, levels=list(reversed(H200["levels"])))
    gpu = Roofline([sheet_first]).gpus[0]
    assert gpu["levels"][0]["measured"]
    assert [peak["measured"] for peak in gpu["peaks"]] == [True, False]


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
    roofline = Roofline([gpu], [changed(POINTS[0], label="<script>")])
    assert "<script>" not in roofline.table()
    assert "<b>" not in roofline.table()
