"""Tensor-core instructions against an H200's results and exact sums."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import inside
from simulator_kernels import LDMATRIX_16_BIT as HALF
from simulator_kernels import MMA_HALF, MMA_TF32, ptx_of

from sgemm_lab.simulator import simulate

RECORDED = np.load(Path(__file__).parents[1] / "data" / "tensor_core_h200.npz")
"""What an H200 answered to a·b + c: rows of a and b (8 or 16 k), c, and each instruction's sum.

The first 500 cases are chosen, of few bits next to a large one, at all places of k; 34 hold
infinity, NaN, overflow and subnormal numbers; 700 are drawn from four distributions.
"""


def as_read(values: np.ndarray, type_: str) -> np.ndarray:
    """What a tensor core takes an element for, in float64."""
    if type_ == "f16":
        return values.astype(np.float16).astype(np.float64)
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def sums(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[int]:
    """The bits of a·b + c for rows of a and b, as the simulator sums."""
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    found: list[int] = inside(
        "sums", [[[*map(js, one)] for one in (x, y)] + [js(z)] for x, y, z in rows]
    )
    return found


def js(value: float) -> str:
    """A number as JavaScript reads it."""
    return str(value).replace("inf", "Infinity").replace("nan", "NaN")


@pytest.mark.parametrize(
    ("name", "type_", "depth"),
    [("mma tf32", "tf32", 8), ("wgmma tf32", "tf32", 8), ("mma f16 k8", "f16", 8),
     ("mma f16 k16", "f16", 16)],
)  # fmt: skip
def test_sums_are_those_of_an_h200_bit_by_bit(name: str, type_: str, depth: int) -> None:
    with np.errstate(all="ignore"):
        a, b = (as_read(RECORDED[f"{side}{depth}"], type_) for side in "ab")
        c = RECORDED[f"c{depth}"]
        found = sums(a, b, c)
    assert len(found) > 1000
    assert found == RECORDED[name].view(np.uint32).tolist()


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


@settings(max_examples=8, deadline=None)
@given(st.lists(st.floats(allow_nan=False, width=64), min_size=30))
def test_low_bits_are_cut_off_toward_zero(values: list[float]) -> None:
    for value, text in zip(values, inside("towardZero", [*map(js, values)]), strict=True):
        cut = float(text)
        if abs(value) >= 2**128:
            continue
        assert abs(cut) <= abs(value)
        with np.errstate(all="ignore"):
            above = np.nextafter(np.float32(cut), np.float32(np.copysign(np.inf, value)))
        assert abs(float(above)) > abs(value)


@pytest.mark.parametrize(
    ("source", "target", "type_", "depth", "added"),
    [(MMA_TF32, "sm_80", "f32", 8, 0), (MMA_HALF, "sm_75", "f32", 8, 0),
     (HALF, "sm_80", "f16", 16, 1), (HALF, "sm_80", "bf16", 16, 1)],
    ids=["tf32", "f16 of 8 k", "f16 of 16 k", "bf16 of 16 k"],
)  # fmt: skip
def test_whole_numbers_give_their_product(
    source: str, target: str, type_: str, depth: int, added: int
) -> None:
    random = np.random.default_rng(11)
    a, b = (random.integers(-9, 10, shape).astype("f4") for shape in ((16, depth), (depth, 8)))
    stored = {
        "f32": lambda values: values,
        "f16": lambda values: values.astype(np.float16).view(np.uint16),
        "bf16": lambda values: (values.view(np.uint32) >> 16).astype(np.uint16),
    }[type_]
    ptx = ptx_of(source, target, "TYPE=unsigned short", f'NAME="{type_}"')
    args = {"A": stored(a), "B": stored(b), "C": np.zeros((16, 8), np.float32)}
    found = simulate(ptx, "k", (1,), (32,), args).arrays["C"]
    assert np.array_equal(found, a @ b + added)


def test_bytes_of_m8n8k16_give_their_product() -> None:
    source = """extern "C" __global__ void k(const int* A, const int* B, int2* C) {
        int lane = threadIdx.x; int2 c = {1, 1};
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(c.x), "+r"(c.y) : "r"(A[lane]), "r"(B[lane]));
        C[lane] = c; }"""
    random = np.random.default_rng(12)
    a, b_by_column = (random.integers(-128, 128, (8, 16)).astype(np.int8) for _ in "ab")
    args = {"A": a.view(np.int32), "B": b_by_column.view(np.int32), "C": np.zeros((8, 8), np.int32)}
    found = simulate(ptx_of(source, "sm_75"), "k", (1,), (32,), args).arrays["C"]
    assert np.array_equal(found, a.astype(int) @ b_by_column.T.astype(int) + 1)
