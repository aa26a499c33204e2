"""Dispatch tables: what is written is read back, and the choice of a table for a GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
from record_samples import DEVICE
from table_samples import ENVIRONMENT, fit, point, search, table

from sgemm_lab.errors import LabError
from sgemm_lab.records.dispatch_table import (
    TABLES,
    DrawnShape,
    DrawnShapes,
    load_tables,
    nearest_table,
)

ONE = point("naive", (8, 8, 8), 1e-3)
OTHER = point("tiled:TILE=16", (8, 8, 8), 5e-4, cublas_seconds=2.5e-4, bound_gflops=7.0)


FITTED = table(ONE, fits=(fit("naive", 1e-6),))


def test_a_table_is_written_and_read_back(tmp_path: Path) -> None:
    shape = DrawnShape(8, 9, 10, "naive", 1e-6, 2e-6, 3e-6)
    tuned = replace(shape, kernel="cublas", tune="first", cost=0.003)
    drawn = DrawnShapes(*ENVIRONMENT, seed=3, shapes=(shape,), tuned=(tuned,))
    whole = replace(table(ONE, OTHER, fits=(fit("naive", 1e-6, clusters=31),)), drawn=drawn)
    for each in (table(ONE), FITTED, whole):
        path = TABLES.path(tmp_path, DEVICE.name)
        TABLES.save(path, each)
        assert TABLES.load(path) == each
    lines = path.read_text().splitlines()
    assert sum('"seconds"' in line for line in lines) == 4
    assert path == tmp_path / "tuned" / "nvidia-h200.json"


def test_an_invalid_table_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"seconds is -1\.0\. It must be above 0"):
        TABLES.save(tmp_path / "x.json", table(replace(ONE, seconds=-1.0)))
    with pytest.raises(LabError, match="0 or more"):
        TABLES.save(tmp_path / "x.json", table(ONE, fits=(fit("naive", -1e-6),)))
    assert not (tmp_path / "x.json").exists()


def test_points_of_a_later_search_replace_earlier_ones() -> None:
    faster = replace(ONE, seconds=5e-4)
    found = table(searches=(search(ONE), search(faster, date="2026-02-02T03:04:05Z")))
    assert found.points == (faster,)
    assert found.at((8, 8, 8)) == (faster,)
    assert found.sizes == ((8, 8, 8),)


def test_a_gpu_uses_its_own_table_or_that_of_the_most_similar_gpu(tmp_path: Path) -> None:
    a100 = replace(DEVICE, name="A100", compute_capability="8.0", sms=108)
    t4 = replace(DEVICE, name="T4", compute_capability="7.5", sms=40, memory_bus_bits=256)
    tables = [replace(FITTED, gpu=gpu) for gpu in (t4, a100, DEVICE)]
    for gpu in (t4, a100, DEVICE):
        assert nearest_table(gpu, tables).gpu == gpu
    assert nearest_table(replace(DEVICE, name="NVIDIA H100"), tables).gpu == DEVICE
    # No equal compute capability: the remaining figures decide, also when few are known.
    assert nearest_table(replace(t4, name="T5", compute_capability="7.0"), tables).gpu == t4
    unknown = replace(t4, name="?", compute_capability="1.0", memory_bus_bits=0)
    assert nearest_table(unknown, tables).gpu == t4
    assert nearest_table(DEVICE, [table(ONE), *tables[:2]]).gpu == a100  # it has a model
    with pytest.raises(
        LabError, match=r"no table of tuned kernels\. Make one with 'sgemm-lab tune'"
    ):
        nearest_table(DEVICE, [])


def test_the_readers_table_replaces_the_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("book", 1e-3), ("records", 2e-3)):
        path = TABLES.path(tmp_path / name, DEVICE.name)
        TABLES.save(path, table(replace(ONE, seconds=seconds)))
    monkeypatch.setattr("sgemm_lab.records.dispatch_table.data_folder", lambda _: tmp_path / "book")
    monkeypatch.setattr(
        "sgemm_lab.records.dispatch_table.own_records", lambda: tmp_path / "records"
    )
    (found,) = load_tables()
    assert found.points[0].seconds == 2e-3


def test_a_point_has_a_speed_and_detects_a_changed_kernel() -> None:
    assert OTHER.share == 0.5
    assert OTHER.gflops == pytest.approx(2 * 8**3 / 5e-4 / 1e9)
    assert OTHER.is_current
    assert not replace(OTHER, fingerprint="else").is_current
    assert not replace(OTHER, kernel="missing").is_current
