"""Counts per source line against counts by hand."""

import numpy as np
from simulator_kernels import run_gemm, run_warps

from sgemm_lab.simulator import LineCounts


def test_naive_by_hand() -> None:
    # 8 × 8 blocks of 8 × 8 threads: a warp covers 4 rows and 8 columns of C.
    _, result = run_gemm("naive", 64, 64, 64)
    total = result.counts.total
    warps = 64 * 64 // 32
    assert total.global_load_requests == warps * 64 * 2
    # A: 4 rows, one word each: 4 sectors. B: 8 neighbouring words: 1 sector.
    assert total.global_load_sectors == warps * 64 * (4 + 1)
    assert total.global_load_bytes == warps * 64 * 2 * 32 * 4
    assert total.global_store_requests == warps
    assert total.global_store_sectors == warps * 4
    assert total.ffma_thread_instructions == 64**3
    assert total.flop == 2 * 64**3
    assert total.shared_load_requests == total.barriers == 0
    assert total.thread_instructions == 32 * total.warp_instructions
    moved = warps * 32 * (64 * 5 + 4)
    assert result.counts.intensity() == {"global": 2 * 64**3 / moved}


def test_lines_add_up_and_name_the_source() -> None:
    _, result = run_gemm("tiled", 20, 20, 20)
    lines = result.counts.lines
    assert list(lines) == sorted(lines, key=lambda where: (where.file, where.line))
    added = LineCounts()
    for counts in lines.values():
        added.add(counts)
    assert added == result.counts.total
    by_line = {where.line: counts for where, counts in lines.items()}
    barriers = {line for line, counts in by_line.items() if counts.barriers}
    stores = {line for line, counts in by_line.items() if counts.global_store_requests}
    assert barriers == {18, 20}
    assert stores == {22}
    # 3 × 3 blocks, 3 tiles along K.
    assert by_line[18].barriers == by_line[20].barriers == 9 * 3
    assert by_line[19].ffma_thread_instructions == 9 * 64 * 24


def test_columns_as_written_and_as_compiled() -> None:
    source = """
    extern "C" __global__ void k(const float* A, float* C) {
        __shared__ float tile[128];
        int t = threadIdx.x;
        for (int i = 0; i < 4; ++i) tile[t + 32 * i] = A[t + 32 * i];
        __syncthreads();
        float sum = 0.0f;
        for (int i = 0; i < 4; ++i) sum += tile[4 * t + i];
        C[t] = sum;
    }"""
    args = {"A": np.ones(128, dtype=np.float32), "C": np.zeros(32, dtype=np.float32)}
    total = run_warps(source, args).counts.total
    # Four loads with stride 4 (4 wavefronts each), or one 128-bit load of 4 phases.
    assert total.shared_load_requests_as_written == 4
    assert total.shared_load_wavefronts_as_written == 16
    assert total.shared_load_bank_conflicts_as_written == 12
    assert (total.shared_load_requests, total.shared_load_wavefronts) == (1, 4)
    assert total.shared_load_bank_conflicts == 0
    assert total.shared_load_bytes == 512
    assert (total.shared_store_requests, total.shared_store_wavefronts) == (4, 4)
