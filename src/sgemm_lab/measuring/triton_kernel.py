"""A product in Triton, in FP32, as its language suggests it: tiles by ``tl.dot``, autotuned."""

from typing import Any

import triton
import triton.language as tl
import triton.testing

_TILES = ((32, 32, 64, 2, 3), (64, 64, 32, 4, 3), (128, 64, 32, 4, 3), (128, 128, 16, 8, 3))
"""Rows, columns and depth of a tile, warps, stages."""


def _product(  # type: ignore[no-untyped-def]  # Triton compiles it: its arguments have no types
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    tiles_n = tl.cdiv(N, BN)
    rows = tl.program_id(0) // tiles_n * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % tiles_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        k = first + depth
        a_inside = (rows[:, None] < M) & (k[None, :] < K)
        b_inside = (k[:, None] < K) & (columns[None, :] < N)
        a = tl.load(A + rows[:, None].to(tl.int64) * K + k[None, :], mask=a_inside, other=0.0)
        b = tl.load(B + k[:, None].to(tl.int64) * N + columns[None, :], mask=b_inside, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    c_inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None].to(tl.int64) * N + columns[None, :], acc, mask=c_inside)


def tuned_kernel() -> Any:
    """Return the kernel, which chooses its tile by a trial at each new M, N, K."""
    configs = [
        triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)
        for bm, bn, bk, warps, stages in _TILES
    ]

    def bench(call: Any, quantiles: Any) -> Any:
        return triton.testing.do_bench(call, warmup=2, rep=8, quantiles=quantiles)

    tune = triton.autotune(configs, key=["M", "N", "K"], do_bench=bench)
    return tune(triton.jit(_product))
