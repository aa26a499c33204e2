"""The ladder: which score of a kernel stands on it."""

from dataclasses import replace

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab.errors import LabError
from sgemm_lab.models.ladder import LadderStep, ladder
from sgemm_lab.records.gpu_record import Record


def steps(*found: Record) -> dict[str, LadderStep]:
    return {step.kernel.name: step for step in ladder(found) if step.score}


def test_the_largest_square_up_to_4096_stands_there() -> None:
    wide = replace(samples("naive", 1.0, size=4096), m=64)
    found = steps(
        record(
            run(
                *(samples("naive", 8.0, size=n) for n in (512, 4096, 8192, 256)),
                *(samples("cublas", 2.0, size=n) for n in (512, 4096, 8192, 256)),
                samples("tiled:TILE=16", 4.0, size=512), wide,
                replace(samples("cublas", 1.0, size=4096), m=64),
            )
        )
    )  # fmt: skip
    naive, tiled = found["naive"], found["tiled:TILE=16"]
    assert naive.score is not None
    assert naive.score.size == (4096, 4096, 4096)
    assert (naive.share, naive.at_smaller_size) == (pytest.approx(0.25), False)
    assert (tiled.share, tiled.at_smaller_size) == (pytest.approx(0.5), True)
    assert naive.title == naive.kernel.title
    assert tiled.title == "Tiled, TILE = 16 (at 512³)"
    bound = naive.bound
    assert bound is not None
    assert bound.gflops > naive.score.gflops


def test_a_kernel_without_a_score_has_no_share_and_no_bound() -> None:
    (tiled,) = [
        step
        for step in ladder([record(run(samples("naive", 1.0), samples("cublas", 1.0)))])
        if step.kernel.name == "tiled"
    ]
    assert (tiled.share, tiled.bound, tiled.at_smaller_size) == (0.0, None, False)


def test_a_kernel_has_the_score_of_the_first_gpu_that_measured_it() -> None:
    def speeds(*records: Record) -> dict[str, float]:
        return {s.kernel.name: s.score.gflops for s in ladder(records) if s.score}

    own = record(run(samples("naive", 1.0), samples("cublas", 1.0)))
    both = run(samples("naive", 0.5), samples("tiled", 0.5), samples("cublas", 1.0))
    other = Record(replace(DEVICE, name="NVIDIA L4"), record(both).runs)
    assert speeds(own, other) == {**speeds(other), **speeds(own)}
    with pytest.raises(LabError, match="No record holds square sizes"):
        ladder([record(run())])
