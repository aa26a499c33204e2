"""What widgets refuse, in plain sentences, and what they say without scripts."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from every_widget import SAMPLES
from widget_samples import CONSTANTS, GPUS, H200, POINTS

from sgemm_lab.errors import LabError
from sgemm_lab.widgets import WIDGET_MIME, Intensity, Roofline


def changed(item: Any, **changes: Any) -> Any:
    return {**item, **changes}


REFUSED: dict[str, Callable[[], object]] = {
    "A roofline needs at least one GPU": lambda: Roofline([]),
    "gpus must be a list, not dict": lambda: Roofline(H200),  # type: ignore[arg-type]
    "gpus must hold dictionaries": lambda: Roofline(["h200"]),  # type: ignore[list-item]
    "The GPU 'h200' is given twice": lambda: Roofline([H200, H200]),
    "There is no GPU 'h100' here. Choose 'h200'": lambda: Roofline(GPUS, gpu="h100"),
    "'NVIDIA H200' needs a number above zero under 'peak_gflops', not 0": lambda: Roofline(
        [changed(H200, peak_gflops=0)]
    ),
    "has no memory level": lambda: Roofline([changed(H200, levels=[])]),
    "memory level 'hbm'. Known are 'dram'": lambda: Roofline(
        [changed(H200, levels=[{"id": "hbm", "gbs": 1}])]
    ),
    "kernel 'naive_rows' is on GPU 'v100'": lambda: Roofline(
        GPUS, [changed(POINTS[0], gpu="v100")]
    ),
    "has kind 'guessed': write 'predicted' or 'measured'": lambda: Roofline(
        GPUS, [changed(POINTS[0], kind="guessed")]
    ),
    "under 'gflops', not nan": lambda: Roofline(GPUS, [changed(POINTS[0], gflops=float("nan"))]),
    "under 'intensity', not None": lambda: Roofline(GPUS, [changed(POINTS[0], intensity=None)]),
    "is not a tile constant": lambda: Intensity([changed(CONSTANTS[0], name="BQ")], GPUS),
    "BM is 48, which is not among": lambda: Intensity([changed(CONSTANTS[0], value=48)], GPUS),
    "BM needs choices": lambda: Intensity([changed(CONSTANTS[0], choices=[0])], GPUS),
    "matrix must give m, n and k": lambda: Intensity(CONSTANTS, GPUS, matrix={"m": 0}),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_bad_data_are_refused_in_a_sentence(sentence: str) -> None:
    with pytest.raises(LabError, match=re.escape(sentence)) as error:
        REFUSED[sentence]()
    assert str(error.value).endswith((".", "]"))


def test_later_changes_are_checked_too() -> None:
    roofline = Roofline(GPUS, POINTS)
    with pytest.raises(LabError, match="no GPU 'x'"):
        roofline.gpu = "x"
    assert roofline.gpu == "h200"


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
    assert set(ours) == {"model_id", "alt", "table", "room"}
    assert ours["model_id"] == widget.model_id
    assert data["text/plain"] == ours["alt"]
    assert "<caption>" in ours["table"]


def test_a_prediction_stays_covered_until_committed() -> None:
    intensity = Intensity(CONSTANTS, GPUS, predict=True)
    assert "33,454 GFLOP" not in intensity.alt + intensity.table()
    intensity.revealed = True
    assert "33,454 GFLOP" in intensity.alt
    assert "33,454 GFLOP" in intensity.table()


def test_texts_are_escaped() -> None:
    gpu = changed(H200, name="<b>H200</b> & co")
    roofline = Roofline([gpu], [changed(POINTS[0], label="<script>")])
    assert "<script>" not in roofline.table()
    assert "<b>" not in roofline.table()
