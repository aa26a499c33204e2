"""Former names of kernels: every look-up and every record that is read accepts them."""

import json
from pathlib import Path

import pytest
from in_node import answers

from sgemm_lab.catalogue import (
    ALIASES,
    book_kernel,
    current_name,
    load_kernel,
    load_kernel_file,
    load_kernels,
)
from sgemm_lab.files import data_folder
from sgemm_lab.records.dispatch_table import TABLES
from sgemm_lab.records.json_files import CHAPTERS_RECORD
from sgemm_lab.records.schema import decode, encode
from sgemm_lab.records.store import load_record
from sgemm_lab.records.strassen import Inside
from sgemm_lab.records.webgpu_cards import load_card
from sgemm_lab.wgsl.programs import load_program


@pytest.fixture
def old_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """``old_tiles`` is a former name of ``tiled``."""
    monkeypatch.setitem(ALIASES, "old_tiles", "tiled")


def test_aliases_lead_from_unused_names_to_kernels_of_the_book() -> None:
    names = {kernel.name for kernel in load_kernels()}
    assert {name.partition(":")[0] for name in ALIASES.values()} <= names
    assert all(load_kernel(name).name == name for name in ALIASES.values())
    assert not ALIASES.keys() & names


@pytest.mark.usefixtures("old_tiles")
def test_a_kernel_is_found_by_its_former_name() -> None:
    assert current_name("old_tiles:TILE=16") == "tiled:TILE=16"
    assert current_name("unknown:TILE=16") == "unknown:TILE=16"
    assert load_kernel("old_tiles") == load_kernel("tiled")
    assert load_kernel("old_tiles:TILE=16") == load_kernel("tiled:TILE=16")
    assert book_kernel("old_tiles:TILE=16") == load_kernel("tiled:TILE=16")
    assert book_kernel("old_tiles:NONE=16") is None
    assert load_program("old_tiles").name == "tiled"


@pytest.mark.usefixtures("old_tiles")
def test_a_file_with_a_former_name_is_the_kernel_of_the_book(tmp_path: Path) -> None:
    for name in ("old_tiles.cu", "030_old_tiles.cu"):
        (tmp_path / name).write_text(load_kernel("tiled").source)
        assert load_kernel_file(tmp_path / name) == load_kernel("tiled")


@pytest.mark.usefixtures("old_tiles")
def test_a_record_with_a_former_name_is_read_with_the_current_one(tmp_path: Path) -> None:
    text = (data_folder("records") / CHAPTERS_RECORD).read_text()
    (tmp_path / "gpu.json").write_text(text.replace('"tiled', '"old_tiles'))
    assert "old_tiles" in (tmp_path / "gpu.json").read_text()
    expected = load_record(data_folder("records") / CHAPTERS_RECORD)
    assert load_record(tmp_path / "gpu.json") == expected


@pytest.mark.usefixtures("old_tiles")
def test_pages_know_former_names() -> None:
    names = ["old_tiles:TILE=16", "old_tiles", "tiled", "toString", "unknown:A=1"]
    renamed = "(name) => twin.currentName(name)"
    given = answers({"twin": "catalogue.js"}, renamed, [[name] for name in names])
    assert [one["gives"] for one in given] == [current_name(name) for name in names]
    moved = answers(
        {"twin": "catalogue.js"},
        "(kept) => twin.withCurrentNames(kept)",
        [[{"old_tiles": 1, "a": 2}]],
    )
    assert moved == [{"gives": {"tiled": 1, "a": 2}}]


def test_a_dispatch_table_with_a_former_name_is_read_with_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data_folder("records") / "tuned" / CHAPTERS_RECORD
    kernel = TABLES.load(path).points[0].kernel.partition(":")[0]
    monkeypatch.setitem(ALIASES, "old_name", kernel)
    (tmp_path / "gpu.json").write_text(path.read_text().replace(f'"{kernel}', '"old_name'))
    assert '"kernel": "old_name' in (tmp_path / "gpu.json").read_text()
    assert TABLES.load(tmp_path / "gpu.json") == TABLES.load(path)


@pytest.mark.usefixtures("old_tiles")
def test_a_leaf_kernel_of_strassens_product_and_a_step_of_a_card_are_renamed(
    tmp_path: Path,
) -> None:
    inside = Inside("old_tiles:TILE=16", "0", "fp32")
    assert decode(Inside, encode(inside)).kernel == "tiled:TILE=16"
    card = next((data_folder("records") / "wgsl").glob("*.json"))
    data = json.loads(card.read_text())
    (tmp_path / "new.json").write_text(json.dumps(data))
    (tmp_path / "old.json").write_text(json.dumps(data).replace('"tiled', '"old_tiles'))
    assert load_card(tmp_path / "old.json") == load_card(tmp_path / "new.json")
