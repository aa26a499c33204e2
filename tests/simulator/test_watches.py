"""What a launch can be watched for, by name."""

from typing import Any

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import ENTRY
from sgemm_lab.simulator import simulate


def watched(name: str, body: str, args: dict[str, Any], blocks: int = 1) -> Any:
    parameters = ", ".join(
        f"{'float' if value.dtype == np.float32 else 'int'}* {array}"
        if isinstance(value, np.ndarray)
        else f"int {array}"
        for array, value in args.items()
    )
    ptx = ptx_of(f'extern "C" __global__ void k({parameters}) {{\n{body}\n}}')
    return simulate(ptx, "k", (blocks,), (64,), args, watch=[name]).watched[name]


def test_written_marks_the_bytes_of_stores_atomics_and_loads() -> None:
    args = {"x": np.zeros(128, np.int32), "y": np.zeros(4, np.int32)}
    body = "if (threadIdx.x < 10) x[2 * threadIdx.x + 1] = 7; atomicAdd(y + 2, x[0]);"
    marks = watched("written", body, args)
    written = {name: (one & 1).reshape(-1, 4) for name, one in marks.items()}
    assert np.flatnonzero(marks["x"] & 2).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(written["x"].all(axis=1)).tolist() == list(range(1, 20, 2))
    assert written["x"].sum() == 40
    assert written["y"].sum(axis=1).tolist() == [0, 0, 4, 0]


def test_a_narrow_number_of_an_address_is_seen_at_its_largest() -> None:
    args = {"x": np.zeros(1 << 16, np.int32), "n": 300}
    body = "x[threadIdx.x * n + 5] = 1;"
    seen = watched("widest_indices", body, args)
    assert {(one["bits"], one["most"]) for one in seen} == {(32, 2**32 - 1)}
    assert max(one["largest"] for one in seen) == 63 * 300 + 5
    assert {one["location"]["line"] for one in seen} == {2}


def test_stores_of_one_value_do_no_harm_and_others_do() -> None:
    args = {"y": np.zeros(64, np.int32)}
    body = """__shared__ int flag[2];
    if (threadIdx.x % 32 == 0) flag[0] = 1;
    if (threadIdx.x % 32 == 0) flag[1] = threadIdx.x;
    __syncthreads(); y[threadIdx.x] = flag[threadIdx.x & 1];"""
    # Line 4 stores different values, line 5 writes global memory.
    seen = watched("same_values", body, args)
    assert [one["line"] for one in seen] == [4, 5]


def test_each_block_reads_numbers_of_shared_memory_in_order() -> None:
    args = {"y": np.zeros(128, np.float32)}
    body = """__shared__ float s[64];
    s[threadIdx.x] = threadIdx.x / 32 * 10 + blockIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x / 16] + s[threadIdx.x / 16];"""
    found = watched("shared_reads", body, args, 2)
    assert found == [[0, [10]], [1, [11, 1]]]


@pytest.mark.parametrize(
    ("element", "wavefronts", "looked_up"),
    [
        ("t", 1, 1),  # a line
        ("0", 1, 1),  # one word for all
        ("4096 * t", 32, 8),  # a column of a matrix: all in one bank, 32 lines
        ("4093 * t", 1, 8),  # a column where rows end elsewhere: every lane its own bank
        ("t + 16", 1, 1),  # half of one line, half of the next
    ],
)
def test_wavefronts_and_lookups_of_global_loads(
    element: str, wavefronts: int, looked_up: int
) -> None:
    args = {"x": np.zeros(4096 * 64, np.float32), "y": np.zeros(64, np.float32)}
    found = watched("global_pipe", f"int t = threadIdx.x; y[t] = x[{element}];", args)
    # Of two warps, each with a store of one wavefront.
    assert found == {"requests": 4, "wavefronts": 2 * (wavefronts + 1), "lookups": 2 * looked_up}


def test_copies_and_stores_of_warp_groups() -> None:
    kernel = load_kernel("wgmma_minimal")
    shape = kernel.launch_shape(128, 128, 32, sms=1)
    a = np.tile(np.arange(1, 129, dtype=np.float32)[:, None], (1, 32))
    b = np.tile(-np.arange(1, 129, dtype=np.float32), (32, 1))
    args = book_arguments(shape, a, b)
    moves = simulate(
        kernel_ptx(kernel), ENTRY, shape.grid, shape.block, args, shape.shared_bytes,
        watch=["tile_moves"], cooperative=True,
    ).watched["tile_moves"]  # fmt: skip
    assert min(one["least"] for one in moves["copies"]) == -128
    assert max(one["largest"] for one in moves["copies"]) == 128
    assert min(one["first"] for one in moves["stores"]) == 0
    assert max(one["last"] for one in moves["stores"]) == 127
