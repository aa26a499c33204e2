"""The file's own main is followed: what it launches, compares and prints."""

from pathlib import Path

import pytest

from sgemm_lab.external_cuda import check_file, read_kernel
from sgemm_lab.external_cuda.program import Program, follow_program

SCALE = """
#include <cstdio>
__global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
int main() {
    const int n = 1000;
    float *h = new float[n], *r = new float[n];
    for (int i = 0; i < n; i++) h[i] = i;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 127) / 128, 128>>>(x, y, n);
    cudaMemcpy(r, y, n * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i++) bad += r[i] != 2 * h[i];
    printf("%d bad\\n", bad);
    return bad != 0;
}
"""

LINES = """
#include <cstdio>
__global__ void count(const char *text, int n, int *found) {
    int stride = blockDim.x * gridDim.x, c = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c += text[i] == 'a';
    if (c) atomicAdd(found, c);
}
int main() {
    char *text; int *found, h;
    cudaMalloc(&text, 5000);
    cudaMalloc(&found, sizeof(int));
    cudaMemset(text, 'a', 5000);
    cudaMemset(found, 0, sizeof(int));
    count<<<4, 128>>>(text, 5000, found);
    cudaMemcpy(&h, found, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d letters (expected 5000)\\n", h);
}
"""

TABLE = """
#include <cstdio>
#define ROWS 600000
#define DIM 4096
__global__ void gather(const signed char *table, const int *ids, float *out) {
    size_t base = (size_t)ids[blockIdx.x] * DIM;
    for (int d = threadIdx.x; d < DIM; d += blockDim.x)
        out[blockIdx.x * DIM + d] = table[base + d];
}
int main() {
    int h[4] = {0, 7, 524999, 599999}, *ids;
    signed char *table; float *out;
    cudaMalloc(&table, (size_t)ROWS * DIM);
    cudaMalloc(&ids, sizeof(h));
    cudaMalloc(&out, 4 * DIM * sizeof(float));
    cudaMemset(table, 3, (size_t)ROWS * DIM);
    cudaMemcpy(ids, h, sizeof(h), cudaMemcpyHostToDevice);
    gather<<<4, 256>>>(table, ids, out);
    cudaDeviceSynchronize();
}
"""

MARK = """
__global__ void mark(int *level, int n, int now) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n || level[i] != now) return;
    if (level[(i + 1) % n] == -1) level[(i + 1) % n] = now + 1;
}
int main() {
    int h[300], *d;
    for (int &x : h) x = -1;
    h[5] = h[40] = 0;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    for (int now = 0; now < 3; now++) mark<<<2, 256>>>(d, 300, now);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    return h[8] != 3;
}
"""

MARK_VARIABLE = (
    MARK.replace("__global__", "__device__ int level[300];\n__global__")
    .replace("int *level, ", "")
    .replace("(d, 300", "(300")
    .replace("cudaMemcpy(d, h,", "cudaMemcpyToSymbol(level, h,")
    .replace("sizeof(h), cudaMemcpyHostToDevice", "sizeof(h)")
    .replace("cudaMemcpy(h, d,", "cudaMemcpyFromSymbol(h, level,")
    .replace("sizeof(h), cudaMemcpyDeviceToHost", "sizeof(h)")
)


def followed(folder: Path, text: str) -> Program:
    path = folder / "file.cu"
    path.write_text(text, encoding="utf-8")
    return follow_program(read_kernel(path).pasted)


def errors(program: Program) -> list[str]:
    every = [one for found in program["findings"].values() for one in found]
    assert all(one["severity"] != "warning" for one in every)
    return [one["message"] for one in every if one["severity"] == "error"]


PARTS = """
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__device__ int parts[40];
__device__ unsigned arrived;
__device__ int add(cg::thread_block_tile<32> tile, int a) {
    for (int by = 16; by; by /= 2) a += tile.shfl_down(a, by);
    return a;
}
__global__ void sum(const int *x, int *result) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int all = add(tile, x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x) return;
    parts[blockIdx.x] = all;
    __threadfence();
    if (atomicAdd(&arrived, 1u) < gridDim.x - 1) return;
    __threadfence();
    all = 0;
    for (int i = 0; i < gridDim.x; i++) all += parts[i];
    *result = all;
}
int main() {
    int h[1280], *x, *result, made;
    for (int i = 0; i < 1280; i++) h[i] = i % 7;
    cudaMalloc(&x, sizeof(h));
    cudaMalloc(&result, 4);
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    sum<<<40, 32>>>(x, result);
    cudaMemcpy(&made, result, 4, cudaMemcpyDeviceToHost);
    printf("blocks 40 sum %d\\n", made);
}
"""

HALVES = """
#include <cuda_fp16.h>
#include <cstdio>
#include <vector>
__global__ void twice(__half *x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);
}
int main() {
    std::vector<__half> h(64);
    for (int i = 0; i < 64; i++) h[i] = (float)i;
    __half *x;
    cudaMalloc(&x, 128);
    cudaMemcpy(x, h.data(), 128, cudaMemcpyHostToDevice);
    twice<<<1, 64>>>(x, 64);
    cudaMemcpy(h.data(), x, 128, cudaMemcpyDeviceToHost);
    printf("%f\\n", (float)h[5]);
}
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long is given up sooner than for a reader."""
    monkeypatch.setattr("sgemm_lab.external_cuda.program.SECONDS", 1.0)


OWN_SHARED = """
#include <cstdio>
__global__ void __launch_bounds__(128) turn(int *x) {
    __shared__ int own[512];
    extern __shared__ char flags[];
    int t = threadIdx.x;
    own[t] = x[t];
    flags[2 * t] = t & 1;
    __syncthreads();
    int last = blockDim.x - 1 - t;
    x[t] = own[last] + flags[2 * last];
}
int main() {
    cudaFuncAttributes limits;
    int *x, h[128], grid, best;
    cudaFuncGetAttributes(&limits, turn);
    cudaOccupancyMaxPotentialBlockSize(&grid, &best, turn, 0, 0);
    cudaMalloc(&x, sizeof(h));
    for (int i = 0; i < 128; i++) h[i] = i;
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    turn<<<1, limits.maxThreadsPerBlock, 2 * 128>>>(x);
    turn<<<1, best, 2 * 128>>>(x);
    cudaMemcpy(h, x, sizeof(h), cudaMemcpyDeviceToHost);
    printf("%d\\n", h[5]);
}
"""

LARGE = SCALE.replace("n = 1000;", "n = 1 << 24;")


@pytest.mark.parametrize(
    "text", [SCALE, LINES, TABLE, MARK, MARK_VARIABLE, PARTS, HALVES, OWN_SHARED]
)
def test_nothing_is_found_in_a_right_program(tmp_path: Path, text: str) -> None:
    program = followed(tmp_path, text)
    assert not program["stopped"]
    assert errors(program) == []


@pytest.mark.parametrize(
    ("text", "right", "wrong", "says"),
    [
        (SCALE, "(n + 127) / 128", "n / 128", "element 896 of r, a copy of y. Nothing has written"),
        (SCALE, "(n + 127) / 128", "n / 128", "104 bad"),
        (SCALE, "i < n)", "i <= n)", "element 1000 of x, which has 1000 elements"),
        (SCALE, "2.0f * x[i]", "x[i] + x[i / 2]", "ends with status 1"),
        (SCALE, "/ 128, 128>>>", "/ 128, 2048>>>", "a block of 2048 threads is too large"),
        (
            SCALE,
            "__global__ void",
            "__global__ void __launch_bounds__(64)",
            "Line 15: scale is not",
        ),
        (SCALE, "128>>>", "128, 50000>>>", "need cudaFuncSetAttribute"),
        (OWN_SHARED, ", 2 * 128", ", 47 * 1024", "with 2048 of its own arrays"),
        (SCALE, "scale<<<(n + 127) / 128, 128>>>(x,", "scale<<<8, 128>>>(h,", "of the host"),
        (SCALE, "(r, y, n * sizeof(float)", "(r, y, n * 8", "takes 8000 bytes of r"),
        (LINES, "blockDim.x * gridDim.x", "blockDim.x", "letters (expected 5000)"),
        (TABLE, "size_t base = (size_t)", "int base = ", "element -"),
        (PARTS, "    __threadfence();\n", "", "reads parts[0], which thread 0 of block 0 accesses"),
        (
            HALVES,
            "vector<__half> h",
            "vector<float> h",
            "Line 13: The copy puts elements of type float",
        ),
        (MARK, "level[i] != now", "level[i] < 0", "accesses at line"),
    ],
)
def test_what_the_program_comes_to_is_an_error(
    tmp_path: Path, text: str, right: str, wrong: str, says: str
) -> None:
    assert right in text
    found = errors(followed(tmp_path, text.replace(right, wrong)))
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    ("says", "is_wrong"),
    [
        ('"in 629 bad %d", bad', False),
        ('"size %d bad=%d", 4, bad', False),
        ('"0 errors %d", n', False),
        ('"%d bad", bad + 1', True),
        ('"n=%d bad: %d", 0, 3', True),
        ('"0 bad, errors 2"', True),
    ],
)
def test_what_a_program_counts_is_read_with_its_word(
    tmp_path: Path, says: str, is_wrong: bool
) -> None:
    program = followed(tmp_path, SCALE.replace('"%d bad\\n", bad', says))
    assert bool(errors(program)) == is_wrong


@pytest.mark.usefixtures("impatient")
def test_a_seed_is_no_size(tmp_path: Path) -> None:
    text = LARGE.replace("int bad = 0;", "int bad = 0; srand(70000);")
    assert "n is 65,536" in followed(tmp_path, text)["sizes"]


@pytest.mark.usefixtures("impatient")
def test_constants_that_are_made_smaller_are_named(tmp_path: Path) -> None:
    program = followed(tmp_path, LARGE.replace("2.0f * x[i]", "x[i] + x[i / 2]"))
    assert "n is 65,536 for 16,777,216" in program["sizes"]
    assert any("ends with status 1" in one for one in errors(program))


@pytest.mark.usefixtures("impatient")
def test_constants_with_numbers_that_depend_on_them_stay(tmp_path: Path) -> None:
    text = LARGE.replace("int bad = 0;", "int bad = 0, last = 16000000;")
    program = followed(tmp_path, text)
    assert program["stopped"]
    assert not program["sizes"]


def test_a_program_that_fills_no_array_says_nothing_of_what_kernels_read(tmp_path: Path) -> None:
    text = SCALE.replace("cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);", "")
    program = followed(tmp_path, text)
    assert errors(program) == []
    assert program["isSketch"]


LIBRARY = """
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <vector>
template <typename T> struct Scaled {
    T by;
    T operator()(T x) const { return by * x; }
};
struct Pair { float *to; long count; };
__constant__ float factor;
template <int N> __global__ void scale(const float *x, Pair p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) p.to[i] = N * factor * x[i];
}
int main() {
    std::mt19937 engine(1);
    std::uniform_int_distribution<int> numbers(1, 6);
    std::vector<float> h(1000), r(h.size());
    for (auto &one : h) one = numbers(engine);
    float *x, *y, two = 2;
    size_t bytes = h.size() * sizeof(float);
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMemcpyToSymbol(factor, &two, sizeof(two));
    cudaMemcpy(x, h.data(), bytes, cudaMemcpyHostToDevice);
    auto begun = std::chrono::steady_clock::now();
    auto launch = [&](dim3 grid) { scale<3><<<grid, 128>>>(x, Pair{y, 1000}); };
    launch(8);
    cudaMemcpy(r.data(), y, bytes, cudaMemcpyDeviceToHost);
    std::map<bool, int> found;
    for (size_t i = 0; i < h.size(); i++) found[r[i] == Scaled<float>{6}(h[i])]++;
    std::ofstream("times.txt") << (std::chrono::steady_clock::now() - begun).count();
    long hash = 6364136223846793005L * 3;
    printf("%d %ld %zu %.1Lf\\n", 7, hash, bytes, (long double)0.5);
    std::cout << found[false] << " wrong" << std::endl;
    return found[true] != 1000;
}
"""


def test_host_code_has_the_libraries_of_c_and_cpp(tmp_path: Path) -> None:
    program = followed(tmp_path, LIBRARY)
    assert errors(program) == []
    hash_ = (6364136223846793005 * 3 + 2**63) % 2**64 - 2**63
    assert (program["printed"], program["status"]) == ([f"7 {hash_} 4000 0.5", "0 wrong"], 0)


def test_long_has_as_many_bytes_as_for_cuda(tmp_path: Path) -> None:
    text = """
#include <cstdio>
__global__ void add(long *x, size_t more) { x[threadIdx.x] += more; }
int main() {
    long h[4] = {1L << 40, 2, 3, 4}, *d;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    add<<<1, 4>>>(d, (size_t)3 << 32);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    char said[64];
    sprintf(said, "%ld %d", h[0], 5);
    return h[1] != (3L << 32) + 2 || strcmp(said, "1112396529664 5") || sizeof(size_t) != 8;
}
"""
    program = followed(tmp_path, text)
    assert not program["stopped"]
    assert errors(program) == []


STREAMS = """
#include <cstdio>
__global__ void fill(int *x) { x[threadIdx.x] = threadIdx.x; }
__global__ void twice(const int *x, int *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
int main() {
    int *x, *y, *h, bad = 0;
    cudaStream_t one, other;
    cudaEvent_t filled;
    cudaStreamCreate(&one);
    cudaStreamCreate(&other);
    cudaEventCreate(&filled);
    cudaMalloc(&x, 256);
    cudaMalloc(&y, 256);
    cudaMallocHost(&h, 256);
    fill<<<1, 64, 0, one>>>(x);
    cudaEventRecord(filled, one);
    cudaStreamWaitEvent(other, filled, 0);
    twice<<<1, 64, 0, other>>>(x, y);
    cudaMemcpyAsync(h, y, 256, cudaMemcpyDeviceToHost, other);
    cudaStreamSynchronize(other);
    for (int i = 0; i < 64; i++) bad += h[i] != 2 * i;
    printf("%d bad\\n", bad);
    return bad != 0;
}
"""


@pytest.mark.parametrize(
    ("missing", "line", "says"),
    [
        ("", 0, ""),
        (
            "    cudaStreamWaitEvent(other, filled, 0);\n",
            18,
            "Nothing makes the launch of twice in line 18 wait for the launch of fill in line 15",
        ),
        (
            "    cudaStreamSynchronize(other);\n",
            19,
            "The host does not wait for the copy of line 19",
        ),
    ],
)
def test_a_missing_wait_is_named(tmp_path: Path, missing: str, line: int, says: str) -> None:
    assert missing in STREAMS
    text = STREAMS.replace(missing, "\n" if missing else "")
    found = errors(followed(tmp_path, text))
    if not missing:
        assert found == []
        return
    assert any(one.startswith(f"Line {line}: {says}") for one in found), found


UNCHECKED = STREAMS.replace("bad += h[i] != 2 * i", "bad += h[i]").replace("bad != 0", "0")
UNCHECKED = UNCHECKED.replace("%d bad", "sum %d")


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        ("(filled, one)", "(filled, other)", '" or "sum 4032"'),
        # Who waits for the first stream first need not see that the other was earlier.
        (
            "cudaStreamSynchronize(other)",
            "cudaStreamSynchronize(one), cudaStreamSynchronize(other)",
            "thread 0 of block 0 reads x[0], which nothing has written",
        ),
    ],
)
def test_an_order_that_nothing_ensures_shows_without_a_comparison(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    text = UNCHECKED
    if right:
        assert right in text
        text = text.replace(right, wrong).replace("(other, filled, 0)", "(one, filled, 0)")
    found = errors(followed(tmp_path, text))
    if not says:
        assert found == []
        return
    assert any("Nothing makes" in one and says in one for one in found), found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("y[3] = 1;", "Line 17: Host code uses y, which lies in the memory of the device."),
        ("h[n] = 1;", "Host code writes behind the end of an array of 4,000 bytes."),
        ("cudaFree(y);", "uses y, which has been freed"),
        ("abort();", "ends with status 134"),
    ],
)
def test_faults_of_the_host_are_errors(tmp_path: Path, line: str, says: str) -> None:
    text = SCALE.replace("int bad = 0;", f"int bad = 0; {line}")
    assert text != SCALE
    if "Free" in line:
        text = text.replace(line, "").replace("cudaMemcpy(r,", f"{line} cudaMemcpy(r,")
    found = errors(followed(tmp_path, text))
    assert any(says in one for one in found), found


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("for (int i = 0; ; i += 2) if (i == 1) break;", "it takes too long"),
        ("cudnnCreate(0);", "line 17 needs a library, which is not followed"),
        ("extern void elsewhere(); elsewhere();", "it calls elsewhere()"),
    ],
)
def test_why_a_program_is_not_followed_is_said(tmp_path: Path, line: str, says: str) -> None:
    program = followed(tmp_path, SCALE.replace("int bad = 0;", f"int bad = 0; {line}"))
    assert says in program["stopped"]
    assert errors(program) == []


BUFFER = """
#include <cstdio>
#define TRY(call) if ((call) != cudaSuccess) printf("%s\\n", cudaGetErrorString(cudaGetLastError()))
struct Buffer {
    float *at;
    int size;
    explicit Buffer(int n) : at(nullptr), size(n) { TRY(cudaMalloc(&at, n * sizeof(float))); }
    void release() { TRY(cudaFree(at)); }
    __device__ bool has(int i) const { return i < size; }
};
__global__ void clear(Buffer b) {
    if (b.has(threadIdx.x)) b.at[threadIdx.x] = 0;
}
int main() {
    Buffer b(100);
    clear<<<1, 128>>>(b);
    b.release();
    clear<<<1, 128>>>(b);
}
"""


def test_a_struct_of_a_kernel_may_have_members_for_the_host(tmp_path: Path) -> None:
    (found,) = errors(followed(tmp_path, BUFFER))
    line = BUFFER[: BUFFER.rindex("clear<<<")].count("\n") + 1
    assert found.startswith(f"Line {line}: clear is given ")
    assert found.endswith("which has been freed.")


MANAGED = """
#include <cstdio>
__managed__ int total;
__global__ void add(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, 1);
}
int main() {
    total = 5;
    add<<<2, 64>>>(100);
    cudaDeviceSynchronize();
    printf("%d\\n", total);
}
"""


def test_host_and_kernel_share_a_managed_variable(tmp_path: Path) -> None:
    program = followed(tmp_path, MANAGED)
    assert (program["printed"], program["status"]) == (["105"], 0)


VARIABLES = """
#include <cstdio>
struct Window { int first, last; };
__constant__ Window window;
static __constant__ float gain;
__constant__ float bias[4] = {};
__device__ float scale[2], off = 0;
__device__ unsigned total, most;
__global__ void moved(const float *x, float *y) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    y[t] = tile[t % window.last] * gain + bias[t % 4] + tile[window.first - 1] * scale[t % 2] + off;
    atomicAdd(x[t] > 90 ? &most : &total, 1 + most);
}
int main() {
    Window w = {1, 64};
    float h[64], *x, *y, *at;
    for (int i = 0; i < 64; i++) h[i] = i;
    cudaMalloc(&x, sizeof(h));
    cudaMalloc(&y, sizeof(h));
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(window, &w, sizeof(w));
    cudaMemcpyToSymbol(gain, h + 2, sizeof(float));
    cudaGetSymbolAddress((void**)&at, scale);
    cudaMemset(at, 0, 2 * sizeof(float));
    moved<<<1, 64>>>(x, y);
    cudaMemcpy(h, y, sizeof(h), cudaMemcpyDeviceToHost);
    printf("%f\\n", h[5]);
}
"""


@pytest.mark.parametrize(
    ("unset", "name"),
    [
        ("", ""),
        ("cudaMemcpyToSymbol(gain, h + 2, sizeof(float));", "gain"),
        ("cudaMemcpyToSymbol(window, &w, sizeof(w));", "window"),
        (
            " cudaGetSymbolAddress((void**)&at, scale);\n    cudaMemset(at, 0, 2 * sizeof(float));",
            "scale",
        ),
    ],
)
def test_a_variable_that_nothing_sets_is_named(tmp_path: Path, unset: str, name: str) -> None:
    assert unset in VARIABLES
    path = tmp_path / "file.cu"
    path.write_text(VARIABLES.replace(unset, ""), encoding="utf-8")
    (report,) = check_file(read_kernel(path))
    found = [one.message for one in report.findings if one.severity == "error"]
    line = VARIABLES[: VARIABLES.index(f" {name}")].count("\n") + 1
    says = [f"{name} (line {line}) is never set: every read of it gives 0."] if name else []
    assert [one.partition(" It is so")[0] for one in found if "tile" not in one] == says
    assert report.verdict == ("wrong" if name else "no fault found")


VIEWS = """
#include <cstdio>
struct View { float *data; int n; };
__global__ void shift(View v, const float *x, float *y) {
    int i = threadIdx.x;
    if (i < v.n) y[i] = x[i];
    __syncthreads();
    if (i + 1 < v.n) v.data[i] = y[i + 1];
}
int main() {
    View v;
    float h[100], *x;
    for (int i = 0; i < 100; i++) h[i] = i;
    cudaMalloc(&x, sizeof(h));
    cudaMalloc(&v.data, sizeof(h));
    v.n = 100;
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    shift<<<1, 128>>>(v, x, x);
    cudaMemcpy(h, v.data, 99 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\\n", h[5]);
}
"""


def test_a_launch_with_a_struct_and_one_array_under_two_names_is_tried_in_other_orders(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file.cu"
    path.write_text(VIEWS, encoding="utf-8")
    (report,) = check_file(read_kernel(path))
    assert (report.verdict, report.findings) == ("no fault found", ())
    assert any("also ran in other orders" in one for one in report.said)


def test_of_many_kernels_those_that_the_program_launches_are_taken(tmp_path: Path) -> None:
    more = "".join(
        f"__global__ void other{one}(float *y) {{ y[{one}] = 0; }}\n" for one in range(24)
    )
    text = more + SCALE.replace("#include <cstdio>", "")
    program = followed(tmp_path, "#include <cstdio>\n" + text)
    assert (program["stopped"], program["status"], program["called"]) == ("", 0, ["scale"])


def test_some_blocks_of_a_launch_that_is_too_large_are_checked(tmp_path: Path) -> None:
    wide = SCALE.replace("int i = blockIdx.x", "size_t i = (size_t)blockIdx.x")
    large = wide.replace("(n + 127) / 128, 128", "1 << 23, 512")
    right = followed(tmp_path, large)
    assert "would take hours" in right["stopped"]
    assert errors(right) == []
    wrong = followed(tmp_path, large.replace("if (i < n) ", ""))
    assert any("which has 1000 elements" in one for one in errors(wrong))


def test_a_report_has_what_the_program_showed(tmp_path: Path) -> None:
    path = tmp_path / "file.cu"
    path.write_text(SCALE.replace("(n + 127) / 128", "n / 128"), encoding="utf-8")
    (report,) = check_file(read_kernel(path))
    assert report.verdict == "wrong"
    assert "it launches scale 1 time" in " ".join(report.said)


def test_a_launch_that_takes_too_long_runs_once(tmp_path: Path) -> None:
    path = tmp_path / "file.cu"
    path.write_text(
        LARGE.replace("int bad = 0;", "int bad = 0, last = 16000000;"), encoding="utf-8"
    )
    (report,) = check_file(read_kernel(path))
    assert report.said[0] == "Its launch did not come to its end, so no other order was tried."
    assert report.verdict == "no fault found"


def test_what_a_program_prints_and_ends_with_is_shown(tmp_path: Path) -> None:
    says = 'for (int i = 0; i < 9; i++) printf("line %d\\033[2J\\n\\n", i); return 3;'
    text = SCALE.replace("return bad != 0;", says)
    program = followed(tmp_path, text)
    assert program["status"] == 3
    assert program["printed"] == [f"line {number} [2J" for number in range(3, 9)]


def test_a_long_line_is_cut_and_a_stopped_program_has_no_status(tmp_path: Path) -> None:
    line = 'printf("%0300d\\n", 0); fflush(stdout); extern void elsewhere(); elsewhere();'
    program = followed(tmp_path, SCALE.replace("return bad != 0;", line))
    assert program["status"] is None
    assert program["printed"] == ["0 bad", "0" * 200 + " …"]


def test_headers_may_bring_what_no_standard_says_they_bring(tmp_path: Path) -> None:
    text = SCALE.replace("<cstdio>", "<vector>")
    sums = (
        'std::vector<int> v{2, 1}; std::sort(v.begin(), v.end()); std::string s("x"); return v[0];'
    )
    assert followed(tmp_path, text.replace("return bad != 0;", sums))["status"] == 1


PRODUCTS = """
#include <cstdio>
#include <cstdlib>
__global__ void naive(int n, const float *A, const float *B, float *C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float acc = 0;
    for (int k = 0; k < n; k++) acc += A[row * n + k] * B[k * n + col];
    C[row * n + col] = acc;
}
__global__ void busy(float *C) {
    float acc = C[0];
    for (int i = 0; i < 1 << 30; i++) acc = acc * acc + 1;
    C[0] = acc;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2048;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4); cudaMalloc(&b, n * n * 4); cudaMalloc(&c, n * n * 4);
    cudaMemset(a, 0, n * n * 4); cudaMemset(b, 0, n * n * 4);
    for (int i = 0; i < 1000; i++) {
        naive<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(n, a, b, c);
    }
    cudaDeviceSynchronize();
    printf("done\\n");
}
"""


def test_a_launch_that_changes_nothing_runs_once_more(tmp_path: Path) -> None:
    program = followed(tmp_path, PRODUCTS)
    assert (program["stopped"], program["launched"]) == ("", {"naive": 1000})
    assert "n is 128 for 2,048" in program["sizes"] or "n is 256 for 2,048" in program["sizes"]


@pytest.mark.usefixtures("impatient")
def test_launches_that_a_program_did_not_come_to_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file.cu"
    more = "busy<<<1, 1>>>(c); cudaDeviceSynchronize();\nnaive<<<1, 1>>>(1, a, b, c);"
    path.write_text(
        PRODUCTS.replace("2048", "64").replace('printf("done', f'{more} printf("done'),
        encoding="utf-8",
    )
    naive = next(one for one in check_file(read_kernel(path)) if one.kernel == "naive")
    said = " ".join(naive.said)
    assert "it launches naive 1,000 times" in said
    assert "It did not come to line 25." in said


def test_smaller_sizes_that_leave_a_grid_empty_say_nothing(tmp_path: Path) -> None:
    program = followed(tmp_path, PRODUCTS.replace("dim3(n / 16, n / 16)", "dim3(n / 512, n / 16)"))
    assert program["stopped"]
    assert errors(program) == []


STAGED = """
#include <cstdio>
__global__ void churn(const int *x, int *y, int steps) {
    int v = x[threadIdx.x];
    for (int s = 0; s < steps; s++) v = v * 3 + 1;
    y[threadIdx.x] = v;
}
int main() {
    int *held, *x, *y;
    const int n = 64;
    cudaMallocHost(&held, n * sizeof(int));
    cudaMalloc(&x, n * sizeof(int)); cudaMalloc(&y, n * sizeof(int));
    cudaMemset(y, 0, n * sizeof(int));
    cudaStream_t s;
    cudaStreamCreate(&s);
    for (int b = 0; b < 3; b++) {
        cudaStreamSynchronize(s);
        for (int i = 0; i < n; i++) held[i] = i + b;
        cudaMemcpyAsync(x, held, n * sizeof(int), cudaMemcpyHostToDevice, s);
        churn<<<1, n, 0, s>>>(x, y, 900000000);
    }
    cudaMemcpyAsync(held, y, n * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    printf(held[1] == 4 ? "FAIL\\n" : "PASS\\n");
    return 0;
}
"""
WAITS = "    cudaStreamSynchronize(s);\n"


@pytest.mark.usefixtures("impatient")
def test_the_order_of_host_and_copies_is_judged_where_a_launch_takes_too_long(
    tmp_path: Path,
) -> None:
    assert not errors(followed(tmp_path, STAGED))
    assert not errors(followed(tmp_path, STAGED.replace("s++", "s += 90000000")))
    refilled = STAGED.replace("    " + WAITS, "")
    (found,) = errors(followed(tmp_path, refilled))
    assert found.startswith("Line 18: The host changes held while this copy may still read it.")
    by_callback = refilled.replace(
        "for (int i = 0; i < n; i++) held[i] = i + b;",
        "cudaLaunchHostFunc(s, [](void *p) { ((int *)p)[0] += 1; }, held);",
    )
    assert not errors(followed(tmp_path, by_callback))


@pytest.mark.usefixtures("impatient")
def test_what_is_printed_before_a_long_launch_is_done_is_an_error(tmp_path: Path) -> None:
    unwaited = STAGED.replace(WAITS + "    printf", "    printf").replace("b < 3", "b < 1")
    (found,) = errors(followed(tmp_path, unwaited.replace("held[1] == 4", "held[1] == 1")))
    assert (
        'The host does not wait for the copy of line 22. Before that is done it prints "FAIL"'
        in (found)
    )
    assert not errors(followed(tmp_path, unwaited))
