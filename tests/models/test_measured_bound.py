"""A kernel's measured speed and its bound, at a size, on other GPUs, and beside its ancestors."""

from dataclasses import replace

import pytest
from record_samples import record, run, samples

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.models.measured_bound import (
    MeasuredBound,
    at_size,
    nearest_ancestor,
    of_ladder,
    parent_of,
    required_ancestor,
)
from sgemm_lab.models.scoreboard import lines
from sgemm_lab.records.gpu_record import Record
from sgemm_lab.records.store import load_records

RECORDS = load_records()
SIZE = (4096, 4096, 4096)
CUBLAS = samples("cublas", 0.0025, size=4096)


def measured(name: str) -> MeasuredBound:
    found = at_size(load_kernel(name), SIZE, RECORDS)
    assert found is not None
    return found


def test_clocks_beyond_the_demand_are_what_the_share_leaves() -> None:
    now = measured("tiled")
    numbers, cap = now.numbers, now.bound.cap.clocks
    assert now.share == now.score.gflops / now.bound.gflops < 1
    assert numbers["share"] == 100 * now.share
    assert numbers["speed"] == now.score.gflops
    assert numbers["clocks"] * now.share == pytest.approx(cap)
    assert numbers["rest"] == pytest.approx(cap * (1 / now.share - 1))


def test_a_kernel_that_no_record_has_has_no_bound() -> None:
    edited = replace(load_kernel("tiled"), name="mine")
    assert of_ladder(edited, RECORDS) is None
    assert at_size(edited, SIZE, RECORDS) is None
    assert at_size(load_kernel("tiled"), (4096, 4096, 4097), RECORDS) is None


def test_a_kernels_own_score_comes_before_one_that_matmul_picked_it_for() -> None:
    name = "naive"
    own = samples(name, 0.03, size=4096)
    code = load_kernel(name).fingerprint
    picked = replace(samples("matmul", 0.02, size=4096, fingerprint=code), picked=name)
    both = record(run(CUBLAS, picked, own))
    found = at_size(load_kernel(name), SIZE, [both])
    assert found is not None
    assert (found.score.kernel, found.score.picked) == (name, None)
    of_matmul = at_size(load_kernel(name), SIZE, [record(run(CUBLAS, picked))])
    assert of_matmul is not None
    assert of_matmul.score.kernel == "matmul"


def of_tiled(record: Record) -> Record:
    """Return the record's measurements of one kernel, beside those of cuBLAS."""
    of_kernel = ("tiled", "cublas")
    return replace(
        record,
        runs=tuple(
            replace(one, measurements=tuple(m for m in one.measurements if m.kernel in of_kernel))
            for one in record.runs
        ),
    )


def test_the_same_kernel_is_bound_by_the_data_sheet_of_each_gpu() -> None:
    records = [of_tiled(record) for record in RECORDS]
    found = [at_size(load_kernel("tiled"), SIZE, [record]) for record in records]
    assert len({one.record.gpu.name for one in found if one}) == len(RECORDS) > 1
    for one in filter(None, found):
        (line,) = (
            row
            for row in lines(records, [], one.record.gpu.name)
            if (row.kernel, row.size) == ("tiled", SIZE)
        )
        assert (line.bound_by, line.bound_gflops) == (one.bound.unit, one.bound.gflops)


def test_the_nearest_ancestor_is_of_the_same_record() -> None:
    now = measured("tiled")
    before = required_ancestor(now)
    assert before == nearest_ancestor(now)
    assert before is not None
    assert (before.kernel.name, before.record) == (now.kernel.parent, now.record)
    first = measured("naive_rows")
    assert parent_of(first.kernel) is None
    assert required_ancestor(first) is None


def test_an_ancestor_that_was_not_measured_is_passed_over_or_asked_for() -> None:
    kernel = load_kernel("strip")
    alone = record(run(CUBLAS, samples("strip", 0.02, size=4096)))
    now = at_size(kernel, SIZE, [alone])
    assert now is not None
    assert nearest_ancestor(now) is None
    with pytest.raises(LabError, match="No kernel before 'strip' was measured at 4096"):
        required_ancestor(now)
    naive = samples("naive", 0.03, size=4096)
    further = record(run(CUBLAS, samples("strip", 0.02, size=4096), naive))
    older = at_size(kernel, SIZE, [further])
    assert older is not None
    before = nearest_ancestor(older)
    assert before is not None
    assert before.kernel.name == "naive"
