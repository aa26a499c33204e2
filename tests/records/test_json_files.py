"""JSON files of any kind of record: atomic, validated, one GPU model each."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from record_samples import DEVICE

from sgemm_lab.errors import LabError
from sgemm_lab.records.gpu_record import Count, Dated, Device
from sgemm_lab.records.json_files import Kind, RunFile


@dataclass(frozen=True)
class Laps(Dated):
    """A run of some kind."""

    laps: tuple[Count, ...] = ()


@dataclass(frozen=True)
class LapsRecord:
    """All runs of that kind on one GPU model."""

    gpu: Device
    runs: tuple[Laps, ...]


LAPS = Kind(LapsRecord, "laps", "laps")


def test_each_item_is_written_at_once(tmp_path: Path) -> None:
    first = RunFile(LAPS, tmp_path, DEVICE, Laps("2026-01-01T00:00:00Z"))
    first.put(laps=(3,))
    later = RunFile(LAPS, tmp_path, DEVICE, Laps("2026-02-02T00:00:00Z"))
    for laps in ((1,), (1, 2)):
        later.put(laps=laps)
        assert LAPS.load(first.path).runs == (first.run, later.run)
    assert LAPS.load_all(tmp_path) == [
        LapsRecord(DEVICE, (first.run, Laps("2026-02-02T00:00:00Z", (1, 2))))
    ]
    assert LAPS.load_all(tmp_path / "elsewhere") == []


def test_an_invalid_item_does_not_change_the_file(tmp_path: Path) -> None:
    file = RunFile(LAPS, tmp_path, DEVICE, Laps("2026-01-01T00:00:00Z"))
    file.put(laps=(1,))
    before = file.path.read_bytes()
    with pytest.raises(LabError, match=r"laps\[1\] is 0\. It must be"):
        file.put(laps=(1, 0))
    assert file.path.read_bytes() == before


def test_a_file_of_another_gpu_is_refused(tmp_path: Path) -> None:
    RunFile(LAPS, tmp_path, DEVICE, Laps("2026-01-01T00:00:00Z")).put(laps=(1,))
    path = LAPS.path(tmp_path, DEVICE.name)
    LAPS.save(path, LapsRecord(replace(DEVICE, name="NVIDIA L4"), ()))
    with pytest.raises(LabError, match=rf"is of NVIDIA L4, and this GPU is {DEVICE.name}\. Choose"):
        RunFile(LAPS, tmp_path, DEVICE, Laps("2026-01-01T00:00:00Z"))
