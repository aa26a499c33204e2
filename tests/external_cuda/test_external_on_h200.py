"""Kernels as others write them, beside what an H200 made of them: every bit, every counter."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import CASES, Case, contents_of, digest
from turns import TODAY

from sgemm_lab.external_cuda import Settings, count_external
from sgemm_lab.external_cuda.prediction_accuracy import seen

RECORD = json.loads(
    (Path(__file__).parents[1] / "data" / "foreign_h200.json").read_text(encoding="utf-8")
)["launches"]

NO_ORDER = {("compact_positive", "y")}
"""Arrays whose order is chance: warps take places in them by an atomic."""

EXPLAINED = {
    # ptxas turns a condition of two parts into one predicate; here its two sides run apart.
    ("maxAndWhere", "shared_store_requests"),
    ("maxAndWhere", "shared_store_wavefronts"),
    # Which of two branches is run is chosen by predicates there.
    ("gelu", "ffma_thread_instructions"),
    # ptxas merges loads in another way: the wavefronts of the first are the same.
    ("sgemm1DBlocktiling<64, 64, 8, 8>", "shared_load_requests"),
    ("bodyForce", "shared_load_requests"),
    ("bodyForce", "shared_load_wavefronts"),
    # The counter of wavefronts leaves ldmatrix out.
    ("wmma_shared", "shared_load_wavefronts"),
    ("hgemm_mma_m16n8k16", "shared_load_wavefronts"),
    # Threads come back from a recursion one after the other, and store apart.
    ("fibonaccis", "global_store_requests"),
    ("fibonaccis", "global_store_sectors"),
    # Not understood.
    ("levels", "ffma_thread_instructions"),
}
"""Counters that differ, by kernel, and why. The page tells these reasons."""


def test_the_record_is_of_these_launches() -> None:
    assert [launch["name"] for launch in RECORD] == [case.name for case in CASES]
    assert len(RECORD) > 100
    counters = sum(len(launch["counters"]) for launch in RECORD)
    arrays = sum(len(kept) for launch in RECORD for kept in launch["arrays"].values())
    told = seen()
    assert (told.launches, told.arrays, told.counters) == (len(RECORD), arrays, counters)
    assert told.arrays_equal == arrays - len(NO_ORDER)
    assert told.counters_equal == counters - len(EXPLAINED)
    assert told.counters_equal > 0.99 * counters


@pytest.mark.parametrize(
    ("case", "launch"),
    [pytest.param(case, launch, id=case.name) for case, launch in zip(CASES, RECORD, strict=True)],
)
@pytest.mark.sampled(every=5, first=TODAY)
def test_the_simulator_agrees_with_the_gpu(case: Case, launch: Mapping[str, Any]) -> None:
    settings = Settings(check_hazards=False, time_limit=120)
    whole = count_external(case.kernel(), case.size, settings=settings)
    for kind, recorded in launch["arrays"].items():
        counted = kind == "whole"
        contents = {} if counted else contents_of(whole, case)
        result = count_external(
            case.kernel(), case.size, settings=settings, contents=contents
        ).result
        for name, right in recorded.items():
            if (case.entry, name) not in NO_ORDER:
                assert digest(result.arrays[name]) == right, f"{name}, {kind} numbers"
        if counted:
            total = result.counts.total
            counts = total.to_json()
            counts["global_load_requests"] += total.async_copy_reads
            counts["global_load_sectors"] += total.async_copy_sectors
            gpu = launch["counters"].items()
            wrong = {name: (counts[name], value) for name, value in gpu if counts[name] != value}
            assert {name for name in wrong if (case.entry, name) not in EXPLAINED} == set(), wrong
