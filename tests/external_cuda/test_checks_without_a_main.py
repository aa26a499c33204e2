"""What shows of a pasted kernel only with other arrays, sizes, contents or blocks."""

import pytest
from file_reports import checked
from turns import TAKES_TURNS

pytestmark = TAKES_TURNS

BONDS = """
struct Bond { int a, b; float k[3]; };
__global__ void forces(float4* force, const Bond* bonds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bond bond = bonds[i];
    CHANGE
}
"""
LOCK = """
__global__ void insert(float* list, int* lock, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] == floorf(x[i])) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            FENCE
            list[0] = list[0] + x[i] + 1;
            FENCE
            atomicExch(lock, 0);
            done = true;
        }
    }
}
"""
TILES = """
__global__ void rows(const float* x, float* y, int height, int width) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < width; k += 64) {
        s[t] = k + t < width ? x[blockIdx.x * width + k + t] : 0;
        __syncthreads();
        sum += s[63 - t];
        if (LAST) __syncthreads();
    }
    if (blockIdx.x < height) y[blockIdx.x * 64 + t] = sum;
}
void run(const float* x, float* y, int height, int width) {
    rows<<<height, 64>>>(x, y, height, width);
}
"""
PHASES = """
__global__ void __launch_bounds__(64) sums(float* y, int n) {
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
    __syncthreads();
    for (int k = 0; k < n / 16; k++) {
        asm volatile("{ .reg .pred p; .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];\\n"
            "WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n@!p bra WAIT; }"
            :: "r"(at), "r"(PARITY) : "memory");
    }
    y[(n - 16) * 64 * n * 20 + threadIdx.x] = 1;
}
"""
CHAIN = """
__global__ void chain(volatile int* sum, volatile int* ready, const int* x, int n) {
    if (threadIdx.x) return;
    int b = blockIdx.x, before = 0;
    if (b > 0) {
        while (ready[b - 1] != 1) { }
        __threadfence();
        before = sum[b - 1];
    }
    PUBLISH
}
"""
GUARDED = """
__global__ void turn(const float* x, float* y, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    GUARD
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = s[threadIdx.x ^ 1];
}
"""
HALVES = """
#include <cuda_fp16.h>
__global__ void squares(const __half* x, float* y, int n) {
    TYPE sum = 0;
    for (int k = 0; k < 256; k++) {
        TYPE one = x[threadIdx.x * 256 + k];
        sum += one * one;
    }
    y[threadIdx.x] = float(sum);
}
"""
LARGEST = """
__global__ void largest(float* most, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMax((int*)most, __float_as_int(VALUE));
}
"""
TURNED = """
__global__ void transpose(float* out, const float* in, int width, int height) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) out[x * ROWS + y] = in[y * width + x];
}
void run(float* out, const float* in, int w, int h) {
    transpose<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(out, in, w, h);
}
"""
SLICED = """
struct Slices { const float* x; float *part, *sums; unsigned* tickets; int cols, slices; };
__global__ void sums(Slices a) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ unsigned t;
    if (c < a.cols) a.part[blockIdx.y * a.cols + c] = a.x[blockIdx.y * a.cols + c];
    PUBLISH
    __syncthreads();
    if (threadIdx.x == 0) t = atomicAdd(&a.tickets[blockIdx.x], 1);
    __syncthreads();
    if (t != a.slices - 1 || c >= a.cols) return;
    float s = 0;
    for (int k = 0; k < a.slices; ++k) s += a.part[k * a.cols + c];
    a.sums[c] = s;
}
"""
CODES = """
__global__ void decode(const unsigned char* q, const float* book, float* out, int n) {
    __shared__ float table[ENTRIES];
    if (threadIdx.x < ENTRIES) table[threadIdx.x] = book[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[q[i] >> 4];
}
"""
ROW_MAXIMUM = """
__global__ void most(const float* x, float* out, int n) {
    float m = START;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, x[blockIdx.x * n + i]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x == 0) out[blockIdx.x] = m;
}
void run(const float* x, float* out, int rows, int n) { most<<<rows, 32>>>(x, out, n); }
"""
MEANS = """
__global__ void means(const float* x, const unsigned char* mask, float* out, int n) {
    float s = 0; int k = 0;
    for (int i = 0; i < n; i++) if (!mask[blockIdx.x * n + i]) { s += x[blockIdx.x * n + i]; k++; }
    out[blockIdx.x] = MEAN;
}
void run(const float* x, const unsigned char* mask, float* out, int rows, int n) {
    means<<<rows, 1>>>(x, mask, out, n);
}
"""
UPWARDS = """
__global__ void suffix(float* d, unsigned rows, unsigned cols) {
    unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (c >= cols) return;
    for (LOOP) { s += d[r * cols + c]; d[r * cols + c] = s; }
}
"""
CELLS = """
__global__ void cells(const float* x, float* y, int a, int b) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < a && j < b) y[j * a + i] = x[VALUE];
}
void cells_cpu(const float* x, float* y, int a, int b) {
    for (int j = 0; j < b; j++) for (int i = 0; i < a; i++) y[j * a + i] = x[i * b + j];
}
void run(const float* x, float* y, int a, int b) {
    cells<<<dim3((a + 15) / 16, (b + 15) / 16), dim3(16, 16)>>>(x, y, a, b);
}
"""
TOTAL = """
__global__ void total(const float* x, float* sum, int n) {
    for (int i = VALUE; i < n; i += gridDim.x * blockDim.x) atomicAdd(sum, x[i]);
}
float total_cpu(const float* x, int n) { float s = 0; while (n--) s += x[n]; return s; }
"""
AROUND = """
__global__ void turn(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[VALUE];
}
"""
SCALED = """
__global__ void scale(float f, int* y) {
    int was = *y, old = was;
    do old = atomicCAS(y, was = old, __float_as_int(__int_as_float(was) * f)); while (VALUE);
}
"""


@pytest.mark.parametrize(
    ("text", "wrong", "right", "said"),
    [
        (TURNED.replace("ROWS", "height").replace("x < width && y < height", "GUARD"),
         "x < height && y < width", "x < width && y < height", "width=259 height=67"),
        (SCALED, "__int_as_float(old) != __int_as_float(was)", "old != was", "Compare the bits"),
        (CODES.replace("q[i]", "(q[i] & (unsigned char)ENTRIES)").replace("ENTRIES", "16", 2),
         "999", "99", "does not fit into unsigned char"),
        (BONDS.replace("CHANGE", "for (int a : {bond.a, bond.b}) CHANGE"),
         "force[a].x += bond.k[2];", "atomicAdd(&force[a].x, bond.k[2]);",
         "nothing orders the two"),
        (LOCK, "FENCE", "__threadfence();", "hold numbers from 0 to 1"),
        (TILES, "k < 128", "true", "It happens with "),
        (PHASES, "PARITY", "k & 1", "The kernel waits forever"),
        (CHAIN.replace("PUBLISH", "int all = before + x[b] + n - n; PUBLISH"),
         "ready[b] = 1; __threadfence(); sum[b] = all;",
         "sum[b] = all; __threadfence(); ready[b] = 1;", "nothing orders the two"),
        (GUARDED, "if (i >= n) return;", "", "others return without it"),
        (HALVES, "__half", "float", "infinity from finite 16-bit floats"),
        (LARGEST, "x[i]", "fabsf(x[i])", "bits of two negative floats"),
        (TURNED, "width", "height", "nothing orders the two"),
        (SLICED, "", "__threadfence();", "nothing orders the two"),
        (CODES, "15", "16", "hold any number of their type"),
        (ROW_MAXIMUM, "0", "-INFINITY", "A maximum starts from"),
        (MEANS, "s / k", "k ? s / k : 0", "holds NaN where all integers"),
        (CELLS, "i * a + j", "i * b + j", "differ from those of cells_cpu"),
        (TOTAL, "threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x", "those of total_cpu"),
        (AROUND, "(i - 1) % n", "(i + n - 1) % n", "reads element -1 of x"),
        (UPWARDS, "unsigned r = rows - 1; r >= 0; r--", "unsigned r = rows; r-- > 0;",
         "unsigned integer with zero"),
    ],
)  # fmt: skip
def test_a_warning_of_the_wrong_kernel_alone(text: str, wrong: str, right: str, said: str) -> None:
    names = {"FENCE": "", "PARITY": "0"}
    holes = "CHANGE FENCE LAST PARITY PUBLISH GUARD TYPE VALUE ROWS ENTRIES START MEAN LOOP"
    hole = next(one for one in holes.split() if one in text)
    findings = checked(text.replace(hole, names.get(wrong, wrong))).findings
    assert any(said in one.message for one in findings), findings
    assert "error" not in {one.severity for one in findings}
    assert not checked(text.replace(hole, right)).findings


def test_words_of_8_bytes_that_are_all_ones_are_not_changed() -> None:
    text = """
    __global__ void labels(const unsigned long long* w, int* y) { y[threadIdx.x] = w[threadIdx.x]; }
    void run(unsigned long long* w, int* y) { cudaMemset(w, 255, 512); labels<<<1, 64>>>(w, y); }
    """
    assert not checked(text).findings


def test_a_block_that_its_bounds_tell_is_a_square_where_threads_have_two_places() -> None:
    text = """__global__ void __launch_bounds__(256) turn(const float* x, float* y, int n) {
        __shared__ float s[16][17];
        s[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
        __syncthreads();
        y[threadIdx.y * 16 + threadIdx.x + n - n] = s[threadIdx.x][threadIdx.y];
    }"""
    report = checked(text)
    assert "blocks of 16 × 16 threads" in " ".join(report.said)


@pytest.mark.parametrize(("value", "severity"), [("step + 1", "warning"), ("step + v", "error")])
def test_marks_of_one_value_that_others_read_are_a_warning(value: str, severity: str) -> None:
    text = f"""__global__ void search(int* level, int step, int n) {{
        int v = blockIdx.x * blockDim.x + threadIdx.x;
        if (v >= n || level[v] != step) return;
        for (int k = 7; k < 4 * v; k += v) if (level[k % n] < 0) level[k % n] = {value};
    }}
    int main() {{
        static int host[20000]; int* level;
        for (int& one : host) one = -1;
        for (int k = 0; k < 20000; k += 9) host[k] = 0;
        cudaMalloc(&level, sizeof(host));
        cudaMemcpy(level, host, sizeof(host), cudaMemcpyHostToDevice);
        search<<<79, 256>>>(level, 0, 20000);
    }}"""
    races = {one.severity for one in checked(text).findings if one.kind == "race"}
    assert races == {severity}


@pytest.mark.parametrize(("type_", "count"), [("int", 1), ("size_t", 0)])
def test_an_index_has_too_few_bits_for_the_sizes_of_the_program(type_: str, count: int) -> None:
    text = f"""__global__ void invert(unsigned char* x, int width, int height) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
        if (i < width && j < height) x[({type_})j * width + i] ^= 255;
    }}
    int main() {{
        const int width = 60000, height = 60000; unsigned char* x;
        cudaMalloc(&x, (size_t)width * height);
        cudaMemset(x, 0, (size_t)width * height);
        invert<<<dim3((width + 255) / 256, height), 256>>>(x, width, height);
    }}"""
    found = [one.message for one in checked(text).findings]
    assert [("32 bits are too few here" in one) for one in found] == [True] * count


def test_function_objects_and_templates_of_structs_are_taken_apart() -> None:
    text = """
    template <typename T> struct Span { T* base; size_t pitch; };
    struct Double { __device__ float operator()(float x) const { return 2 * x; } };
    __global__ void map(Span<const float> a, Span<float> b, Double f, int w, int h) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x < w && y < h) b.base[y * b.pitch + x] = f(a.base[y * a.pitch + x]);
    }"""
    report = checked(text)
    assert report.verdict == "no fault found"
    assert "b_pitch=64" in " ".join(report.said)


@pytest.mark.parametrize(("name", "verdict"), [("gemm_nt", "right"), ("gemm", "would be wrong")])
def test_a_factor_is_transposed_where_the_file_says_so(name: str, verdict: str) -> None:
    text = f"""
    __global__ void {name}(const float* A, const float* B, float* C, int M, int N, int K) {{
        int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 8 + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < K && m < M && n < N; k++) sum += A[m * K + k] * B[n * K + k];
        if (m < M && n < N) C[m * N + n] = sum;
    }}
    void run(const float* A, const float* B, float* C, int M, int N, int K) {{
        {name}<<<dim3((N + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(A, B, C, M, N, K);
    }}"""
    assert checked(text).verdict == verdict


@pytest.mark.parametrize(("wait", "count"), [("", 1), ("cudaStreamSynchronize(s);", 0)])
@pytest.mark.parametrize("is_pinned", [True, False])
def test_the_host_waits_for_a_copy_before_it_reads(wait: str, count: int, is_pinned: bool) -> None:
    text = f"""__global__ void tally(const int* x, int n, int* sum) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n && x[i] > 0) atomicAdd(sum, 1);
    }}
    struct Count {{
        int *host, *sum;
        Count() {{ cudaMallocHost(&host, 4); cudaMalloc(&sum, 4); }}
        int of(const int* x, int n, cudaStream_t s) {{
            tally<<<(n + 127) / 128, 128, 0, s>>>(x, n, sum);
            cudaMemcpyAsync(host, sum, 4, cudaMemcpyDeviceToHost, s);
            {wait}
            return *host;
        }}
    }};"""
    if not is_pinned:
        text = text.replace("MemcpyAsync(host", "MemcpyAsync(&all").replace("*host;", "all;")
    found = checked(text).findings
    assert [one.severity for one in found] == ["error" if is_pinned else "warning"] * count
    assert all("fills later" in one.message for one in found)
