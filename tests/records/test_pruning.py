"""Pruning removes superseded results; every query answers as before."""

from dataclasses import replace
from typing import Any

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.records.gpu_record import CUBLAS, CUBLAS_MODES, INPUTS, Record
from sgemm_lab.records.pruning import pruned
from sgemm_lab.records.store import load_records, scores

BOOK = load_kernels(variants=True)


@pytest.mark.parametrize("book", load_records(), ids=lambda record: record.gpu.name)
def test_every_query_on_a_pruned_record_answers_as_before(book: Record) -> None:
    rest = pruned(book)

    def answers(of: Record) -> dict[str, Any]:
        sizes = {m.size for run in of.runs for m in run.measurements}
        names = {one.benchmark for run in of.runs for one in run.readings}
        values = lambda of: {k: (r.samples, r.run.date) for k, r in of.items()}  # noqa: E731
        return {
            "scores": {
                (s.kernel, s.fingerprint, s.size, s.gflops, s.cublas_gflops, s.date)
                for s in scores([of])
            },
            "counters": {k.name: {z: c.values for z, c in of.launches(k).items()} for k in BOOK},
            "readings": {name: values(of.readings(name)) for name in names},
            "library": {(a, z): of.library(a, z) for a in CUBLAS_MODES for z in sizes},
            "errors": {
                (k.name, i, n): of.accuracy(k, i, n)
                for k in BOOK for i in INPUTS for n in of.accuracy_terms
            },
        }  # fmt: skip

    assert answers(rest) == answers(book)
    assert pruned(rest) == rest


def test_superseded_results_go_and_cublas_stays_with_its_run() -> None:
    naive, tiled = (load_kernel(name) for name in ("naive", "tiled"))
    old = run(
        samples("naive", 1.0, fingerprint=naive.fingerprint),
        samples("tiled", 1.0, fingerprint=tiled.fingerprint),
        samples(CUBLAS, 3.0),
    )
    newer = replace(
        run(samples("naive", 2.0, fingerprint=naive.fingerprint), samples(CUBLAS, 4.0)),
        date="2027-01-02T03:04:05Z",
    )
    first, second = pruned(record(old, newer)).runs
    assert [m.kernel for m in first.measurements] == ["tiled", CUBLAS]
    assert second == newer


def test_a_run_without_a_result_of_today_is_left_out() -> None:
    fingerprint = load_kernel("naive").fingerprint
    former = run(samples("naive", 1.0, fingerprint="0" * 16), samples(CUBLAS, 3.0))
    newer = replace(
        run(samples("naive", 2.0, fingerprint=fingerprint), samples(CUBLAS, 4.0)),
        date="2027-01-02T03:04:05Z",
    )
    assert pruned(Record(DEVICE, (former, newer))).runs == (newer,)
