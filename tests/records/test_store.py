"""Record files: atomic writes, validation on reading, and queries."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, reading, record, run, samples

from sgemm_lab.catalogue import book_kernel, load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel
from sgemm_lab.records.gpu_record import MATMUL, Counters, Spread
from sgemm_lab.records.json_files import record_path
from sgemm_lab.records.store import RECORDS, load_record, load_records, scores

SAMPLE = record(run(samples("naive", 2e-3, 3e-3), samples("cublas", 1e-3)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "nvidia-h200.json"


def test_a_record_survives_a_round_trip(path: Path) -> None:
    counters = Counters("naive", "ab", 5, 6, 7, {"registers": 40.0})
    full = run(
        samples("naive", 2e-3), counters=(counters,), readings=(reading("bandwidth.copy", 8, 1.5),),
        power_w=Spread(1, 2, 3), temperature_c=None,
    )  # fmt: skip
    RECORDS.save(path, record(full, run()))
    assert load_record(path) == record(full, run())


def test_writing_the_committed_files_again_changes_nothing(path: Path) -> None:
    for committed in data_folder("records").glob("*.json"):
        RECORDS.save(path, load_record(committed))
        assert path.read_text() == committed.read_text()


def test_adding_a_run_keeps_the_earlier_runs(tmp_path: Path) -> None:
    first, second = (
        run(samples("naive", 1.0)),
        run(samples("naive", 2.0), date="2027-01-02T03:04:05Z"),
    )
    path = RECORDS.add_run(tmp_path / "new", DEVICE, first)
    assert path == tmp_path / "new" / "nvidia-h200.json"
    assert RECORDS.add_run(tmp_path / "new", DEVICE, second) == path
    assert load_record(path).runs == (first, second)
    assert set(path.parent.iterdir()) - {path.with_name(f"{path.name}.lock")} == {path}


@pytest.mark.parametrize("step", ["replace", "chmod", "fdopen"])
def test_an_interrupted_write_does_not_change_the_file(
    step: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RECORDS.save(path, SAMPLE)
    before = path.read_bytes()

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        RECORDS.add_run(path.parent, DEVICE, run())
    assert path.read_bytes() == before
    assert set(path.parent.iterdir()) - {path.with_name(f"{path.name}.lock")} == {path}


def edited(path: Path, change: Any) -> Path:
    RECORDS.save(path, SAMPLE)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["runs"][0]["measurements"][0].update(seconds=[]),
         r"runs\[0\]\.measurements\[0\]\.seconds is \[\]\. It must be not "),
        (lambda d: d["runs"][0]["measurements"][0].update(m="4"), 'is "4". .+ a whole'),
        (lambda d: d["runs"][0]["measurements"][0].update(m=True), "is true. .+ whole number"),
        (lambda d: d["runs"][0]["measurements"][0].update(m=10**4000), "is 1000+…. It must"),
        (lambda d: d["runs"][0]["measurements"][0].update(seconds=[float("nan")]), "is NaN"),
        (lambda d: d["runs"][0]["measurements"][0].update(seconds=[2.0**63]), "below 2⁶³"),
        (lambda d: d["runs"][0]["measurements"][0].update(seconds=[0]), "0. It must be above 0"),
        (lambda d: d["runs"][0].pop("driver"), r"runs\[0\] lacks the field 'driver'"),
        (lambda d: d["gpu"].update(colour="green"), "gpu has the unknown field 'colour'"),
        (lambda d: d["gpu"].update(name=""), 'gpu.name is ""'),
        (lambda d: d.update(runs=[]), r"runs is \[\]"),
        (lambda d: d.update(runs={}), "runs is {}. It must be a list"),
        (lambda d: d["runs"][0].update(complete="yes"), "\"yes\". It must be true or false"),
        (lambda d: d["runs"][0].update(power_w=None), "is null. It must be an object"),
        (lambda d: d["runs"][0].update(readings=[{"benchmark": "x", "parameter": 0, "unit": "s",
                                                  "samples": [1]}]), 'is "s". It must be one'),
    ],
)  # fmt: skip
def test_an_invalid_file_raises_an_error_that_names_the_field(
    change: Any, sentence: str, path: Path
) -> None:
    with pytest.raises(LabError, match=f"nvidia-h200.json is not a valid record.+{sentence}"):
        load_record(edited(path, change))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_raises_an_error(share: float, path: Path) -> None:
    RECORDS.save(path, SAMPLE)
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    with pytest.raises(LabError, match=r"nvidia-h200.json is not complete JSON .+ version control"):
        load_record(path)


def test_a_missing_file_or_folder_raises_an_error(path: Path) -> None:
    with pytest.raises(LabError, match=r"There is no record file nvidia-h200\.json"):
        load_record(path)
    with pytest.raises(LabError, match=r"There is no folder .+nowhere of record files"):
        load_records(path.parent / "nowhere")


def test_the_chapters_record_comes_first_and_the_others_by_file_name(tmp_path: Path) -> None:
    for gpu in ("NVIDIA L4", "NVIDIA H200", "NVIDIA A10"):
        RECORDS.add_run(tmp_path, replace(DEVICE, name=gpu), run())
    names = [record.gpu.name for record in load_records(tmp_path)]
    assert names == ["NVIDIA H200", "NVIDIA A10", "NVIDIA L4"]


def test_a_score_compares_the_median_with_cublas_of_the_same_run() -> None:
    (score,) = scores([record(run(samples("naive", 1e-3, 4e-3, 2e-3), samples("cublas", 1e-3)))])
    assert (score.kernel, score.gpu, score.m, score.n, score.k) == (
        "naive", "NVIDIA H200", 100, 100, 100,
    )  # fmt: skip
    assert score.gflops == pytest.approx(2e6 / 2e-3 / 1e9)
    assert score.cublas_gflops == pytest.approx(2.0)
    assert score.share == pytest.approx(0.5)
    assert score.samples == pytest.approx((2.0, 0.5, 1.0))
    assert score.date == "2026-01-02T03:04:05Z"


def test_a_kernels_latest_measurement_is_its_score() -> None:
    old = run(
        samples("naive", 9.0), samples("tiled", 8.0), samples("cublas", 1.0),
        date="2025-01-01T00:00:00Z",
    )  # fmt: skip
    new = run(samples("naive", 4.0), samples("cublas", 2.0))
    found = {s.kernel: s for s in scores([record(old, new)])}
    assert found["naive"].samples == (2e6 / 4.0 / 1e9,)
    assert found["naive"].share == pytest.approx(0.5)
    assert found["tiled"].share == pytest.approx(1 / 8)
    assert found["tiled"].run == old


def test_a_measurement_without_cublas_at_its_size_has_no_score() -> None:
    assert scores([record(run(samples("naive", 1.0), samples("cublas", 1.0, size=9)))]) == []


def test_the_latest_readings_are_returned_with_their_run() -> None:
    old = run(readings=(reading("bandwidth.read", 1, 5.0), reading("bandwidth.read", 2, 6.0)))
    new = run(readings=(reading("bandwidth.read", 2, 7.0), reading("bandwidth.copy", 2, 8.0)))
    found = record(old, new).readings("bandwidth.read")
    assert {p: (read.median, read.run) for p, read in found.items()} == {
        1: (5.0, old),
        2: (7.0, new),
    }
    assert record(old, new).readings("latency.fma") == {}


def counters_of(kernel: Kernel, registers: float) -> Counters:
    return Counters("tiled", kernel.fingerprint, 1, 2, 3, {"registers": registers})


def test_the_latest_counters_are_returned_with_their_run() -> None:
    """Two runs differ only in their date, so identity shows which one was returned."""
    first = run(counters=(counters_of(TILED, 1.0),))
    again = run(counters=(counters_of(TILED, 1.0),), date="2027-01-02T03:04:05Z")
    found = record(first, again).counted(TILED, (1, 2, 3))
    assert found is not None
    assert (found.run, found.values, found.device) == (again, {"registers": 1.0}, DEVICE)
    assert found.run is again
    assert record(first, again).counted(TILED, (3, 2, 1)) is None


# A kernel, and another source with the same name.

TILED = load_kernel("tiled")
OTHER = replace(TILED, source=TILED.source.replace("acc = 0.0f", "acc = 1.0f"))


def test_measurements_of_another_source_are_not_scores_of_the_kernel() -> None:
    old = run(samples("tiled", 4.0), samples("cublas", 1.0), counters=(counters_of(TILED, 1.0),))
    new = run(
        samples("tiled", 2.0, fingerprint=OTHER.fingerprint), samples("cublas", 1.0),
        counters=(counters_of(OTHER, 2.0),), date="2027-01-02T03:04:05Z",
    )  # fmt: skip
    both = record(old, new)
    size = (100, 100, 100)
    for kernel, share, taken in ((TILED, 1 / 4, old), (OTHER, 1 / 2, new)):
        score, found = both.score(kernel, size), both.counted(kernel, (1, 2, 3))
        assert score is not None
        assert found is not None
        assert (score.share, score.run, found.run) == (pytest.approx(share), taken, taken)
    assert [score.run for score in scores([both])] == [old]
    assert scores([record(new)]) == []


# Concurrent writers, and unusual GPU names.

WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from record_samples import DEVICE, run
from sgemm_lab.measuring.recorder import now
from sgemm_lab.records.store import RECORDS
print(flush=True)
sys.stdin.readline()
for _ in range(8):
    RECORDS.add_run(Path(sys.argv[1]), DEVICE, run(date=now()))
"""


def test_processes_that_record_at_the_same_time_lose_no_run(tmp_path: Path) -> None:
    start = [sys.executable, "-c", WRITER, str(tmp_path)]
    places = os.pathsep.join(sys.path)
    writers = [
        subprocess.Popen(
            start,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": places},
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(load_record(RECORDS.path(tmp_path, DEVICE.name)).runs) == 16


def test_a_run_is_added_once(tmp_path: Path) -> None:
    RECORDS.add_run(tmp_path, DEVICE, run())
    assert len(load_record(RECORDS.add_run(tmp_path, DEVICE, run())).runs) == 1


def test_files_are_named_after_gpus_and_names_in_other_scripts_have_distinct_ones() -> None:
    for gpu, file in (("NVIDIA H200", "nvidia-h200"), ("Tesla T4 (x2)", "tesla-t4-x2")):
        assert record_path(Path("records"), gpu) == Path("records") / f"{file}.json"
    names = ["日本", "日本 H200", "中国 H200", "H200", "…", "x" * 300, "x" * 299 + "y"]
    files = [record_path(Path(), name).name for name in names]
    assert len(set(files)) == len(names)
    for file in files:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*\.json", file)
        assert len(file) < 100


def test_a_run_of_another_gpu_is_not_added(tmp_path: Path) -> None:
    path = RECORDS.add_run(tmp_path, DEVICE, run())
    before = path.read_bytes()
    with pytest.raises(LabError, match=r"is of NVIDIA H200, and this GPU is NVIDIA \(H200\)"):
        RECORDS.add_run(
            tmp_path, replace(DEVICE, name="NVIDIA (H200)"), run(date="2027-01-02T03:04:05Z")
        )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"format": ' + "1" * 6000 + "}"], ids=["deep", "6,000 digits"]
)
def test_json_that_python_cannot_parse_raises_an_error(text: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(LabError, match=r"nvidia-h200.json is not complete JSON"):
        load_record(path)


# The book's own records.


def test_each_committed_record_has_a_complete_run() -> None:
    for found in load_records():
        runs = [run for run in found.runs if run.complete]
        complete = any(run.measurements for run in runs) and any(run.readings for run in runs)
        assert complete, f"No run of {found.gpu.name} is complete: let 'sgemm-lab record' finish."


@pytest.mark.parametrize(
    "kernel",
    sorted({s.kernel for s in scores(load_records()[:1]) if book_kernel(s.kernel)} - {MATMUL}),
)
def test_latest_measurements_are_of_the_current_kernels(kernel: str) -> None:
    """Only for the chapters' record: an author may not have the other GPUs."""
    current = load_kernel(kernel).fingerprint
    latest = {
        score.size: score.fingerprint
        for score in load_records()[0].scores
        if score.kernel == kernel
    }
    assert set(latest.values()) == {current}, "The kernel has changed since: record it again."
