"""Launches that a file does not tell: assumed for arrays, found by trial for a product."""

from dataclasses import replace
from pathlib import Path

import pytest
from turns import TAKES_TURNS, TODAY

from sgemm_lab.external_cuda.count import count_external
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.launch import ExternalKernel

pytestmark = TAKES_TURNS

TWICE = """__global__ void {bounds} twice(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}}
"""
TILED = """template <int T>
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int row = blockIdx.x * T + threadIdx.y, col = blockIdx.y * T + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = acc;
}
"""


def kernel(source: str, entry: str | None = None, args: str | None = None) -> ExternalKernel:
    return ExternalKernel(Pasted("k.cu", source, Path(), entry), (), (), arguments=args)


@pytest.mark.parametrize(
    ("source", "grid", "block"),
    [
        (TWICE.format(bounds=""), "4", "256"),
        (TWICE.format(bounds="__launch_bounds__(64)"), "16", "64"),
        (TWICE.format(bounds="") + "void run(float* x, float* y, int n, int blocks) "
         "{ twice<<<blocks, 128>>>(x, y, n); }", "8", "128"),
        (TWICE.format(bounds="") + "int main() { float* x; cudaMalloc(&x, 256);"
         "twice<<<2, 128>>>(x, x, 0); }",
         "8", "128"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=2, first=TODAY)
def test_a_thread_for_each_element(source: str, grid: str, block: str) -> None:
    """The block is the file's own where it can be told; the grid fits the longest array."""
    done = count_external(kernel(source, args="x:in:1000 y:out:1000 n=1000"), (1, 1, 1),
                         expect=("y = 2 * x",))  # fmt: skip
    assert not done.wrong
    assert (done.grid, done.block[0]) == ((int(grid),), int(block))
    assert f"Launch, assumed: a grid of {grid} blocks of {block}" in "\n".join(done.sentences)


def test_threads_in_two_dimensions_cover_a_square() -> None:
    source = """__global__ void add(float* x, int n) {
        int col = blockIdx.x * blockDim.x + threadIdx.x;
        int row = blockIdx.y * blockDim.y + threadIdx.y;
        if (row < n && col < n) x[row * n + col] += 1.0f;
    }"""
    given = kernel(source, args="x:inout:2500 n=50")
    done = count_external(given, (1, 1, 1), expect=("x = x + 1",))
    assert not done.wrong
    assert (done.grid, done.block) == ((4, 4), (16, 16))


@pytest.mark.parametrize("tile", [8, 16, 32])
def test_the_launch_of_a_product_is_found_by_trial(tile: int) -> None:
    """Rows along x, which is not usual: the tile is that of the shared arrays."""
    done = count_external(kernel(TILED, f"mm<{tile}>"), (64, 96, 32))
    assert (done.grid, done.block) == ((64 // tile, 96 // tile), (tile, tile))
    assert f"Launch, found by trial: a grid of ceil(M/{tile}) × ceil(N/{tile})" in done.assumed[0]


def test_a_wrong_product_stays_without_a_launch() -> None:
    """No trial is right: then C is not judged."""
    wrong = TILED.replace("acc += As", "acc -= As")
    pasted = Pasted("k.cu", wrong, Path(), "mm<16>")
    done = count_external(ExternalKernel(pasted, (), ("16", "16")), (64, 64, 64))
    assert done.verdicts == ()
    assert done.assumed[0].startswith("No launch that was tried makes C right")


def test_shared_memory_that_nothing_tells_is_as_large_as_it_can_be() -> None:
    source = """__global__ void turn(const float* x, float* y) {
        extern __shared__ float s[];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
    }"""
    given = replace(kernel(source, args="x:in:64 y:out:64"), grid=("1",), block=("64",))
    done = count_external(given, (1, 1, 1), expect=("y = flip(x)",))
    assert not done.wrong
    assert not done.result.hazards
    assert "Dynamic shared memory, assumed: " in "\n".join(done.sentences)
    told = replace(given, shared_bytes="128")
    found = {hazard.kind for hazard in count_external(told, (1, 1, 1)).result.hazards}
    assert "out of bounds" in found


STRIPS = """template <int BM, int BN, int BK, int TM, int TN>
__global__ void mm(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[BM * BK], Bs[BK * BN];
    int t = threadIdx.x, across = t % (BN / TN), down = t / (BN / TN);
    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    float sums[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = 0; i < 4; ++i) {
            int a = t / (BK / 4), k = t % (BK / 4) * 4 + i;
            As[a * BK + k] = A[(row + a) * K + k0 + k];
            int b = t % (BN / 4) * 4 + i, l = t / (BN / 4);
            Bs[l * BN + b] = B[(k0 + l) * N + col + b];
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int y = 0; y < TM; ++y)
                for (int x = 0; x < TN; ++x)
                    sums[y][x] += As[(down * TM + y) * BK + k] * Bs[k * BN + across * TN + x];
        __syncthreads();
    }
    for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x)
            C[(row + down * TM + y) * N + col + across * TN + x] = sums[y][x];
}
"""


def test_tiles_that_names_tell_go_together_and_give_the_block() -> None:
    """Each thread copies four elements of either tile: so the tiles must fit the block."""
    done = count_external(kernel(STRIPS), (128, 128, 16))
    assert done.name == "mm<128, 128, 8, 8, 8>"
    assert done.block == (256,)
    assert not done.wrong
    assert not done.result.hazards
