"""The record of Strassen's product: its file, how it is taken, and the book's record."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pretended_engine import Library, Watched, pretend
from record_samples import DEVICE, run

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen import measure
from sgemm_lab.gemm.strassen.error import (
    INPUTS,
    POSITIVE,
    bound,
    expected_growth,
    matrix,
    norm_error,
    sampled_rows,
)
from sgemm_lab.gemm.strassen.model import best_plan, book_machine
from sgemm_lab.models.scoreboard import lines
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.records.strassen import STRASSEN_RECORDS, StrassenRun, latest


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce a record to few small products on a fake GPU."""
    pretend(monkeypatch)
    library = Library()
    monkeypatch.setattr(measure, "require_gpu", lambda: library)
    monkeypatch.setattr(measure, "GpuProduct", Watched)
    monkeypatch.setattr(measure, "current_device", lambda: DEVICE)
    monkeypatch.setattr(measure, "new_run", run)
    monkeypatch.setattr(measure, "cublas", lambda: taking)
    monkeypatch.setattr(measure, "SIZES", {(16, 16, 16): 1, (12, 20, 28): 2})
    monkeypatch.setattr(measure, "ALL_SCHEDULES", {(12, 20, 28): 2})
    monkeypatch.setattr(measure, "ERROR_SIZES", {32: 2})
    monkeypatch.setattr(measure, "EXACT_SIZES", ((3, 5, 7), (8, 8, 8)))
    monkeypatch.setattr(measure, "EXACT_LEVELS", 1)
    monkeypatch.setattr(measure, "TENSOR_CORE_SIZES", {(12, 20, 28): 2})
    monkeypatch.setattr(measure, "device_target", lambda: "sm_90")
    monkeypatch.setattr(measure, "LoadedKernel", lambda _kernel: taking)


def taking(a: Any, b: Any, c: Any) -> None:
    c[:] = a @ b


class Dispatcher:
    @staticmethod
    def kernel_for(size: Any) -> Any:
        return load_kernel("stream_k")


def raced(products: dict[str, Any], size: Any, *_: Any, **__: Any) -> list[Any]:
    return [Measurement(name, "", *size, 1, (0.25, 0.5, 0.75)) for name in products]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, StrassenRun]:
    small(monkeypatch)
    monkeypatch.setattr(measure, "time_interleaved", raced)
    monkeypatch.setattr(measure, "dispatcher", lambda _device: Dispatcher)
    return measure.take_strassen_record(tmp_path, tuple(measure.SIZES))


def test_a_record_is_written_item_by_item(taken: tuple[Path, StrassenRun]) -> None:
    path, found = taken
    assert STRASSEN_RECORDS.load(path).runs == (found,)
    assert found.complete
    assert found.exact == 2 * (1 + 2)  # sizes; schedule_choices of no level and of one
    assert [len(times.ways) for times in found.times] == [2, 6]
    last = found.times[1].ways[-1]
    assert (last.schedules, last.leaf) == (("twice",), (3, 8, 8))
    assert last.products == last.additions == (0.25, 0.5, 0.75)
    assert found.times[0].share(found.times[0].ways[0]) == 1
    assert [one.inputs for one in found.errors] == list(INPUTS)
    assert all(0 < error < 1e-5 for one in found.errors for error in (one.cublas, *one.levels))
    (inside,) = found.inside
    assert (inside.kernel, inside.arithmetic) == ("wgmma_3xfp16", "3xfp16")
    assert [one.inputs for one in inside.errors] == list(INPUTS)
    (times,) = inside.times
    assert [way.schedules for way in times.ways] == [(), ("lean",), ("lean", "lean"), ("twice",)]
    assert {way.kernel for way in times.ways} == {"wgmma_3xfp16"}
    scored = [(s.arithmetic, s.size, s.levels) for s in lines([], [STRASSEN_RECORDS.load(path)])]
    assert scored == [
        ("strassen", (16, 16, 16), 1), ("strassen", (12, 20, 28), 1),
        ("strassen+3xfp16", (12, 20, 28), 1),
    ]  # fmt: skip


def test_a_run_of_only_the_inside_kernel_joins_the_latest_run(
    monkeypatch: pytest.MonkeyPatch, taken: tuple[Path, StrassenRun]
) -> None:
    path, before = taken
    later = "2027-01-02T03:04:05Z"
    monkeypatch.setattr(measure, "new_run", lambda: replace(run(), date=later))
    _, alone = measure.take_strassen_record(path.parent.parent, measure.SIZES, only_inside=True)
    assert (alone.complete, alone.exact, alone.times, alone.errors) == (True, 0, (), ())
    assert [times.size for times in alone.inside[0].times] == [(12, 20, 28)]
    record = STRASSEN_RECORDS.load(path)
    found = latest(record)
    assert (found.date, found.times) == (before.date, before.times)
    assert [one.date for one in found.inside] == [later]
    assert {(s.arithmetic, s.date) for s in lines([], [record])} == {
        ("strassen", before.date), ("strassen+3xfp16", later),
    }  # fmt: skip


def test_a_wrong_product_ends_the_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small(monkeypatch)

    def wrong(self: Any, a: Any, b: Any, c: Any) -> None:
        c[:] = a @ b + 1

    monkeypatch.setattr(Watched, "__call__", wrong)
    with pytest.raises(LabError, match="C of whole numbers is not exact"):
        measure.take_strassen_record(tmp_path, ())


@pytest.mark.parametrize("inputs", [one for one in INPUTS if one != POSITIVE])
def test_inputs_have_both_signs_about_as_often(inputs: str) -> None:
    assert abs(np.mean(matrix(np, inputs, (64, 64), 1) > 0) - 0.5) < 0.05


def test_errors_are_relative_norms_over_rows() -> None:
    a, b = np.eye(3, dtype="float32"), np.ones((3, 2), dtype="float32")
    c = np.ones((3, 2), dtype="float32")
    c[1] = 2
    assert norm_error(np, a, b, c, [0, 2]) == 0
    assert norm_error(np, a, b, c, [0, 1]) == pytest.approx(0.5**0.5)
    assert sampled_rows(3) == [0, 1, 2]
    assert (sampled_rows(1), len(sampled_rows(1000))) == ([0], 64)
    assert expected_growth() == pytest.approx(3.5**0.5)
    assert 4 < bound(4096, 1) / bound(4096, 0) < 5


# What the book's record says.

RECORD = STRASSEN_RECORDS.load_all()[0]
RUN, MACHINE = latest(RECORD), book_machine(RECORD.gpu)


def test_the_models_choice_is_never_slower_than_no_levels() -> None:
    not_measured = []
    for times in RUN.times:
        chosen = best_plan(times.size, MACHINE).schedules
        ways = [way for way in times.ways if way.schedules == chosen]
        if not ways:
            not_measured.append(times.size)
        for way in ways:
            assert times.tflops(way.seconds) >= times.tflops(times.ways[0].seconds)
    assert not_measured == [(32768, 32768, 4096)]
