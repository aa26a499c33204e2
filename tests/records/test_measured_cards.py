"""Files of measured WebGPU cards: reading and validation."""

import json
from pathlib import Path
from typing import Any

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.records.webgpu_cards import FOLDER, card_path, load_card
from sgemm_lab.wgsl.programs import load_program

FORM = "sgemm-lab card 1"
DATA: dict[str, Any] = {
    "form": FORM, "card": "A card", "date": "2026-11-22T10:00:00+00:00", "clock": "timestamps",
    "size": 1000,
    "rungs": [{"name": "naive", "fingerprint": "abc", "seconds": [0.004, 0.002, 0.001]}],
}  # fmt: skip


def saved(folder: Path, data: Any) -> Path:
    path = card_path(folder, "A card")
    path.parent.mkdir(exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_the_speed_is_the_median_of_the_same_source(tmp_path: Path) -> None:
    card = load_card(saved(tmp_path, DATA))
    assert card
    assert card.gflops("naive", "abc") == pytest.approx(1000)
    assert card.gflops("naive", "another") is None
    assert card.gflops("tiled", "abc") is None


def test_a_missing_file_returns_none(tmp_path: Path) -> None:
    assert load_card(card_path(tmp_path, "A card")) is None


@pytest.mark.parametrize(
    "data", ["", "{", "[]", DATA | {"size": "1000"}, {"form": FORM}, DATA | {"more": 1}]
)
def test_an_invalid_file_raises_an_error(tmp_path: Path, data: Any) -> None:
    path = saved(tmp_path, data)
    with pytest.raises(LabError, match="is not a measured card: "):
        load_card(path)


def test_the_committed_cards_load_and_name_existing_programs() -> None:
    for path in (data_folder("records") / FOLDER).glob("*.json"):
        card = load_card(path)
        assert card
        assert card.form == FORM
        assert card_path(data_folder("records"), card.card) == path
        for step in card.rungs:
            assert load_program(step.name)
