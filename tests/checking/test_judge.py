"""The checker accepts what is right and names what is wrong. NumPy stands in for CuPy."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking import on_gpu as module
from sgemm_lab.checking.judge import CheckResult, Rounding, summary
from sgemm_lab.checking.on_gpu import GUARD, check
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ARITHMETICS

Product = Callable[[Any, Any, Any], None]
NAIVE = load_kernel("naive")


class GpuError(Exception):
    """Stands in for CuPy's errors of a GPU that stopped."""


class NumpyAsCupy:
    cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        driver=SimpleNamespace(CUDADriverError=GpuError),
        runtime=SimpleNamespace(CUDARuntimeError=GpuError),
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def right(a: Any, b: Any, c: Any) -> None:
    c[...] = a @ b


def verdicts(
    product: Product, *sizes: tuple[int, int, int], shift: int = 0, seed: int = 0
) -> list[CheckResult]:
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(module, "require_gpu", NumpyAsCupy)
        patch.setattr(module, "LoadedKernel", lambda _: product)
        return list(check(NAIVE, sizes, shift=shift, seed=seed))


def fault(product: Product, size: tuple[int, int, int] = (5, 6, 7)) -> str:
    (verdict,) = verdicts(product, size)
    assert not verdict.passed
    assert verdict.fault is not None
    assert verdict.error == float("inf")
    return verdict.fault


dimension = st.integers(1, 40)


@settings(max_examples=60, deadline=None)
@given(dimension, dimension, dimension, st.integers(0, 5), st.integers(0, 99))
def test_a_right_product_passes(m: int, n: int, k: int, shift: int, seed: int) -> None:
    (verdict,) = verdicts(right, (m, n, k), shift=shift, seed=seed)
    assert verdict.passed
    assert 0 <= verdict.error <= 1


@settings(max_examples=30, deadline=None)
@given(st.data(), dimension, dimension, dimension)
def test_a_single_wrong_element_is_found(data: st.DataObject, m: int, n: int, k: int) -> None:
    row, col = data.draw(st.integers(0, m - 1)), data.draw(st.integers(0, n - 1))

    def one_off(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        c[row, col] += 1

    said = fault(one_off, (m, n, k))
    assert said.startswith(f"1 of {m * n:,} elements are wrong on whole numbers")
    assert f"The first is C[{row}, {col}]" in said


def test_an_unwritten_edge_is_found_because_c_was_poisoned() -> None:
    def unwritten(a: Any, b: Any, c: Any) -> None:
        c[:, :-1] = (a @ b)[:, :-1]

    said = fault(unwritten)
    assert "5 of 30 elements are wrong" in said
    assert "C[0, 5]: nan instead of" in said
    assert "5 are NaN: never written, or spoiled by a read outside A or B." in said


def test_a_read_past_a_matrix_is_found() -> None:
    def outside(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        c[-1, -1] += 0 * a.base[GUARD + a.size]

    assert "1 are NaN" in fault(outside)


@pytest.mark.parametrize("value", [0.0, 1e9, -1e9, np.nan])
@pytest.mark.parametrize("element", [GUARD - 1, GUARD + 30, 2 * GUARD + 29, 0])
def test_a_stray_write_is_found(element: int, value: float) -> None:
    def stray(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        c.base[element] = value

    assert fault(stray) == "It wrote outside C. Guard the store: row < M and col < N."


@pytest.mark.parametrize("shift", [1, 3])
def test_guard_zones_move_with_the_matrices(shift: int) -> None:
    addresses = set()

    def product(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        for matrix in (a, b, c):
            addresses.add((matrix.ctypes.data - matrix.base.ctypes.data) // 4)

    assert verdicts(product, (5, 6, 7), shift=shift)[0].passed
    assert addresses == {GUARD + shift}


def test_a_swallowed_nan_is_found() -> None:
    def swallowed(a: Any, b: Any, c: Any) -> None:
        c[...] = np.fmax(a @ b, np.float32(-3e38))

    assert "elements are wrong where A and B hold NaN and infinity" in fault(swallowed)


@pytest.mark.parametrize("matrix", ["A", "B"])
@pytest.mark.parametrize("special", [np.isnan, np.isinf])
def test_a_special_value_lost_from_one_matrix_is_found(special: Any, matrix: str) -> None:
    def lost(a: Any, b: Any, c: Any) -> None:
        a, b = a.copy(), b.copy()
        (a if matrix == "A" else b)[special(a if matrix == "A" else b)] = 1
        right(a, b, c)

    assert "hold NaN and infinity" in fault(lost)


@pytest.mark.parametrize("matrix", ["A", "B"])
@pytest.mark.parametrize("special", [np.isnan, np.isinf])
def test_a_term_skipped_because_a_factor_is_zero_is_found(special: Any, matrix: str) -> None:
    """A kernel that leaves out zeros of one matrix loses what stands beside them in the other."""

    def skipped(a: Any, b: Any, c: Any) -> None:
        for k in range(a.shape[1]):
            term = np.outer(a[:, k], b[k])
            zeros = a[:, k, None] == 0 if matrix == "A" else b[None, k] == 0
            beside = special(b[None, k] if matrix == "A" else a[:, k, None])
            term[np.broadcast_to(zeros, term.shape) & beside] = 0
            c[...] = term if k == 0 else c + term

    assert "hold NaN and infinity" in fault(skipped)


@pytest.mark.parametrize("name", ["A", "B"])
def test_a_changed_input_is_found_though_c_is_right(name: str) -> None:
    def clobbering(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        (a if name == "A" else b)[1, 2] += 1

    size = "35" if name == "A" else "42"
    assert fault(clobbering).startswith(
        f"It changed 1 of {size} elements of {name}, which it may only read. "
        f"The first is {name}[1, 2]."
    )


def test_results_that_do_not_repeat_are_found() -> None:
    calls = []

    def racing(a: Any, b: Any, c: Any) -> None:
        right(a, b, c)
        calls.append(c)
        if len(calls) == 3:
            c[2, 2] = np.nextafter(c[2, 2], np.float32(9))

    said = fault(racing)
    assert said.startswith("Two runs on the same matrices gave different results.")
    assert "__syncthreads()" in said


def test_less_precision_than_float32_is_found() -> None:
    def halves(a: Any, b: Any, c: Any) -> None:
        c[...] = a.astype("float16").astype("float32") @ b

    assert "are wrong by more than rounding explains" in fault(halves)


@pytest.mark.parametrize(("share", "passes"), [(0.95, True), (1.05, False)])
def test_an_error_just_above_the_bound_is_refused(share: float, passes: bool) -> None:
    def off(a: Any, b: Any, c: Any) -> None:
        exact = a.astype("float64") @ b.astype("float64")
        c[...] = a @ b
        # Whole numbers stay as they are: only the run on fractions allows an error.
        if (a != np.rint(a)).any() and np.isfinite(exact).all():
            c[...] = exact + share * 64 * 2.0**-24 * (abs(a).astype("float64") @ abs(b))

    (verdict,) = verdicts(off, (3, 2, 64))
    assert verdict.passed is passes
    assert verdict.error == (pytest.approx(share, rel=0.02) if passes else float("inf"))


def test_the_error_of_each_element_is_a_share_of_its_own_bound() -> None:
    a = np.array([[1.0, 2.0], [0.0, 0.0]], "float32")
    b = np.array([[3.0], [-4.0]], "float32")
    c = np.array([[-5.0 + 2.0**-20], [0.0]], "float32")
    bound = 2 * 2.0**-24 * (3 + 8)  # K·u·(|A|·|B|)
    assert Rounding(a, b).shares(c) == pytest.approx(np.array([[2.0**-20 / bound], [0.0]]))


@pytest.mark.parametrize("k", [2**18 + 1, 2**21])
def test_a_very_long_k_stays_exact_and_passes(k: int) -> None:
    assert verdicts(right, (1, 1, k))[0].passed


def test_a_refused_size_is_not_a_fault() -> None:
    def refuses(a: Any, b: Any, c: Any) -> None:
        if a.shape[1] > 5:
            raise LabError("Too large a tile.")
        right(a, b, c)

    small, large = verdicts(refuses, (2, 2, 2), (2, 2, 6))
    assert small.passed
    assert (large.passed, large.fault, large.refusal) == (False, None, "Too large a tile.")


def test_a_size_that_memory_cannot_hold_is_refused() -> None:
    def greedy(a: Any, b: Any, c: Any) -> None:
        raise MemoryError

    (verdict,) = verdicts(greedy, (2, 3, 4))
    assert verdict.refusal == "The GPU's memory cannot hold the matrices of 2×3×4."


def test_checking_ends_where_the_gpu_stopped_the_kernel() -> None:
    def faulty(a: Any, b: Any, c: Any) -> None:
        raise GpuError("misaligned address")

    (verdict,) = verdicts(faulty, (2, 2, 2), (3, 3, 3))
    assert verdict.fault == "The GPU stopped the kernel: misaligned address"


def result(fault: str | None = None, refusal: str | None = None, error: float = 0.0) -> CheckResult:
    return CheckResult("naive", 1, 1, 1, fault, refusal, error)


def test_a_summary_tells_right_wrong_and_refused() -> None:
    assert summary([result(error=0.25), result(error=0.98)]) == "right at 2 sizes."
    assert summary([result(fault="Bad."), result()]) == "WRONG at 1 of 2 sizes."
    refused = [result(), result(refusal="No room."), result(refusal="No room.")]
    assert summary(refused) == "right at 1 size. Not run at 2: No room."
    assert summary([result(refusal="No room.")]) == "right at 0 sizes. Not run at 1: No room."


def rounded(values: Any, arithmetic: str) -> list[Any]:
    """The parts of float32 numbers that an arithmetic multiplies, in float64."""
    if arithmetic == "fp16":
        return [values.astype(np.float16).astype(float)]
    if arithmetic == "fp32":
        return [values.astype(float)]
    big = ((values.view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)
    if arithmetic == "tf32":
        return [big.astype(float)]
    return [big.astype(float), rounded(values - big, "tf32")[0]]


def product_in(arithmetic: str, a: Any, b: Any) -> Any:
    """a·b with the factors of an arithmetic and exact sums; of small parts no product."""
    (big_a, *small_a), (big_b, *small_b) = rounded(a, arithmetic), rounded(b, arithmetic)
    found = big_a @ big_b
    for small in small_a:
        found = found + small @ big_b
    for small in small_b:
        found = found + big_a @ small
    return found.astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(dimension, dimension, st.integers(1, 700), st.integers(0, 99))
def test_each_arithmetic_keeps_its_bound_and_not_a_stricter_one(
    m: int, n: int, k: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    a, b = (random.uniform(-0.5, 0.5, s).astype(np.float32) for s in ((m, k), (k, n)))
    for arithmetic in ARITHMETICS:
        c = product_in(arithmetic, a, b)
        assert float(Rounding(a, b, arithmetic).shares(c).max()) <= 1
    if m * n >= 32 and k <= 200:  # enough elements that one is off by much, and a tight bound
        for low in ("tf32", "fp16"):
            assert float(Rounding(a, b, "fp32").shares(product_in(low, a, b)).max()) > 1


@pytest.mark.parametrize("k", [1, 3, 33, 128])
def test_three_products_of_which_one_is_missing_are_refused(k: int) -> None:
    random = np.random.default_rng(k)
    a, b = (random.uniform(-0.5, 0.5, s).astype(np.float32) for s in ((40, k), (k, 40)))
    big_a, (big_b, small_b) = rounded(a, "tf32")[0], rounded(b, "3xtf32")
    c = (big_a @ big_b + big_a @ small_b).astype(np.float32)
    assert float(Rounding(a, b, "3xtf32").shares(c).max()) > 1


@pytest.mark.parametrize(
    ("arithmetic", "k", "allowed"),
    [
        ("fp32", 8, 8 * 2.0**-24),
        ("fp32", 9, 9 * 2.0**-24),
        # Two factors of 11 bits, and 10 units of 2⁻²³ for each 8 k and once more.
        ("tf32", 8, 2.0**-10 + 2.0**-22 + 20 * 2.0**-23),
        ("tf32", 24, 2.0**-10 + 2.0**-22 + 40 * 2.0**-23),
        # Two factors of 22 bits, small · small, 12 instructions, and a sum of FP32 for each 8 k.
        ("3xtf32", 8, 2.0**-21 + 2.0**-44 + 2.0**-22 + 120 * 2.0**-23 + 2.0**-24),
        ("3xtf32", 32, 2.0**-21 + 2.0**-44 + 2.0**-22 + 120 * 2.0**-23 + 4 * 2.0**-24),
    ],
)
def test_what_a_sum_of_ones_may_be_off(arithmetic: str, k: int, allowed: float) -> None:
    ones = np.ones((1, k), np.float32)
    share = Rounding(ones, ones.T, arithmetic).shares(np.array([[k * (1 + allowed)]]))
    assert float(share[0, 0]) == pytest.approx(1, rel=1e-9)


def test_fp16_may_lose_the_smallest_numbers_of_the_row_and_of_the_column() -> None:
    a = np.array([[1, 3], [0, 0]], np.float32)
    b = np.array([[0, 0, 5], [0, 0, 0]], np.float32)
    off = np.full((2, 3), 2.0**-25)
    # Rows of a sum to 4 and 0, columns of b to 0, 0 and 5. Only the last column has a product.
    shares = Rounding(a, b, "fp16").shares(a.astype(float) @ b + off)
    assert shares[0, :2].tolist() == pytest.approx([1 / 4, 1 / 4])
    assert shares[1].tolist() == pytest.approx([2.0**-25 / 1e-30, 2.0**-25 / 1e-30, 1 / 5])
    assert shares[0, 2] < 1 / 9
