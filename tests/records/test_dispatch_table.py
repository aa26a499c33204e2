"""Dispatch tables: atomic writes, a write per point, and the choice of a table for a GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
from record_samples import DEVICE
from table_samples import point, search, table

from sgemm_lab.errors import LabError
from sgemm_lab.records.dispatch_table import TABLES, TableFile, load_tables, nearest_table

ONE = point("naive", (8, 8, 8), 1e-3)
OTHER = point("tiled:TILE=16", (8, 8, 8), 5e-4, cublas_seconds=2.5e-4, bound_gflops=7.0)


def test_each_point_is_written_before_the_next(tmp_path: Path) -> None:
    file = TableFile(tmp_path, DEVICE, search(complete=False))
    assert not file.path.exists()
    for count, each in enumerate((ONE, OTHER), 1):
        file.add(each)
        found = TABLES.load(file.path)
        assert found.points == (ONE, OTHER)[:count]
        assert not found.searches[0].complete
    file.end()
    assert TABLES.load(file.path) == replace(table(ONE, OTHER))
    assert file.path == tmp_path / "tuned" / "nvidia-h200.json"


def test_a_search_without_points_writes_nothing(tmp_path: Path) -> None:
    TableFile(tmp_path, DEVICE, search()).end()
    assert list(tmp_path.iterdir()) == []


def test_points_of_a_later_search_replace_earlier_ones(tmp_path: Path) -> None:
    TableFile(tmp_path, DEVICE, search()).add(ONE)
    later = TableFile(tmp_path, DEVICE, search(date="2026-02-02T03:04:05Z"))
    assert later.table.points == (ONE,)
    faster = replace(ONE, seconds=5e-4)
    later.add(faster)
    found = TABLES.load(later.path)
    assert len(found.searches) == 2
    assert found.points == (faster,)
    assert found.at((8, 8, 8)) == (faster,)
    assert found.sizes == ((8, 8, 8),)


def test_concurrent_searches_lose_no_point(tmp_path: Path) -> None:
    first = TableFile(tmp_path, DEVICE, search(date="2026-02-02T03:04:05Z"))
    second = TableFile(tmp_path, DEVICE, search(date="2026-02-02T03:04:06Z"))
    first.add(ONE)
    second.add(OTHER)
    first.add(replace(ONE, m=9))
    assert set(TABLES.load(first.path).points) == {ONE, OTHER, replace(ONE, m=9)}


def test_a_table_of_another_gpu_is_refused(tmp_path: Path) -> None:
    TableFile(tmp_path, DEVICE, search()).add(ONE)
    other = replace(DEVICE, name="NVIDIA-H200")  # the same file name
    with pytest.raises(LabError, match="is of NVIDIA H200, and this GPU is NVIDIA-H200"):
        TableFile(tmp_path, other, search())


def test_an_invalid_point_is_refused(tmp_path: Path) -> None:
    file = TableFile(tmp_path, DEVICE, search())
    with pytest.raises(LabError, match=r"seconds is -1\.0\. It must be above 0"):
        file.add(replace(ONE, seconds=-1.0))
    assert not file.path.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"format": 1', "is not complete JSON"),
        ("[]", "has format None"),
        ('{"format": 2}', "has format 2"),
        ('{"format": 1, "gpu": {}, "searches": []}', "is not a valid table"),
    ],
)
def test_an_invalid_file_raises_an_error(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(LabError, match=sentence):
        TABLES.load(path)


def test_a_gpu_uses_its_own_table_or_that_of_the_most_similar_gpu(tmp_path: Path) -> None:
    a100 = replace(DEVICE, name="A100", compute_capability="8.0", sms=108)
    t4 = replace(DEVICE, name="T4", compute_capability="7.5", sms=40, memory_bus_bits=256)
    tables = [table(ONE, gpu=gpu) for gpu in (t4, a100, DEVICE)]
    for gpu in (t4, a100, DEVICE):
        assert nearest_table(gpu, tables).gpu == gpu
    assert nearest_table(replace(DEVICE, name="NVIDIA H100"), tables).gpu == DEVICE
    # No equal compute capability: the remaining figures decide, also when few are known.
    assert nearest_table(replace(t4, name="T5", compute_capability="7.0"), tables).gpu == t4
    unknown = replace(t4, name="?", compute_capability="1.0", memory_bus_bits=0)
    assert nearest_table(unknown, tables).gpu == t4
    with pytest.raises(
        LabError, match=r"no table of tuned kernels\. Make one with 'sgemm-lab tune'"
    ):
        nearest_table(DEVICE, [])


def test_the_readers_table_replaces_the_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("book", 1e-3), ("records", 2e-3)):
        TableFile(tmp_path / name, DEVICE, search()).add(replace(ONE, seconds=seconds))
    monkeypatch.setattr("sgemm_lab.records.dispatch_table.data_folder", lambda _: tmp_path / "book")
    monkeypatch.setattr(
        "sgemm_lab.records.dispatch_table.own_records", lambda: tmp_path / "records"
    )
    (found,) = load_tables()
    assert found.points[0].seconds == 2e-3
    assert load_tables(tmp_path / "book")[0].points == (ONE,)


def test_a_point_has_a_speed_and_detects_a_changed_kernel() -> None:
    assert OTHER.share == 0.5
    assert OTHER.gflops == pytest.approx(2 * 8**3 / 5e-4 / 1e9)
    assert OTHER.is_current
    assert not replace(OTHER, fingerprint="else").is_current
    assert not replace(OTHER, kernel="missing").is_current
