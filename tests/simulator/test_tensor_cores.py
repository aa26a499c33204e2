"""Tensor-core instructions against an H200's results and exact sums."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulator_kernels import LDMATRIX_16_BIT as HALF
from simulator_kernels import MMA_HALF, MMA_TF32, ptx_of

from sgemm_lab.simulator import PtxError, simulate
from sgemm_lab.simulator.tensor_operations import sum_of_products, toward_zero

RECORDED = np.load(Path(__file__).parents[1] / "data" / "tensor_core_h200.npz")
"""What an H200 answered to a·b + c: rows of a and b (8 or 16 k), c, and each instruction's sum.

The first 500 cases are chosen, of few bits next to a large one, at all places of k; 34 hold
infinity, NaN, overflow and subnormal numbers; 700 are drawn from four distributions.
"""


def small_integers(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Exact in every format, and so are all sums of products."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_ldmatrix_and_mma_of_16_bit_types(name: str) -> None:
    a, b = small_integers((16, 16), 1), small_integers((16, 8), 2)
    if name == "f16":
        raw = [matrix.astype(np.float16).view(np.uint16) for matrix in (a, b)]
    else:
        raw = [(matrix.view(np.uint32) >> 16).astype(np.uint16) for matrix in (a, b)]
    ptx = ptx_of(HALF, "sm_80", "TYPE=unsigned short", f'NAME="{name}"')
    args = {"A": raw[0], "B": raw[1], "C": np.zeros((16, 8), dtype=np.float32)}
    result = simulate(ptx, "k", (1,), (32,), args)
    assert np.array_equal(result.arrays["C"], a @ b + 1)
    assert result.hazards == []
    assert result.counts.total.flop == 2 * 16 * 8 * 16
    # Rows of 32 bytes: each 8-row matrix of A takes 2 wavefronts, each of B takes 1.
    assert result.counts.total.shared_load_wavefronts == 4 * 2 + 2
    assert result.counts.total.shared_load_requests == 2


def test_mma_of_tf32_ignores_the_low_bits() -> None:
    a, b = small_integers((16, 8), 3), small_integers((8, 8), 4)
    args = {"A": a * np.float32(1 + 2.0**-20), "B": b, "C": np.zeros((16, 8), dtype=np.float32)}
    result = simulate(ptx_of(MMA_TF32, "sm_80"), "k", (1,), (32,), args)
    assert np.array_equal(result.arrays["C"], a @ b)
    assert result.counts.total.flop == 2 * 16 * 8 * 8


def as_read(values: np.ndarray, type_: str) -> np.ndarray:
    """What a tensor core takes an element for, in float64."""
    if type_ == "f16":
        return values.astype(np.float16).astype(np.float64)
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("name", "type_", "depth"),
    [("mma tf32", "tf32", 8), ("wgmma tf32", "tf32", 8), ("mma f16 k8", "f16", 8),
     ("mma f16 k16", "f16", 16)],
)  # fmt: skip
def test_sums_are_those_of_an_h200_bit_by_bit(name: str, type_: str, depth: int) -> None:
    with np.errstate(all="ignore"):
        a, b = (as_read(RECORDED[f"{side}{depth}"], type_) for side in "ab")
        c = RECORDED[f"c{depth}"]
        found = sum_of_products(a[:, None, :], b[:, :, None], c[:, None, None])[:, 0, 0]
    assert len(found) > 1000
    assert np.array_equal(found.view(np.uint32), RECORDED[name].view(np.uint32))


def test_conversions_are_those_of_an_h200() -> None:
    values = RECORDED["converted"]
    for opcode, body in (
        ("cvt.rna.tf32.f32", 'asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(A[i]));'),
        ("cvt.rn.f16.f32", 'asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.u32.u16 %0, h; }"'
         ' : "=r"(r) : "f"(A[i]));'),
    ):  # fmt: skip
        source = f"""extern "C" __global__ void k(const float* A, unsigned* C) {{
            int i = blockIdx.x * 32 + threadIdx.x; unsigned r; {body} C[i] = r; }}"""
        padded = np.resize(values, -(-len(values) // 32) * 32)
        arguments = {"A": padded, "C": np.zeros(len(padded), np.uint32)}
        result = simulate(ptx_of(source, "sm_80"), "k", (len(padded) // 32,), (32,), arguments)
        assert np.array_equal(result.arrays["C"][: len(values)], RECORDED[opcode])


@settings(deadline=None)
@given(st.floats(allow_nan=False, width=64))
def test_low_bits_are_cut_off_toward_zero(value: float) -> None:
    with np.errstate(all="ignore"):
        cut = float(toward_zero(np.array([value]))[0])
    assert abs(cut) <= abs(value) or abs(value) == float("inf") == abs(cut) or abs(value) >= 2**128
    if abs(value) < 2**128:
        with np.errstate(all="ignore"):
            above = np.nextafter(np.float32(cut), np.float32(np.copysign(np.inf, value)))
        assert abs(float(above)) > abs(value)


def test_no_order_of_terms_changes_a_sum() -> None:
    random = np.random.default_rng(5)
    a, b = (random.uniform(-1, 1, (50, 1, 8)).astype(np.float16).astype(float) for _ in range(2))
    c = random.uniform(-1, 1, (50, 1, 1)).astype(np.float32)
    turned = random.permutation(8)
    first = sum_of_products(a, b.swapaxes(1, 2), c)
    assert np.array_equal(first, sum_of_products(a[..., turned], b[..., turned].swapaxes(1, 2), c))


def test_mma_of_8_half_elements() -> None:
    a, b = small_integers((16, 8), 5), small_integers((8, 8), 6)
    args = {"A": a, "B": b, "C": np.zeros((16, 8), dtype=np.float32)}
    result = simulate(ptx_of(MMA_HALF, "sm_75"), "k", (1,), (32,), args)
    assert np.array_equal(result.arrays["C"], a @ b)
    assert result.counts.total.flop == 2 * 16 * 8 * 8


def test_ldmatrix_needs_the_whole_warp() -> None:
    source = HALF.replace("unsigned from =", "if (lane > 7) return;\n    unsigned from =")
    args = {
        "A": np.zeros((16, 16), dtype=np.uint16),
        "B": np.zeros((16, 8), dtype=np.uint16),
        "C": np.zeros((16, 8), dtype=np.float32),
    }
    with pytest.raises(PtxError, match="needs all 32 lanes"):
        simulate(
            ptx_of(source, "sm_80", "TYPE=unsigned short", 'NAME="f16"'), "k", (1,), (32,), args
        )


def of_wmma(shape: str, row_of_a: str, row_of_b: str, strides: tuple[int, int, int]) -> str:
    """A product of one warp through fragments, both matrices loaded from shared memory."""
    eight = ", ".join(f"%{number}" for number in range(8))
    loads = "".join(
        f"""asm volatile("wmma.load.{x}.sync.aligned.{layout}.{shape}.shared.f16 "
            "{{{eight}}}, [%8], %9;"
            : {", ".join(f'"=r"({x}[{n}])' for n in range(8))}
            : "l"(__cvta_generic_to_shared(s{x})), "r"({stride}) : "memory");"""
        for x, layout, stride in (("a", row_of_a, strides[0]), ("b", row_of_b, strides[1]))
    )
    c, a, b = (", ".join(f"%{first + n}" for n in range(8)) for first in (0, 8, 16))
    return f"""typedef unsigned short half_t;
    extern "C" __global__ void k(const half_t* A, const half_t* B, float* C) {{
        __shared__ __align__(32) half_t sa[512], sb[512];
        for (int i = threadIdx.x; i < 512; i += 32) sa[i] = A[i], sb[i] = B[i];
        __syncthreads();
        unsigned a[8], b[8]; float c[8] = {{}};
        {loads}
        asm volatile("wmma.mma.sync.aligned.{row_of_a}.{row_of_b}.{shape}.f32.f32 "
            "{{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};"
            : {", ".join(f'"+f"(c[{n}])' for n in range(8))}
            : {", ".join(f'"r"({x}[{n}])' for x in "ab" for n in range(8))});
        asm volatile("wmma.store.d.sync.aligned.row.{shape}.global.f32 [%0], {{{
        ", ".join(f"%{n + 1}" for n in range(8))
    }}}, {strides[2]};"
            :: "l"(C), {", ".join(f'"f"(c[{n}])' for n in range(8))} : "memory");
    }}"""


@pytest.mark.parametrize("row_of_b", ["row", "col"])
@pytest.mark.parametrize("row_of_a", ["row", "col"])
@pytest.mark.parametrize("sizes", [(16, 16, 16), (32, 8, 16), (8, 32, 16)])
def test_fragments_of_every_shape_are_loaded_from_shared_memory(
    sizes: tuple[int, int, int], row_of_a: str, row_of_b: str
) -> None:
    m, n, k = sizes
    strides = k if row_of_a == "row" else m, n if row_of_b == "row" else k, n
    a, b = small_integers((m, k), 7).astype("f2"), small_integers((k, n), 8).astype("f2")
    given = {
        "A": np.resize(a if row_of_a == "row" else a.T.copy(), 512).view("u2"),
        "B": np.resize(b if row_of_b == "row" else b.T.copy(), 512).view("u2"),
        "C": np.zeros((m, n), "f4"),
    }
    shape = "m{}n{}k{}".format(*sizes)
    source = of_wmma(shape, row_of_a, row_of_b, strides)
    result = simulate(ptx_of(source, "sm_80"), "k", (1,), (32,), given)
    assert result.hazards == []
    assert np.array_equal(result.arrays["C"], a.astype("f4") @ b.astype("f4"))
