"""Throwaway kernels for the simulator's tests, and a way to compile and run them."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sgemm_lab.cuda.compiler import load_nvrtc
from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result, simulate

NAIVE = """
extern "C" __global__ void naive(const float* A, const float* B, float* C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}
"""

TILED = """
#ifndef FIRST_BARRIER
#define FIRST_BARRIER __syncthreads();
#endif
#ifndef SECOND_BARRIER
#define SECOND_BARRIER __syncthreads();
#endif
constexpr int T = 8;
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T];
    __shared__ float Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = col < N && k0 + ty < K ? B[(k0 + ty) * N + col] : 0.0f;
        FIRST_BARRIER
        for (int k = 0; k < T; ++k) acc += As[ty][k] * Bs[k][tx];
        SECOND_BARRIER
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
"""

DYNAMIC_STRIP = """
constexpr int T = 8;
extern "C" __global__ void strip(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ float strips[];
    float* As = strips;
    float* Bs = strips + T * K;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    for (int k = tx; k < K; k += T) As[ty * K + k] = row < M ? A[row * K + k] : 0.0f;
    for (int k = ty; k < K; k += T) Bs[k * T + tx] = col < N ? B[k * N + col] : 0.0f;
    __syncthreads();
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += As[ty * K + k] * Bs[k * T + tx];
    if (row < M && col < N) C[row * N + col] = acc;
}
"""

THREAD_TILE = """
constexpr int BM = 32, BN = 64, BK = 8, TM = 4, TN = 8, THREADS = BM * BN / (TM * TN);
__device__ float4 load4(const float* row, int index, int count) {
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (index + 3 < count && count % 4 == 0) {
        v = *reinterpret_cast<const float4*>(row + index);
    } else {
        if (index < count) v.x = row[index];
        if (index + 1 < count) v.y = row[index + 1];
        if (index + 2 < count) v.z = row[index + 2];
        if (index + 3 < count) v.w = row[index + 3];
    }
    return v;
}
extern "C" __global__ void __launch_bounds__(THREADS)
thread_tile(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[2][BK][BM];
    __shared__ __align__(16) float Bs[2][BK][BN];
    int tid = threadIdx.x, tm = tid / (BN / TN) * TM, tn = tid % (BN / TN) * TN;
    int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
    float acc[TM][TN] = {};
    int buffer = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        int r = tid / 2, k = tid % 2 * 4;
        float4 a = make_float4(0.f, 0.f, 0.f, 0.f);
        if (blockRow + r < M && r < BM) a = load4(A + size_t(blockRow + r) * K, k0 + k, K);
        if (r < BM) {
            As[buffer][k][r] = a.x; As[buffer][k + 1][r] = a.y;
            As[buffer][k + 2][r] = a.z; As[buffer][k + 3][r] = a.w;
        }
        for (int i = tid * 4; i < BK * BN; i += THREADS * 4) {
            float4 b = make_float4(0.f, 0.f, 0.f, 0.f);
            if (k0 + i / BN < K) b = load4(B + size_t(k0 + i / BN) * N, blockCol + i % BN, N);
            *reinterpret_cast<float4*>(&Bs[buffer][i / BN][i % BN]) = b;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += As[buffer][kk][tm + i] * Bs[buffer][kk][tn + j];
        buffer ^= 1;
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (blockRow + tm + i < M && blockCol + tn + j < N)
                C[size_t(blockRow + tm + i) * N + blockCol + tn + j] = acc[i][j];
}
"""

ASYNC = """
#ifndef WAIT
#define WAIT asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
constexpr int T = 8;
__device__ void copy4(float* to, const float* from, bool inside) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    int bytes = inside ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(address), "l"(from), "r"(bytes) : "memory");
}
extern "C" __global__ void async(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[2][T][T];
    __shared__ float Bs[2][T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    int tiles = (K + T - 1) / T;
    auto fetch = [&](int tile) {
        int ka = tile * T + tx, kb = tile * T + ty;
        bool a = row < M && ka < K, b = col < N && kb < K;
        copy4(&As[tile & 1][ty][tx], a ? A + row * K + ka : A, a);
        copy4(&Bs[tile & 1][ty][tx], b ? B + kb * N + col : B, b);
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    float acc = 0.0f;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        WAIT
        __syncthreads();
        if (tile + 1 < tiles) fetch(tile + 1);
        for (int k = 0; k < T; ++k) acc += As[tile & 1][ty][k] * Bs[tile & 1][k][tx];
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
"""

# Loads A (16 × 16) and B (16 × 8, row-major) with ldmatrix, multiplies, stores C.
LDMATRIX_16_BIT = """
extern "C" __global__ void k(const TYPE* A, const TYPE* B, float* C) {
    __shared__ __align__(16) TYPE As[16][16];
    __shared__ __align__(16) TYPE Bs[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) As[i / 16][i % 16] = A[i];
    for (int i = lane; i < 128; i += 32) Bs[i / 8][i % 8] = B[i];
    __syncthreads();
    unsigned a[4], b[2];
    unsigned from = (unsigned)__cvta_generic_to_shared(&As[lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
    from = (unsigned)__cvta_generic_to_shared(&Bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(from));
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) C[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
"""

MMA_TF32 = """
extern "C" __global__ void k(const float* A, const float* B, float* C) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(A[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(B[(t + i * 4) * 8 + g]);
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}
"""

MMA_HALF = """
__device__ unsigned halves(float low, float high) {
    unsigned word;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(word) : "f"(low), "f"(high));
    return word;
}
extern "C" __global__ void k(const float* A, const float* B, float* C) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[2], b;
    for (int i = 0; i < 2; ++i) {
        const float* row = A + (g + i * 8) * 8;
        a[i] = halves(row[2 * t], row[2 * t + 1]);
    }
    b = halves(B[2 * t * 8 + g], B[(2 * t + 1) * 8 + g]);
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
    for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}
"""


GEMMS: dict[str, tuple[str, tuple[int, int], tuple[int, int], str]] = {
    # name: source, rows and columns of C per block, threads per block, oldest target
    "naive": (NAIVE, (8, 8), (8, 8), "sm_75"),
    "tiled": (TILED, (8, 8), (8, 8), "sm_75"),
    "strip": (DYNAMIC_STRIP, (8, 8), (8, 8), "sm_75"),
    "thread_tile": (THREAD_TILE, (32, 64), (64, 1), "sm_75"),
    "async": (ASYNC, (8, 8), (8, 8), "sm_80"),
}

# With "by" above 0 a warp writes past the end of its shared array.
SHIFTED_STORE = """
extern "C" __global__ void k(int* C, int by) {
    __shared__ int tile[32];
    tile[threadIdx.x + by] = threadIdx.x;
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}"""

# Each half of the block fills its part of a tile, and the two halves meet at different lines.
TWO_BRANCHES = """
extern "C" __global__ void k(float* C, int parts) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int turn = 0; turn < 3; ++turn) {
        if (t % parts < parts / 2) {
            tile[t] = C[t] + turn;
            __syncthreads();
            sum += tile[127 - t];
            FIRST_ONLY
        } else {
            tile[t] = 2.0f * C[t] + turn;
            __syncthreads();
            sum -= tile[127 - t];
        }
        LAST_BARRIER
    }
    C[t] = sum;
}"""

NAMED = """
extern "C" __global__ void k(float* C) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = C[t];
        asm volatile("bar.sync %0, %1;" :: "r"(1 + GROUP), "r"(THREADS) : "memory");
        C[t] = tile[t ^ DISTANCE];
    } else {
        C[t] = -1.0f;
    }
}"""

# A producer warp copies stages of 64 floats; a consumer warp adds them up and gives them back.
PIPELINE = """
#ifndef FULL_WAIT
#define FULL_WAIT wait(full + 8 * stage, round & 1);
#endif
#ifndef EMPTY_WAIT
#define EMPTY_WAIT wait(empty + 8 * stage, (round & 1) ^ 1);
#endif
#ifndef BYTES
#define BYTES 256
#endif
constexpr int STAGES = 2;
__device__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p;\\n"
                 "LAB_WAIT:\\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"
                 "@p bra DONE;\\n bra LAB_WAIT;\\n DONE:\\n }" :: "r"(bar), "r"(parity) : "memory");
}
extern "C" __global__ void k(const float* A, float* C, int turns) {
    __shared__ __align__(128) float tile[STAGES][64];
    __shared__ unsigned long long bars[2 * STAGES];
    unsigned full = __cvta_generic_to_shared(bars), empty = full + 8 * STAGES;
    unsigned start = __cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full + 8 * s));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(empty + 8 * s));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x / 32 == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int turn = 0; turn < turns; ++turn) {
                int stage = turn % STAGES, round = turn / STAGES;
                EMPTY_WAIT
                asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                             :: "r"(full + 8 * stage), "r"(BYTES) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0], [%1], %2, [%3];"
                             :: "r"(start + 256 * stage), "l"(A + 64 * turn), "r"(256),
                                "r"(full + 8 * stage) : "memory");
            }
        }
    } else {
        float sum = 0.0f;
        for (int turn = 0; turn < turns; ++turn) {
            int stage = turn % STAGES, round = turn / STAGES, lane = threadIdx.x % 32;
            FULL_WAIT
            sum += tile[stage][lane] * (turn + 1) - tile[stage][lane + 32];
            asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }"
                         :: "r"(empty + 8 * stage) : "memory");
        }
        C[blockIdx.x * 32 + threadIdx.x % 32] = sum;
    }
}"""


@lru_cache(maxsize=256)
def compile_for(source: str, target: str = "sm_90", options: tuple[str, ...] = ()) -> Any:
    """PTX text for a ``compute_`` target, machine code for an ``sm_`` one."""
    try:
        nvrtc = load_nvrtc()
    except LabError as error:
        pytest.skip(str(error))
    program = nvrtc.createProgram(source, "test.cu", (), ())
    defaults = ("-std=c++17", "-lineinfo", "--device-as-default-execution-space")
    try:
        nvrtc.compileProgram(program, (f"-arch={target}", *defaults, *options))
        if target.startswith("compute"):
            return nvrtc.getPTX(program).decode().rstrip("\0")
        # CuPy takes the last byte for a string's end, but machine code has none.
        return nvrtc.getCUBIN(program) + b"\0"
    finally:
        nvrtc.destroyProgram(program)


def ptx_of(source: str, target: str = "sm_90", *defines: str) -> str:
    """PTX of a source, for example with ``"T=4"`` defined."""
    options = tuple(f"-D{define}" for define in defines)
    return str(compile_for(source, target.replace("sm_", "compute_"), options))


def gemm_inputs(m: int, n: int, k: int, seed: int = 0) -> dict[str, Any]:
    """The book's arguments, with C full of NaN."""
    random = np.random.default_rng(seed)
    return {
        "A": random.uniform(-0.5, 0.5, (m, k)).astype(np.float32),
        "B": random.uniform(-0.5, 0.5, (k, n)).astype(np.float32),
        "C": np.full((m, n), np.nan, dtype=np.float32),
        "M": m,
        "N": n,
        "K": k,
    }


def run_gemm(
    name: str,
    m: int,
    n: int,
    k: int,
    *,
    target: str = "sm_90",
    defines: tuple[str, ...] = (),
    seed: int = 0,
    **options: Any,
) -> tuple[dict[str, Any], Result]:
    """Simulate one of ``GEMMS``; gives its arguments and the result."""
    source, (rows, columns), block, _ = GEMMS[name]
    args = gemm_inputs(m, n, k, seed)
    result = simulate(
        ptx_of(source, target, *defines),
        name,
        (-(-n // columns), -(-m // rows)),
        block,
        args,
        shared_bytes=2 * 8 * k * 4 if name == "strip" else 0,
        unwritten=["C"],
        **options,
    )
    return args, result


def run_warps(source: str, args: dict[str, Any], threads: int = 32, **options: Any) -> Result:
    """Simulate one block of the kernel ``k`` of a source."""
    return simulate(ptx_of(source), "k", (1,), (threads,), args, **options)


def words(*values: int) -> npt.NDArray[np.int32]:
    return np.array(values, dtype=np.int32)
