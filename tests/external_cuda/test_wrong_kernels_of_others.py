"""Kernels with one bug each: every one is rejected, by the name of what is wrong with it."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import test_unusual_kernels as unusual
from foreign_samples import CASES, Case

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda import Options, Settings, check_file, count_external
from sgemm_lab.external_cuda.prediction_accuracy import seen

RACE = "with no barrier between|nothing orders the two"
OUTSIDE = "which has only|outside|past the end|reads .* of .*, which has|writes .* which has"
NEVER = "nothing wrote|never written|nothing has written"
BARRIER = "do not reach this __syncthreads|wait at this __syncthreads"
CROOKED = "which is not at a multiple of 16 bytes"
ENDLESS = "does not come to an end"
UNSET = "a variable of its own that nothing has written"
WRONG = "is WRONG"
NARROW = "an index has 32 bits here, which are too few"

BUGS: dict[str, list[tuple[str, str, str]]] = {
    "transpose transposeCoalesced": [
        ("    __syncthreads();\n    x = blockIdx.y", "    x = blockIdx.y", RACE),
        ("tile[threadIdx.x][threadIdx.y + j];\n}\n\n__global__ void transposeNoBank",
         "tile[threadIdx.y + j][threadIdx.x];\n}\n\n__global__ void transposeNoBank", WRONG),
        ("    x = blockIdx.y * TILE_DIM + threadIdx.x;\n    y = blockIdx.x * TILE_DIM",
         "    x = blockIdx.x * TILE_DIM + threadIdx.x;\n    y = blockIdx.y * TILE_DIM", OUTSIDE),
    ],
    "transpose transposeNaive": [
        ("odata[x * height + (y + j)]", "odata[x * width + (y + j)]", RACE),
        ("idata[(y + j) * width + x];\n}\n\n__global__ void transposeCoalesced",
         "idata[y * width + x];\n}\n\n__global__ void transposeCoalesced", WRONG),
        ("const int BLOCK_ROWS = 8", "const int BLOCK_ROWS = 16", WRONG),
    ],
    "transpose transposeAny<float, 16> ceil(cols/16) ceil(rows/16) 16 16 in:in:3500": [
        ("if (rr < cols && cc < rows) out", "if (rr < rows && cc < cols) out", NEVER),
        ("if (r < rows && c < cols) tile", "tile", OUTSIDE),
        ("if (rr < cols && cc < rows) out", "out", OUTSIDE),
        ("__shared__ T tile[TILE][TILE + 1]", "__shared__ T tile[TILE][TILE - 1]", OUTSIDE),
        ("out[rr * rows + cc] =", "out[rr * cols + cc] =", OUTSIDE),
    ],
    "reduce reduce0": [
        ("if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];\n        __syncthreads();",
         "if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];", RACE),
        ("if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];\n        __syncthreads();",
         "if (tid % (2 * s) == 0) { sdata[tid] += sdata[tid + s]; __syncthreads(); }", BARRIER),
    ],
    "reduce reduce1": [
        ("if (index < blockDim.x) sdata[index] += sdata[index + s];",
         "sdata[index] += sdata[index + s];", OUTSIDE),
    ],
    "reduce reduce2": [
        ("unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {\n        if (tid < s) sdata[tid] += "
         "sdata[tid + s];\n        __syncthreads();\n    }\n    if (tid == 0) "
         "g_odata[blockIdx.x] = sdata[0];\n}\n\n__global__ void reduce3",
         "unsigned int s = blockDim.x / 2; s > 1; s >>= 1) {\n        if (tid < s) sdata[tid] += "
         "sdata[tid + s];\n        __syncthreads();\n    }\n    if (tid == 0) "
         "g_odata[blockIdx.x] = sdata[0];\n}\n\n__global__ void reduce3", WRONG),
    ],
    "reduce reduce3": [
        ("g_idata[i] + g_idata[i + blockDim.x]", "g_idata[i] + g_idata[i + blockDim.x + 1]",
         OUTSIDE),
        ("blockIdx.x * (blockDim.x * 2) + threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x",
         WRONG),
    ],
    "reduce deviceReduceKernel 1 128": [
        ("if (lane == 0) shared[wid] = val;\n    __syncthreads();",
         "if (lane == 0) shared[wid] = val;", RACE),
        ("for (int offset = warpSize / 2; offset > 0", "for (int offset = warpSize / 4; offset > 0",
         WRONG),
        ("__shfl_down_sync(FULL_MASK, val, offset)", "__shfl_down_sync(FULL_MASK, val, offset, 16)",
         WRONG),
        ("(threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0", "shared[lane]", NEVER),
    ],
    "reduce deviceReduceBlockAtomicKernel 3 128": [
        ("if (threadIdx.x == 0) atomicAdd(out, sum);\n}\n\n__global__ void deviceReduceVector4",
         "if (threadIdx.x == 0) *out += sum;\n}\n\n__global__ void deviceReduceVector4", RACE),
        ("if (threadIdx.x == 0) atomicAdd(out, sum);\n}\n\n__global__ void deviceReduceVector4",
         "atomicAdd(out, sum);\n}\n\n__global__ void deviceReduceVector4", WRONG),
    ],
    "reduce dotProduct": [
        ("while (i != 0) {\n        if (cacheIndex < i) cache[cacheIndex] += cache[cacheIndex + i];"
         "\n        __syncthreads();",
         "while (i != 0) {\n        if (cacheIndex < i) { cache[cacheIndex] += "
         "cache[cacheIndex + i];\n        __syncthreads(); }", BARRIER),
        ("cache[cacheIndex] = temp;\n    __syncthreads();", "cache[cacheIndex] = temp;", RACE),
        ("temp += a[tid] * b[tid];", "temp = a[tid] * b[tid];", WRONG),
    ],
    "reduce maxAndWhere": [
        ("float m = -3.4e38f;", "float m = 100.0f;", WRONG),
        ("where2 < at[threadIdx.x]", "where2 > at[threadIdx.x]", WRONG),
    ],
    "reduce reduceSinglePass": [
        ("__threadfence();", "", RACE),
        ("ticket == gridDim.x - 1", "ticket == 0", NEVER),
    ],
    "scan scan_hillis_steele": [
        ("        __syncthreads();\n    }\n    g_odata[thid] = temp[pout",
         "    }\n    g_odata[thid] = temp[pout", RACE),
        ("pout = 1 - pout;\n        pin = 1 - pout;", "pin = pout;", RACE),
        ("if (thid >= offset)", "if (thid > offset)", WRONG),
    ],
    "scan prescan": [
        ("if (thid == 0) temp[n - 1] = 0;", "", WRONG),
        ("offset >>= 1;\n        __syncthreads();", "offset >>= 1;", RACE),
    ],
    "scan scan_block_shuffle 1 256": [
        ("if (lane >= d) v += o;", "v += o;", WRONG),
        ("if (warp > 0) v += sums[warp - 1];", "v += sums[warp];", WRONG),
        ("sums[lane] = s;\n    }\n    __syncthreads();", "sums[lane] = s;\n    }", RACE),
    ],
    "scan compact_positive": [
        ("base = atomicAdd(count, __popc(votes));", "{ base = *count; *count += __popc(votes); }",
         RACE),
        ("atomicAdd(count, __popc(votes))", "atomicAdd(count, 1)", RACE),
    ],
    "scan bitonic_sort 1 128": [
        ("            __syncthreads();\n        }\n    }\n    val", "        }\n    }\n    val",
         RACE),
        ("bool up = (tid & k) == 0;", "bool up = (tid & k) != 0;", WRONG),
    ],
    "histogram histogram_global": [
        ("atomicAdd(&bins[data[i] % NUM_BINS], 1)", "bins[data[i] % NUM_BINS] += 1", RACE),
        ("if (i < n) atomicAdd(&bins[data", "if (i <= n) atomicAdd(&bins[data", OUTSIDE),
    ],
    "histogram histogram_shared 4": [
        ("local[b] = 0;\n    __syncthreads();", "local[b] = 0;", RACE),
        ("        atomicAdd(&local[data[i] % NUM_BINS], 1);\n    __syncthreads();",
         "        atomicAdd(&local[data[i] % NUM_BINS], 1);", RACE),
        ("for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) local[b] = 0;", "", NEVER),
        ("atomicAdd(&local[data[i] % NUM_BINS], 1);", "local[data[i] % NUM_BINS]++;", RACE),
        ("atomicAdd(&bins[b], local[b]);", "bins[b] += local[b];", RACE),
    ],
    "stencil convolution_1d": [
        ("if (at >= 0 && at < n) acc", "acc", OUTSIDE),
        ("int at = i + j - 3;", "int at = i + j - 4;", WRONG),
    ],
    "stencil stencil_1d": [
        ("    __syncthreads();\n    int result = 0;", "    int result = 0;", RACE),
        ("temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];", "", NEVER),
        ("int temp[BLOCK_SIZE + 2 * RADIUS]", "int temp[BLOCK_SIZE + RADIUS]", OUTSIDE),
    ],
    "rows softmax_block<64>": [
        ("m = red[0];\n    __syncthreads();", "m = red[0];", RACE),
        ("for (int i = threadIdx.x; i < N; i += THREADS) y[i] *= inv;", "", WRONG),
        ("float inv = 1.0f / red[0];", "float inv = 1.0f / red[1];", WRONG),
    ],
    "rows matvec": [
        ("c < cols; c += 32) sum += A", "c + 32 < cols; c += 32) sum += A", WRONG),
        ("if (lane == 0) y[warp] = sum;", "y[warp] = sum;", RACE),
    ],
    "elementwise vectorAdd": [
        ("if (i < numElements) C[i]", "C[i]", OUTSIDE),
        ("C[i] = A[i] + B[i]", "C[i] = A[i] + A[i]", WRONG),
        ("int i = blockDim.x * blockIdx.x + threadIdx.x;\n    if (i < numElements)",
         "int i = threadIdx.x;\n    if (i < numElements)", WRONG),
    ],
    "elementwise elementwise_add_f32x4": [
        ("int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);\n    if (idx < N) {\n        "
         "float4 reg_a", "int idx = 2 * (blockIdx.x * blockDim.x + threadIdx.x);\n    if (idx < N) "
         "{\n        float4 reg_a", CROOKED),
    ],
    "elementwise reverse_static": [
        ("s[t] = d[t];\n    __syncthreads();\n    d[t] = s[tr];", "d[t] = d[tr];", RACE),
        ("tr = n - t - 1;", "tr = n - t;", OUTSIDE),
    ],
    "elementwise saxpy": [
        ("i += blockDim.x * gridDim.x)\n        y[i]", "i += blockDim.x)\n        y[i]", RACE),
        ("y[i] = a * x[i] + y[i];\n}\n\n__global__ void daxpy", "y[i] = a * x[i];\n}\n\n"
         "__global__ void daxpy", WRONG),
    ],
    "misc count_hits": [
        ("if (threadIdx.x == 0) atomicAdd(&g_hits, all);", "atomicAdd(&g_hits, all);", WRONG),
        ("if (threadIdx.x == 0) atomicAdd(&g_hits, all);", "if (threadIdx.x == 0) g_hits += all;",
         RACE),
    ],
    "matmul sgemm_naive ceil(M/16) ceil(N/16) 16 16 at 33x50": [
        ("if (x < M && y < N) {\n        float tmp = 0.0;", "{\n        float tmp = 0.0;", OUTSIDE),
        ("tmp += A[x * K + i] * B[i * N + y];\n        C", "tmp += A[x * K + i] * B[y * N + i];"
         "\n        C", OUTSIDE),
    ],
    "matmul sgemm_shared_mem_block<16>": [
        ("        __syncthreads();\n    }\n    C[threadRow * N + threadCol] = alpha", "    }\n    "
         "C[threadRow * N + threadCol] = alpha", RACE),
        ("        __syncthreads();\n        A += BLOCKSIZE;", "        A += BLOCKSIZE;", RACE),
        ("B += BLOCKSIZE * N;\n        for (int dotIdx", "B += BLOCKSIZE;\n        for (int dotIdx",
         WRONG),
    ],
    "matmul sgemm1DBlocktiling<32": [
        ("As[innerRowA * BK + innerColA]", "As[innerRowA * BM + innerColA]", OUTSIDE),
        ("float threadResults[TM] = {0.0};", "float threadResults[TM];", UNSET),
    ],
    "matmul sgemmVectorize<64": [
        ("As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;", "", NEVER),
        ("innerRowA * K + innerColA * 4])[0];", "innerRowA * K + innerColA * 4 + 1])[0];",
         CROOKED),
    ],
    "matmul MatrixMulKernel ceil(N/16) ceil(N/16) 16 16 at 50": [
        ("ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH", "ph < Width / TILE_WIDTH", WRONG),
        ("ph * TILE_WIDTH + ty < Width && Col < Width\n", "Col < Width\n", OUTSIDE),
        ("if (Row < Width && Col < Width) d_P", "if (Row < Width) d_P", OUTSIDE),
        ("k < TILE_WIDTH; ++k) Pv", "k <= TILE_WIDTH; ++k) Pv", OUTSIDE),
    ],
    "matmul gemm_batched": [
        ("*b = B + batch * K * N", "*b = B", WRONG),
        ("C[batch * M * N + row * N + col] = sum", "C[row * N + col] = sum", RACE),
    ],
    "matmul gemm_split_k": [
        ("atomicAdd(&C[row * N + col], s);", "C[row * N + col] += s;", RACE),
        ("min(K, first + part)", "first + part", OUTSIDE),
    ],
    "wmma wmma_shared": [
        ("        __syncthreads();\n        wmma::load_matrix_sync(a, &As", "        wmma::"
         "load_matrix_sync(a, &As", RACE),
        ("&Bs[0][j * 16], 72)", "&Bs[0][j * 16], 64)", NEVER),
        ("wmma::fill_fragment(c[j], 0.0f);", "", UNSET),
        ("warp * 16) * N + col0 + j * 16]", "warp * 16) * N + col0]", WRONG),
    ],
    "misc encrypt": [
        ("if (i < n) text[i] ^= c_key[i & 15];", "if (i < n) text[i] ^= c_key[i & 31];", OUTSIDE),
    ],
    "misc bodyForce": [
        ("            __syncthreads();\n        }\n        v[i]", "        }\n        v[i]", RACE),
    ],
    "misc gcds": [
        ("return b == 0 ? a : gcd(b, a % b);", "return a == 0 ? a : gcd(b, a);",
         ENDLESS),
    ],
    "misc invert": [
        ("x < image.width && y < image.height", "x <= image.width && y < image.height",
         OUTSIDE),
    ],
}  # fmt: skip


OUTGROWN = [
    (
        "matmul mm_any<float>",
        "    C[row * N + col] = sum;\n}\n\n__global__ void gemm_int8",
        "    C[(int)(row * N + col)] = sum;\n}\n\n__global__ void gemm_int8",
    ),
    (
        "matmul mm_any<double>",
        "sum += A[row * K + i] * B[i * N + col];\n    C[row * N + col] = sum;\n}\n\n"
        "__global__ void gemm_int8",
        "sum += A[row * K + i] * B[(unsigned)(i * N + col)];\n    C[row * N + col] = sum;\n}\n\n"
        "__global__ void gemm_int8",
    ),
]
"""Bugs that no size shows that can be simulated: an index of 32 bits in a kernel for any size."""


def _case(start: str) -> Case:
    return next(case for case in CASES if f"{case.name} {case.args}".startswith(start)
                or case.name.startswith(start))  # fmt: skip


def _every() -> Iterator[tuple[str, str, str, str]]:
    for start, bugs in BUGS.items():
        for old, new, names in bugs:
            yield start, old, new, names


def said(case: Case, old: str = "", new: str = "") -> str:
    """All that the judge says against a kernel, in lockstep or, if that is nothing, by warps."""
    against: list[str] = []
    lockstep = Settings(count_requests=False, time_limit=20)
    for settings in (lockstep, replace(lockstep, schedule="warps", order=2)):
        try:
            done = count_external(case.kernel(old, new), case.size, expect=case.expect,
                                 settings=settings)  # fmt: skip
        except LabError as refused:
            return str(refused)
        against = [*map(str, done.result.hazards), *map(str, done.result.warnings)]
        against += [text for text in done.sentences if "WRONG" in text or "changed" in text]
        if against:
            break
    return "\n".join(against)


WRONG_ONES = [pytest.param(*one, id=f"{one[0]} {number}") for number, one in enumerate(_every())]


def test_there_are_enough() -> None:
    told = seen()
    assert told.wrong_kernels == told.wrong_found == len(WRONG_ONES) + len(unusual.BUGS) >= 120
    assert len({(start, old, new) for start, old, new, _ in _every()}) == len(WRONG_ONES)


@pytest.mark.parametrize(("start", "old", "new", "names"), WRONG_ONES)
@pytest.mark.sampled(every=8)
def test_a_wrong_kernel_is_rejected_by_name(start: str, old: str, new: str, names: str) -> None:
    case = _case(start)
    assert re.search(names, said(case, old, new))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
@pytest.mark.sampled(every=12)
def test_no_right_kernel_is_rejected(case: Case) -> None:
    assert said(case) == ""


@pytest.mark.parametrize(("start", "old", "new"), OUTGROWN)
def test_an_index_that_is_too_narrow_is_told(start: str, old: str, new: str) -> None:
    case = _case(start)
    right, wrong = (
        report.limits
        for kernel in (case.kernel(), case.kernel(old, new))
        for report in check_file(kernel, Options([case.size]))
    )
    assert right == ()
    (found,) = wrong
    assert NARROW in str(found)
    assert f"{case.file}.cu, line " in str(found)
