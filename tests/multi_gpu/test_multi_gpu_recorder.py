"""The recorder with fake processes: what is written, resumed and printed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE

from sgemm_lab.checking.sandbox import TimeLimitError
from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import recorder
from sgemm_lab.multi_gpu.cases import PARTS, SIZES, Group, Request, groups
from sgemm_lab.multi_gpu.measure import LINK, PRODUCT
from sgemm_lab.multi_gpu.recorder import record, take_record
from sgemm_lab.records.multi_gpu import (
    MULTI_GPU_RECORDS,
    Case,
    LinkCase,
    LinkTimes,
    MultiGpuFile,
    MultiGpuRun,
    ProductTimes,
    scores,
)
from sgemm_lab.records.schema import encode


def a_run(date: str = "2026-01-02T03:04:05Z", **more: Any) -> MultiGpuRun:
    return MultiGpuRun(date, 2, "580.1", "13.0", "14.2.0", "2.28.9", "0.1.0", "cublasSgemm", **more)


def a_case(n: int = 64, **more: Any) -> Case:
    given: dict[str, Any] = {"layout": "rows", "inside": "cublas", "transport": "copy", **more}
    return Case(2, n, n, n, **given)


def times(case: Case, seconds: float = 2.0) -> ProductTimes:
    return ProductTimes(case, (seconds,), 0.1, (3.0,), (1.9,), alone=(1.8,))


TODO = [
    Group([Request(PRODUCT, a_case(n)) for n in (64, 128)]),
    Group([Request(LINK, LinkCase("copy", "one way", 2, 4096))], 4),
]


class Child:
    """Answers requests, with given failures."""

    def __init__(self, **odd: Any) -> None:
        self.odd, self.asked = odd, []

    def __call__(
        self, requests: Sequence[Request], block_limit: int | None, limit: float
    ) -> Iterator[Any]:
        self.asked.append((len(requests), block_limit))
        for request in requests:
            case = request.case
            fault = self.odd.get(f"n{case.n}") if isinstance(case, Case) else None
            if isinstance(fault, BaseException):
                raise fault
            if fault:
                yield {"refused": fault}
            elif isinstance(case, Case):
                yield {"item": encode(times(case))}
            else:
                yield {"item": encode(LinkTimes(case, (1e-5,)))}


def a_file(folder: Path, **more: Any) -> MultiGpuFile:
    return MultiGpuFile(folder, DEVICE, a_run(**more))


def test_each_result_is_written_at_once(tmp_path: Path) -> None:
    child, said = Child(), []
    summary = record(a_file(tmp_path), TODO, run_requests=child, progress=said.append)
    assert (summary.measured, summary.failed, summary.complete) == (3, 0, True)
    (run,) = MULTI_GPU_RECORDS.load(summary.path).runs
    assert [found.case.n for found in run.products] == [64, 128]
    assert run.links[0].gbs == pytest.approx(4096 / 1e-5 / 1e9)
    assert child.asked == [(2, None), (1, 4)]
    assert said[0].startswith("1 of 3, product: gpus 2, m 64")
    assert "efficiency 0.9000, 1.0526 of the products alone" in said[1]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("C is wrong.", "C is wrong."),
        (TimeLimitError("…"), "It did not finish in 90 seconds and was stopped."),
        (LabError("The process ended early."), "The process ended early."),
    ],
)
def test_a_failed_case_is_recorded_and_the_rest_continues(
    tmp_path: Path, fault: Any, why: str
) -> None:
    summary = record(a_file(tmp_path), TODO, run_requests=Child(n64=fault))
    assert (summary.measured, summary.failed) == (2, 1)
    (run,) = MULTI_GPU_RECORDS.load(summary.path).runs
    assert [f.why for f in run.failures] == [why]
    assert [found.case.n for found in run.products] == [128]


def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        record(a_file(tmp_path), TODO, run_requests=Child(n128=KeyboardInterrupt()))
    child = Child()
    again = record(a_file(tmp_path, date="2026-01-03T00:00:00Z"), TODO, run_requests=child)
    assert (again.measured, again.known) == (2, 1)
    assert child.asked == [(1, None), (1, 4)]
    (run,) = MULTI_GPU_RECORDS.load(again.path).runs
    assert run.date == "2026-01-02T03:04:05Z"


def test_a_complete_run_is_unchanged_and_a_new_one_begins(tmp_path: Path) -> None:
    whole = a_file(tmp_path)
    record(whole, TODO, run_requests=Child())
    whole.end()
    other = {"date": "2026-01-04T00:00:00Z"}
    record(a_file(tmp_path, date="2026-01-03T00:00:00Z"), TODO[:1], run_requests=Child())
    (four,) = [MultiGpuFile(tmp_path, DEVICE, replace(a_run(**other), gpus=4))]
    record(four, TODO, run_requests=Child())
    again = record(a_file(tmp_path, date="2026-01-05T00:00:00Z"), TODO, run_requests=Child())
    assert (again.measured, again.known) == (1, 2)
    runs = MULTI_GPU_RECORDS.load_all(tmp_path)[0].runs
    assert sorted(run.date[:10] for run in runs) == ["2026-01-02", "2026-01-03", "2026-01-04"]


def test_only_all_parts_make_a_run_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "gpu_count", lambda: 2)
    monkeypatch.setattr(recorder, "current_device", lambda: DEVICE)
    monkeypatch.setattr(recorder, "_new_run", lambda gpus: a_run())
    monkeypatch.setattr(recorder, "groups", lambda gpus, sizes, parts: iter(TODO))
    assert (
        not MULTI_GPU_RECORDS.load(
            take_record(tmp_path, parts=("links",), run_requests=Child()).path
        )
        .runs[0]
        .complete
    )
    assert MULTI_GPU_RECORDS.load(take_record(tmp_path, run_requests=Child()).path).runs[0].complete


def test_a_new_process_follows_a_hanging_one(tmp_path: Path) -> None:
    child = Child()

    def ends_early(requests: Sequence[Request], limit: int | None, seconds: float) -> Iterator[Any]:
        if len(child.asked) == 0:
            child.asked.append((len(requests), limit))
            yield {"refused": "The GPUs were not done in 15 seconds."}
            return
        yield from child(requests, limit, seconds)

    summary = record(a_file(tmp_path), TODO, run_requests=ends_early)
    assert (summary.measured, summary.failed) == (2, 1)
    assert child.asked == [(2, None), (1, None), (1, 4)]


def test_the_time_limit_ends_between_cases(tmp_path: Path) -> None:
    clock = iter(float(second) for second in range(100))
    summary = record(
        a_file(tmp_path), TODO, run_requests=Child(), seconds=2.5, clock=lambda: next(clock)
    )
    assert not summary.complete
    assert 1 <= summary.measured < 3
    assert not MULTI_GPU_RECORDS.load(summary.path).runs[0].complete


def test_one_gpu_is_referred_to_the_other_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "gpu_count", lambda: 1)
    with pytest.raises(LabError, match=r"There is one GPU here.*'sgemm-lab record' measures one"):
        take_record(tmp_path)
    monkeypatch.setattr(recorder, "gpu_count", lambda: 2)
    with pytest.raises(LabError, match="takes 2 to 2, not 3"):
        take_record(tmp_path, gpus=3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("gpus", [2, 4, 6, 8])
def test_all_cases_have_plans_without_duplicates(gpus: int) -> None:
    from sgemm_lab.multi_gpu.measure import local_size, plan_of

    seen = []
    for group in groups(gpus, SIZES):
        limits = {r.case.block_limit for r in group.requests if isinstance(r.case, Case)}
        assert limits <= {group.block_limit}
        for request in group.requests:
            seen.append(request.label)
            if isinstance(request.case, Case):
                plan = plan_of(request.case)
                m, n, k = local_size(plan)
                assert m * n * k * gpus >= math.prod(request.case.size)
    assert len(seen) == len(set(seen))
    assert all(list(groups(gpus, SIZES, (part,))) for part in PARTS)


def test_the_scoreboard_has_the_fastest_variant_of_the_latest_run(tmp_path: Path) -> None:
    early = a_run(products=(times(a_case(), 1.0),))
    late = a_run(
        date="2026-02-02T03:04:05Z",
        products=(
            times(a_case(), 4.0),
            times(a_case(graph=True), 2.0),
            times(a_case(layout="summa"), 8.0),
            times(Case(2, 64, 32, 64, "rows", "cublas", "copy")),
            ProductTimes(a_case(256), (1.0,), 0.1),
        ),
    )
    for run in (early, late):
        file = MultiGpuFile(tmp_path, DEVICE, run)
        file.end()
    found = scores(MULTI_GPU_RECORDS.load_all(tmp_path))
    assert [(s.times.case.layout, s.times.overlap) for s in found] == [
        ("rows", (2.0,)),
        ("summa", (8.0,)),
    ]
    assert found[0].times.efficiency == pytest.approx(0.9)


def test_a_wrong_product_is_not_recorded(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with pytest.raises(LabError, match="is not a valid record"):
        file.add(ProductTimes(a_case(), (1.0,), worst_share=1.5))
    assert not file.path.exists()
