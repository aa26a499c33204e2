"""The search on a fake GPU: what is measured, in which order, and stored."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from record_samples import DEVICE
from table_samples import search as started

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.gemm.dispatch.search import (
    PRUNE_FACTOR,
    TOO_SLOW_FACTOR,
    Timing,
    WrongProductError,
    search,
)
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import TABLES, TableFile

NAIVE, TILED, SPLIT = (load_kernel(name) for name in ("naive", "tiled", "split"))
KERNELS = [NAIVE, TILED, SPLIT]
SIZE: Size = (1000, 1000, 1000)  # 2 GFLOP
NAME = str


@dataclass
class PretendedGpu:
    """A bench with given results by kernel name; speeds in GFLOP/s."""

    speeds: dict[NAME, float]
    predicted: dict[NAME, float] = field(default_factory=dict)
    refused: tuple[NAME, ...] = ()
    wrong: tuple[NAME, ...] = ()
    stop_at: NAME | None = None
    measured: list[tuple[NAME, Size]] = field(default_factory=list)
    launched: list[NAME] = field(default_factory=list)

    def refusal(self, kernel: Kernel, size: Size) -> str | None:
        return "It does not fit." if kernel.name in self.refused else None

    def predicted_gflops(self, kernel: Kernel, size: Size) -> float:
        return self.predicted.get(kernel.name, 1e9)

    def first_launch(self, kernel: Kernel, size: Size) -> float:
        self.launched.append(kernel.name)
        if kernel.name in self.wrong:
            raise WrongProductError("C is off.")
        return self._seconds(kernel, size)

    def measure(self, kernel: Kernel, size: Size) -> Timing:
        if kernel.name == self.stop_at:
            raise KeyboardInterrupt
        self.measured.append((kernel.name, size))
        return Timing(self._seconds(kernel, size), 1e-3, graph=True)

    def _seconds(self, kernel: Kernel, size: Size) -> float:
        m, n, k = size
        return 2 * m * n * k / self.speeds[kernel.name] / 1e9


SPEEDS = {"naive": 900.0, "tiled": 2000.0, "split": 1500.0}


@pytest.fixture
def file(tmp_path: Path) -> TableFile:
    return TableFile(tmp_path, DEVICE, started(complete=False))


def test_every_candidate_is_measured_unless_ruled_out(file: TableFile) -> None:
    gpu = PretendedGpu(SPEEDS)
    done = search(KERNELS, [SIZE, (8, 8, 8)], gpu, file)
    assert (done.measured, done.known, done.skipped, done.faults) == (6, 0, 0, [])
    assert done.complete
    found = TABLES.load(file.path)
    assert found.searches[0].complete
    assert [p.kernel for p in found.at(SIZE)] == ["tiled", "split", "naive"]
    best = found.at(SIZE)[0]
    assert (best.fingerprint, best.cublas_seconds, best.graph) == (TILED.fingerprint, 1e-3, True)
    assert best.gflops == pytest.approx(2000, rel=1e-4)


def test_a_bound_below_the_best_measured_rules_out(file: TableFile) -> None:
    gpu = PretendedGpu(SPEEDS, predicted={"naive": 1000, "tiled": 9000, "split": 2100})
    done = search(KERNELS, [SIZE], gpu, file)
    assert gpu.measured == [("tiled", SIZE), ("split", SIZE)]  # in the order predicted
    assert done.skipped == 1
    assert {p.bound_gflops for p in file.table.points} == {9000, 2100}


def test_a_candidate_far_behind_at_a_near_size_is_ruled_out(file: TableFile) -> None:
    gpu = PretendedGpu({**SPEEDS, "naive": 2000 / PRUNE_FACTOR / 2})
    near, far, odd = (1000, 1000, 1004), (8, 8, 8), (1001, 1001, 1001)
    search(KERNELS, [SIZE, near, far, odd], gpu, file)
    assert {name for name, size in gpu.measured if size == near} == {"tiled", "split"}
    assert {name for name, size in gpu.measured if size == far} == set(SPEEDS)
    assert {name for name, size in gpu.measured if size == odd} == set(SPEEDS)
    # What was best nearby is asked first.
    assert next(name for name, size in gpu.measured if size == near) == "tiled"


def test_everything_measures_also_ruled_out_candidates(file: TableFile) -> None:
    gpu = PretendedGpu(SPEEDS, predicted={"naive": 1000, "tiled": 9000, "split": 1100})
    assert search(KERNELS, [SIZE], gpu, file, everything=True).measured == 3


def test_refused_candidates_are_never_launched(file: TableFile) -> None:
    gpu = PretendedGpu(SPEEDS, refused=("split",))
    assert search(KERNELS, [SIZE], gpu, file).skipped == 1
    assert gpu.launched == ["naive", "tiled"]


def test_a_wrong_product_never_wins(file: TableFile) -> None:
    gpu = PretendedGpu(SPEEDS, wrong=("tiled",))
    done = search(KERNELS, [SIZE], gpu, file)
    assert done.faults == ["tiled is excluded at 1000³: C is off."]
    assert "1 product wrong" in done.text
    assert [p.kernel for p in file.table.at(SIZE)] == ["split", "naive"]


def test_a_slow_first_launch_is_not_repeated(file: TableFile) -> None:
    slow = 2000 / TOO_SLOW_FACTOR / 1.1
    gpu = PretendedGpu({**SPEEDS, "split": slow}, predicted={"tiled": 2e9})
    search(KERNELS, [SIZE, (8, 8, 8)], gpu, file)
    assert ("split", SIZE) not in gpu.measured
    assert ("split", (8, 8, 8)) in gpu.measured  # so short that measuring costs nothing


def test_a_too_slow_candidate_is_skipped_at_nearby_sizes(file: TableFile) -> None:
    slow = 2000 / TOO_SLOW_FACTOR / 1.1
    gpu = PretendedGpu({**SPEEDS, "split": slow}, predicted={"tiled": 2e9})
    near, far = (2000, 2000, 2000), (1000, 1000, 100_000)
    done = search(KERNELS, [SIZE, near, far], gpu, file)
    assert gpu.launched.count("split") == 2  # at the first size, and at the far one
    assert done.skipped == 3


def test_distant_points_rule_out_less(file: TableFile) -> None:
    gpu = PretendedGpu({**SPEEDS, "naive": 2000 / PRUNE_FACTOR / 1.2})
    search(KERNELS, [SIZE, (1000, 1000, 1004), (1000, 1000, 2000)], gpu, file)
    measured = [size for name, size in gpu.measured if name == "naive"]
    assert measured == [SIZE, (1000, 1000, 2000)]


def test_an_interrupted_search_resumes(tmp_path: Path, file: TableFile) -> None:
    with pytest.raises(KeyboardInterrupt):
        search(KERNELS, [SIZE], PretendedGpu(SPEEDS, stop_at="split"), file)
    assert not TABLES.load(file.path).searches[0].complete
    gpu = PretendedGpu(SPEEDS)
    again = TableFile(tmp_path, DEVICE, started(date="2026-02-02T03:04:05Z"))
    done = search(KERNELS, [SIZE], gpu, again)
    assert (done.measured, done.known) == (1, 2)
    assert gpu.measured == [("split", SIZE)]
    assert len(TABLES.load(file.path).points) == 3


def test_a_changed_kernel_is_measured_again(file: TableFile) -> None:
    search([TILED], [SIZE], PretendedGpu(SPEEDS), file)
    edited = replace(TILED, source=TILED.source + "constexpr int NEW = 1;\n")
    search([edited], [SIZE], PretendedGpu({"tiled": 2500.0}), file)
    (found,) = file.table.points
    assert found.fingerprint == edited.fingerprint
    assert found.gflops == pytest.approx(2500, rel=1e-4)


def test_a_time_limit_ends_the_search_between_two_points(file: TableFile) -> None:
    ticks = iter([0.0, 1.0, 2.0, 11.0])
    done = search(
        KERNELS, [SIZE], PretendedGpu(SPEEDS), file, seconds=10, clock=lambda: next(ticks)
    )
    assert (done.measured, done.complete) == (2, False)
    assert "run it again to continue" in done.text
    assert not TABLES.load(file.path).searches[0].complete


def test_progress_names_position_and_best_speed(file: TableFile) -> None:
    said: list[str] = []
    search(KERNELS, [SIZE], PretendedGpu(SPEEDS), file, progress=said.append)
    assert said == [
        "size 1 of 1, 1000³: candidate 1 of 3, naive",
        "size 1 of 1, 1000³: candidate 2 of 3, tiled; best 900 GFLOP/s",
        "size 1 of 1, 1000³: candidate 3 of 3, split; best 2,000 GFLOP/s",
    ]
