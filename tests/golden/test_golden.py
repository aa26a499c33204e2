"""The simulator against the golden corpus, and the corpus against what is known otherwise."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from exact_reference import chain_of_fma
from golden_launch import Case, differences, record_of
from simulator_kernels import GEMMS, gemm_inputs
from turns import TODAY

from golden import GROUPS, RESULTS, answer
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import Rounding
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import Result

IN_PARTS = {"stream_k", "per_warp_stages", "split_k", "one_row", "one_column"}
"""Kernels that add up parts of K, and not all of it in one chain."""
HOW = "If the change is wanted: make golden, and read the diff."


@pytest.mark.parametrize(("group", "part"), [(name, part) for name in GROUPS for part in range(4)])
@pytest.mark.sampled(every=4, first=TODAY)
def test_the_simulator_gives_the_golden_results(group: str, part: int) -> None:
    golden = GROUPS[group].golden()
    cases = GROUPS[group].cases()
    assert [*cases] == [*golden], f"The launches of '{group}' are others now. {HOW}"
    found = {}
    for case in [*cases.values()][part::4]:
        answered = answer(case)
        if different := differences(golden[case.name], record_of(case, answered)):
            found[case.name] = different
        if group.startswith("book") and isinstance(answered, Result):
            assert answered.hazards == [], case.name
            assert_right(load_kernel(case.name.split()[0]), case, answered.arrays["C"])
    assert not found, f"{found}\n{HOW}"


def assert_right(kernel: Kernel, case: Case, found: npt.NDArray[np.float32]) -> None:
    """Hold C to the chain of fused multiply-adds; where there is none, to a bound."""
    a, b = case.args["A"], case.args["B"]
    c = found.reshape(len(a), -1)
    chain = chain_at((case.args["M"], case.args["N"], case.args["K"]))
    if kernel.arithmetic != "fp32":
        assert Rounding(a, b, kernel.arithmetic).shares(c).max() <= 1, kernel.name
    elif kernel.name in IN_PARTS:
        assert np.abs(c - chain).max() < 1e-5, kernel.name
    else:
        assert np.array_equal(c.view(np.uint32), chain.view(np.uint32)), kernel.name


@cache
def chain_at(size: Size) -> npt.NDArray[np.float32]:
    """The product as a chain of multiply-adds: all kernels of the book have the same inputs."""
    drawn = gemm_inputs(*size)
    return chain_of_fma(drawn["A"], drawn["B"])


def golden_hazards() -> Iterator[dict[str, Any]]:
    for group in GROUPS.values():
        for record in group.golden().values():
            yield from record.get("hazards", [])


def test_every_kind_of_hazard_and_error_is_in_the_corpus() -> None:
    records = [record for group in GROUPS.values() for record in group.golden().values()]
    kinds = Counter(hazard["kind"] for hazard in golden_hazards())
    assert {*kinds} == {
        "out of bounds", "misaligned", "unwritten", "race", "in flight", "barrier"
    }  # fmt: skip
    assert min(kinds.values()) >= 5
    errors = {record["raised"] for record in records if "raised" in record}
    assert errors == {"PtxError", "DeadlockError"}
    assert any(record.get("warnings") for record in records)
    assert any(record.get("trace", {}).get("faults") for record in records)


def test_every_wrong_kernel_is_found_out_or_gives_a_wrong_c() -> None:
    """Some wrong kernels do nothing illegal: their results alone tell."""
    records = GROUPS["wrong_kernels"].golden()
    silent = {name.split()[0] for name in records} - {
        name.split()[0] for name, record in records.items() if record.get("hazards")
    }
    assert silent == {
        "clobbered_input", "doubled_term", "dropped_tail", "hidden_nan", "skipped_zeros",
        "transposed_index", "unwritten_edge",
    }  # fmt: skip


def test_a_right_kernel_gives_the_same_c_in_every_order_of_warps_and_threads() -> None:
    products: dict[str, set[str]] = {}
    for name, record in GROUPS["barriers"].golden().items():
        if name.split()[0] in GEMMS and name.split()[1] == "5×6×7":
            assert "hazards" not in record, name
            products.setdefault(name.split()[0], set()).add(record["arrays"]["C"]["sha256"])
    assert len(products) == len(GEMMS)
    assert {len(found) for found in products.values()} == {1}


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in RESULTS.iterdir()} == {*GROUPS}
