"""Verbs whose results stand in sentences: speeds, wavefronts, caps, counters, records."""

from dataclasses import replace

import pytest

from sgemm_lab import lab
from sgemm_lab.cuda import shipped_ptx
from sgemm_lab.cuda.counters import STALL_REASONS
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.lab.card import Card
from sgemm_lab.lab.recorded import Recorded
from sgemm_lab.records.store import load_records


def test_speeds_are_read_by_name() -> None:
    speeds = lab.measure("naive", "tiled")
    assert speeds["tiled"] == speeds.of("tiled").gflops == lab.speed("tiled")
    assert lab.speed("tiled", 1024) == lab.measure("tiled", size=1024)["tiled"]
    with pytest.raises(LabError, match=r"Not yet measured at 77³: split\."):
        lab.speed("split", 77)


def test_wavefronts_of_lines_make_up_those_of_the_kernel() -> None:
    loads = [lab.wavefronts("split", line=text) for text in ("fragA[", "fragB[")]
    assert lab.wavefronts("split") == sum(loads)
    assert lab.wavefronts("split", "all") == lab.wavefronts("split") + lab.wavefronts(
        "split", "stores"
    )


def test_a_card_whose_clock_was_not_read_has_the_highest_of_its_device() -> None:
    record = load_records()[0]
    silent = replace(record, runs=tuple(replace(run, clock_mhz=None) for run in record.runs))
    assert Card(silent).clock_mhz == record.gpu.max_clock_mhz


def test_one_load_of_a_warp_costs_what_its_addresses_say() -> None:
    def cost(stride: int, width: int = 4, lanes: int = 32) -> tuple[int, int]:
        found = lab.request([stride * lane for lane in range(lanes)], width)
        return found.sectors, found.wavefronts

    assert cost(4) == (4, 1)
    assert cost(8) == (8, 2)
    assert cost(128) == (32, 32)
    assert cost(16, width=16) == (16, 4)
    assert cost(4, lanes=8) == (1, 1)
    assert cost(0) == (1, 1)


def test_the_quoted_record_tells_its_kernels_times_and_contents() -> None:
    record = lab.recorded()
    cube = (4096, 4096, 4096)
    assert record.slowest(cube).kernel in record.kernels
    assert {"naive", "stages:STAGES=2", "thin_k"} <= record.kernels  # of different runs
    assert "cublas" not in record.kernels
    few = replace(record.run, measurements=record.run.measurements[:2])
    touched_up = replace(record.record, runs=(*record.record.runs, few))
    assert Recorded(touched_up).run == record.run
    assert 0 < record.seconds([cube]) < record.seconds()
    assert record.samples("bandwidth.copy") > 1
    assert f"of the {record.gpu.name}" in repr(record.table())


def test_where_the_compiler_is_missing_whatever_is_asked_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise MissingToolError("NVRTC is not installed.")

    monkeypatch.setattr(shipped_ptx, "load_nvrtc", missing)
    mine = lab.mine(lab.source("tiled").replace("TILE = 32", "TILE = 8"))
    counted_mine = lab.count(mine, size=32)
    assert "NVRTC is not installed" in repr(counted_mine)
    with pytest.raises(LabError, match="NVRTC is not installed"):
        counted_mine.of("mine")
    assert lab.count("tiled", size=64).of("tiled").flop


def test_a_warp_waits_its_whole_time_for_all_reasons_together() -> None:
    found = lab.hardware("split")
    assert found.waiting(*STALL_REASONS) == pytest.approx(1)
    assert 0 < found.waiting("barrier") < found.waiting("barrier", "long_scoreboard") < 1
