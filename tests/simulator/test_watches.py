"""What a launch can be watched for, by name."""

from typing import Any

import numpy as np
from golden_launch import Case, in_javascript
from simulator_kernels import ptx_of

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import ENTRY


def watched(name: str, body: str, args: dict[str, Any], blocks: int = 1) -> Any:
    parameters = ", ".join(
        f"{'float' if value.dtype == np.float32 else 'int'}* {array}"
        if isinstance(value, np.ndarray)
        else f"int {array}"
        for array, value in args.items()
    )
    ptx = ptx_of(f'extern "C" __global__ void k({parameters}) {{\n{body}\n}}')
    (found,) = in_javascript([Case("", ptx, "k", (blocks,), (64,), args, 0, {"watch": [name]})])
    return found[name]


def test_written_marks_the_bytes_of_stores_and_atomics() -> None:
    args = {"x": np.zeros(128, np.int32), "y": np.zeros(4, np.int32)}
    body = "if (threadIdx.x < 10) x[2 * threadIdx.x + 1] = 7; atomicAdd(y + 2, x[0]);"
    marks = watched("written", body, args)
    written = {name: np.array([*one.values()]).reshape(-1, 4) for name, one in marks.items()}
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


def test_an_index_of_64_bits_is_not_narrow() -> None:
    args = {"x": np.zeros(64, np.int32)}
    assert watched("widest_indices", "size_t i = blockIdx.x; x[i] = 1;", args, 4) != []
    assert watched("widest_indices", "x[3] = 1;", args, 4) == []


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


def test_lookups_and_wavefronts_of_global_memory() -> None:
    args = {"x": np.zeros(64 * 32, np.float32), "y": np.zeros(64, np.float32)}
    columns = watched("global_pipe", "y[threadIdx.x] = x[32 * threadIdx.x];", args)
    # Each of two warps loads from 32 lines, of which a lookup resolves four, and all of one bank.
    assert columns == {"requests": 4, "wavefronts": 2 * 32 + 2, "lookups": 2 * 8}


def test_copies_and_stores_of_warp_groups() -> None:
    kernel = load_kernel("wgmma_minimal")
    shape = kernel.launch_shape(128, 128, 32, sms=1)
    a = np.tile(np.arange(1, 129, dtype=np.float32)[:, None], (1, 32))
    b = np.tile(-np.arange(1, 129, dtype=np.float32), (32, 1))
    args = book_arguments(shape, a, b)
    options = {"watch": ["tile_moves"], "cooperative": True}
    case = Case("", kernel_ptx(kernel), ENTRY, shape.grid, shape.block, args, shape.shared_bytes,
                options)  # fmt: skip
    (found,) = in_javascript([case])
    moves = found["tile_moves"]
    assert min(one["least"] for one in moves["copies"]) == -128
    assert max(one["largest"] for one in moves["copies"]) == 128
    assert min(one["first"] for one in moves["stores"]) == 0
    assert max(one["last"] for one in moves["stores"]) == 127
