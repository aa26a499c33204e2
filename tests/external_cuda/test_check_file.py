"""Every kernel of a file, checked without a question."""

import json
from pathlib import Path

import pytest
from file_reports import checked, reports
from foreign_samples import CASES
from turns import TAKES_TURNS, TODAY

from sgemm_lab.cli.main import main
from sgemm_lab.external_cuda import ExternalKernel, KernelReport, Options, Pasted, check_file
from sgemm_lab.external_cuda.findings import Finding

pytestmark = TAKES_TURNS

MANY = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
__global__ void shift(const float* x, float* y, int n) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[(threadIdx.x + 64) % 256];
}
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
__global__ void nested() { twice<<<1, 1>>>(0, 0, 0); }
"""
ROWS = """
#include <cmath>
#include <cfloat>
void softmax_forward_cpu(float* out, const float* inp, int N, int C) {
    for (int i = 0; i < N; i++) {
        const float* row = inp + i * C;
        float most = -FLT_MAX, sum = 0.0f;
        for (int j = 0; j < C; j++) if (row[j] > most) most = row[j];
        for (int j = 0; j < C; j++) sum += expf(row[j] - most);
        for (int j = 0; j < C; j++) out[i * C + j] = expf(row[j] - most) / sum;
    }
}
__global__ void softmax_forward_kernel(float* out, const float* inp, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float most = -FLT_MAX, sum = 0.0f;
        for (int j = 0; j < C; j++) most = fmaxf(most, inp[i * C + j]);
        for (int j = 0; j < C; j++) sum += expf(inp[i * C + j] - most);
        for (int j = 0; j < C; j++) out[i * C + j] = expf(inp[i * C + j] - most) / sum;
    }
}
int main() {
    int N = 32, C = 6;
    float *out, *inp;
    cudaMalloc(&out, N * C * sizeof(float));
    cudaMalloc(&inp, N * C * sizeof(float));
    softmax_forward_kernel<<<2, 16>>>(out, inp, N, C);
}
"""


def severities(report: KernelReport) -> set[str]:
    return {one.severity for one in report.findings}


def test_each_kernel_has_its_own_verdict() -> None:
    heard: list[str] = []
    every = check_file(ExternalKernel(Pasted("a.cu", MANY, Path())), progress=heard.append)
    found = {one.kernel: one for one in every}
    assert heard[:2] == ["1/4 check twice", "2/4 check shift"]
    assert {name: one.verdict for name, one in found.items()} == {
        "twice": "no fault found", "shift": "wrong", "matmul": "right", "nested": "not run",
    }  # fmt: skip
    assert {one.line for one in found.values()} == {2, 6, 11, 18}
    (race,) = found["shift"].findings
    assert (race.kind, race.line, race.other_line) == ("race", 9, 8)
    assert "Results not compared: nothing says what they should be." in found["twice"].said
    assert "launches another kernel" in found["nested"].said[0]
    assert all(result.passed for result in found["matmul"].sizes)
    assert len(found["matmul"].sizes) > 20


def test_results_are_compared_with_a_function_of_the_host() -> None:
    (report,) = reports(ROWS)
    assert (report.verdict, report.findings) == ("right", ())
    assert report.said[-1] == (
        "out is right: all 192 elements are those of softmax_forward_cpu (line 4)."
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("j < C; j++) out[i * C + j] = expf(inp", "j < C - 1; j++) out[i * C + j] = expf(inp"),
        ("sum += expf(inp[i * C + j] - most)", "sum += expf(inp[i * C + j])"),
        ("<<<2, 16>>>", "<<<1, 16>>>"),
    ],
)
@pytest.mark.sampled(every=3, first=TODAY)
def test_a_result_unlike_the_reference_is_an_error(old: str, new: str) -> None:
    assert ROWS.count(old) == 1
    (report,) = reports(ROWS.replace(old, new))
    assert report.verdict == "wrong"
    *others, finding = report.findings
    assert ["The launch leaves out" in one.message for one in others] == [True] * (new[3] == "1")
    assert (finding.kind, finding.array, finding.line) == ("wrong result", "out", 13)
    assert "differ from those of softmax_forward_cpu (line 4)." in finding.message


PAIR = """
__global__ void scale_naive(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = 3 * x[i];
}
__global__ void scale(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = FACTOR;
}
int main() {
    float *x, *y;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMalloc(&y, 64 * sizeof(float));
    scale_naive<<<1, 64>>>(x, y, 64);
    scale<<<1, 64>>>(x, y, 64);
}
"""


@pytest.mark.parametrize(
    ("factor", "verdict"), [("3 * x[i]", "right"), ("2 * x[i]", "wrong"), ("0", "wrong")]
)
def test_a_naive_kernel_is_a_reference_for_the_other(factor: str, verdict: str) -> None:
    naive, scale = reports(PAIR.replace("FACTOR", factor))
    assert naive.verdict == "no fault found"
    assert scale.verdict == verdict


def test_what_fills_an_array_of_the_host_is_no_reference() -> None:
    (report,) = reports("""__global__ void init_data_kernel(int n, double* x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] = n - i;
    }
    void init_host_data(int n, double* x) { for (int i = 0; i < n; ++i) x[i] = i; }
    int main() {
        double* x;
        cudaMalloc(&x, 512);
        init_data_kernel<<<1, 64>>>(64, x);
    }""")
    assert (report.verdict, report.findings) == ("no fault found", ())


def test_a_reference_of_other_elements_is_none() -> None:
    text = ROWS.replace("out[i * C + j] = expf(row[j]", "out[i] = expf(row[j]")
    (report,) = reports(text)
    assert report.verdict == "no fault found"
    assert "it writes other elements than the kernel" in report.said[-1]


UNGUARDED = MANY[MANY.index("__global__ void matmul") :].partition("__global__ void nested")[0]
UNGUARDED = UNGUARDED.replace("    if (row >= M || col >= N) return;\n", "")


def product(text: str) -> list[Finding]:
    return list(checked(text, grid=("ceil(N/16)", "ceil(M/16)"), block=("16", "16")).findings)


def test_a_product_for_whole_tiles_would_be_wrong_at_others() -> None:
    assert {one.severity for one in product(UNGUARDED)} == {"warning"}


def test_a_product_that_guards_an_edge_is_wrong_where_it_fails_there() -> None:
    guard = "    if (row >= M && col >= N) return;\n"
    half = UNGUARDED.replace("    float sum", f"{guard}    float sum")
    assert "error" in {one.severity for one in product(half)}


def test_the_command_prints_each_kernel_and_the_offer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "many.cu").write_text(MANY)
    assert main(["check", str(tmp_path / "many.cu")]) == 1
    said = capsys.readouterr().out
    assert "many.cu, line 6: shift: wrong\n  error: many.cu, line 9: " in said
    assert "4 kernels: 1 no fault found, 1 wrong, 1 right, 1 not run\n" in said
    assert "To compare results, say what an array should hold" in said
    one = ["check", str(tmp_path / "many.cu"), "--entry", "shift"]
    assert main(one) == 1
    assert main([*one, "--fail-on", "never"]) == 0
    capsys.readouterr()
    assert main(["check", str(tmp_path / "many.cu"), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in rows] == ["no fault found", "wrong", "right", "not run"]
    assert rows[1]["findings"][0]["severity"] == "error"
    assert rows[2]["sizes"][0]["passed"]


@pytest.mark.parametrize(
    ("expect", "status"), [("2 * x", 0), ("y = 2 * x", 0), ("3 * x", 1), ("x + x == 0", 1)]
)
def test_a_result_may_be_expected_without_its_name(
    expect: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.cu").write_text(MANY.partition("__global__ void shift")[0])
    call = ["check", str(tmp_path / "one.cu"), "--args", "x:in:256 y:out:256 256"]
    assert main([*call, "--grid", "1", "--block", "256", "--expect", expect]) == status
    assert ("right" in capsys.readouterr().out) != bool(status)


PAIRS = """
__global__ void matmul(const half* A, const half* B, half* C, int M, int N, int K) {
    int x = threadIdx.x, y = threadIdx.y, col = 2 * (blockIdx.x * 8 + x);
    int row = blockIdx.y * 32 + y;
    __shared__ half2 tile[16][8];
    if (row >= M || col >= N) return;
    half2 sum = __float2half2_rn(0);
    for (int k = 0; k < K; k += 16) {
        if (y > 15) tile[y - 16][x] = *(const half2*)&B[(k + y - 16) * N + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum = __hfma2(__half2half2(A[row * K + k + i]), tile[i][x], sum);
        __syncthreads();
    }
    *(half2*)&C[row * N + col] = sum;
}
"""
"""For whole tiles, with guards that mostly skip whole pairs."""


def test_a_guard_of_a_kernel_that_moves_pairs_is_for_whole_tiles() -> None:
    text = "#include <cuda_fp16.h>" + PAIRS
    report = checked(text, grid=("ceil(N/16)", "ceil(M/32)"), block=("8", "32"))
    assert any(one.kind == "unwritten" for one in report.findings)
    assert {one.severity for one in report.findings} == {"warning"}


def test_a_guard_of_a_kernel_that_moves_vectors_is_for_whole_tiles() -> None:
    vectors = """
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int col = 4 * (blockIdx.x * 4 + threadIdx.x), row = blockIdx.y * 16 + threadIdx.y;
    if (blockIdx.y * 16 >= M || blockIdx.x * 16 >= N) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < K; ++k) {
        float a = A[row * K + k];
        float4 b = *(const float4*)&B[k * N + col];
        sum.x += a * b.x; sum.y += a * b.y; sum.z += a * b.z; sum.w += a * b.w;
    }
    *(float4*)&C[row * N + col] = sum;
}
"""
    report = checked(vectors, grid=("ceil(N/16)", "ceil(M/16)"), block=("4", "16"))
    assert report.verdict == "would be wrong"
    assert {one.severity for one in report.findings} == {"warning"}


def test_an_array_of_text_holds_letters() -> None:
    (report,) = reports("""
__global__ void histogram(const char* text, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[text[i] - 'a'], 1);
}
int main() {
    char* text;
    int* bins;
    cudaMalloc(&text, 512);
    cudaMalloc(&bins, 26 * sizeof(int));
    histogram<<<2, 256>>>(text, bins, 512);
}
""")
    assert report.verdict == "no fault found"


def test_a_product_in_tf32_is_right_though_it_rounds_more() -> None:
    case = next(case for case in CASES if case.name.startswith("wmma wmma_tf32"))
    (report,) = check_file(case.kernel(), Options(sizes=[case.size]))
    assert report.verdict == "right"


IN_FILE = """
__global__ void {kernel}({parameters}) {{
{body}
}}
void run() {{
    const int n = {n};
    {setup}
    {launch}
}}
"""


def of_file(
    parameters: str, body: str, setup: str, launch: str, n: int = 100_000, kernel: str = "k"
) -> set[str]:
    """What is found in a file with a launch of its own: severities and kinds."""
    text = IN_FILE.format(
        parameters=parameters, body=body, setup=setup, launch=launch, n=n, kernel=kernel
    )
    report = checked(text)
    return {f"{one.severity} {one.kind}" for one in report.findings}


LAST = """    __shared__ bool last;
    part[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
    FENCE
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;
    __syncthreads();
    float sum = 0;
    for (int b = 0; last && b < gridDim.x; b++) sum += part[b * 128 + threadIdx.x];
    if (last) y[threadIdx.x] = sum;"""
ARRAYS = """float *x, *part, *y; unsigned* count; int* at;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&part, n * sizeof(float));
    cudaMalloc(&y, 128 * sizeof(float)); cudaMalloc(&count, sizeof(unsigned));
    cudaMalloc(&at, n * sizeof(int)); cudaMemset(count, 0, sizeof(unsigned));"""


def test_a_race_at_the_sizes_of_the_file_is_an_error() -> None:
    given = ("const float* x, float* part, float* y, unsigned* count", LAST, ARRAYS,
             "k<<<n / 128, 128>>>(x, part, y, count);")  # fmt: skip
    parameters, body, setup, launch = given
    missing = of_file(parameters, body.replace("FENCE", ""), setup, launch)
    assert "error race" in missing
    assert of_file(parameters, body.replace("FENCE", "__threadfence();"), setup, launch) == set()


def test_a_race_that_rests_on_indices_is_a_warning() -> None:
    parameters = "const float* x, const int* at, float* part, int n"
    body = "int i = blockIdx.x * 128 + threadIdx.x; if (i < n) part[at[i]] += x[i];"
    assert of_file(parameters, body, ARRAYS, "k<<<n / 128, 128>>>(x, at, part, n);") == {
        "warning race"
    }


def test_a_queue_of_vertices_starts_with_none_seen() -> None:
    parameters = (
        "const int* row, const int* adj, int* seen, const int* now, int size, int* next, int* count"
    )
    body = """    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    for (int e = row[now[i]]; e < row[now[i] + 1]; ++e)
        if (atomicCAS(&seen[adj[e]], -1, 1) == -1) next[atomicAdd(count, 1)] = adj[e];"""
    setup = """int *row, *adj, *seen, *now, *next, *count, zero = 0, size = 1;
    cudaMalloc(&row, (n + 1) * sizeof(int)); cudaMalloc(&adj, 8 * n * sizeof(int));
    cudaMalloc(&seen, n * sizeof(int)); cudaMalloc(&now, n * sizeof(int));
    cudaMalloc(&next, n * sizeof(int)); cudaMalloc(&count, sizeof(int));
    cudaMemset(seen, 0xff, n * sizeof(int));
    cudaMemcpy(seen + 5, &zero, sizeof(int), cudaMemcpyHostToDevice);"""
    launch = "k<<<(size + 127) / 128, 128>>>(row, adj, seen, now, size, next, count);"
    assert of_file(parameters, body, setup, launch, n=1000) == set()


def test_sums_of_vectors_are_no_product_of_matrices() -> None:
    parameters = "const float* a, const float* b, int n, float* out"
    body = "int i = blockIdx.x * 128 + threadIdx.x; if (i < n) atomicAdd(out, a[i] * b[i]);"
    setup = """float *a, *b, *out; cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float)); cudaMalloc(&out, sizeof(float));"""
    launch = "k<<<(n + 127) / 128, 128>>>(a, b, n, out);"
    assert of_file(parameters, body, setup, launch, n=2000) == set()


@pytest.mark.parametrize("rounds", ["n / 16", "(n + 15) / 16"])
def test_a_main_says_nothing_of_sizes_that_its_tiles_do_not_divide(rounds: str) -> None:
    body = """    __shared__ float s[16][16], t[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0, x = A[row * n + threadIdx.x], y = B[threadIdx.y * n + col];
    for (int k = 16; k < n + 16; k += 16) {
        s[threadIdx.y][threadIdx.x] = x; t[threadIdx.y][threadIdx.x] = y;
        __syncthreads();
        if (k < n) { x = A[row * n + k + threadIdx.x]; y = B[(k + threadIdx.y) * n + col]; }
        for (int i = 0; i < 16; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = sum;"""
    setup = """float *A, *B, *C; cudaMalloc(&A, n * n * sizeof(float));
    cudaMalloc(&B, n * n * sizeof(float)); cudaMalloc(&C, n * n * sizeof(float));"""
    launch = f"matmul<<<dim3({rounds}, {rounds}), dim3(16, 16)>>>(A, B, C, n);"
    found = of_file(
        "const float* A, const float* B, float* C, int n", body, setup, launch, 128, "matmul"
    )
    assert {one.split()[0] for one in found} == {"warning"}


def test_a_file_without_kernels_is_checked_with_those_of_its_headers(tmp_path: Path) -> None:
    (tmp_path / "kernels.cuh").write_text(MANY.split("__global__ void matmul")[0])
    text = '#include "kernels.cuh"\nint main() {}'
    reports = check_file(ExternalKernel(Pasted("main.cu", text, tmp_path)))
    assert {one.kernel: (one.file, one.verdict) for one in reports} == {
        "twice": ("kernels.cuh", "no fault found"),
        "shift": ("kernels.cuh", "wrong"),
    }


def test_a_product_that_its_file_launches_is_not_accused_of_other_launches(tmp_path: Path) -> None:
    text = """#include <torch/extension.h>
    __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
        int i = blockIdx.z * 7 + threadIdx.x, j = blockIdx.y * 5 + threadIdx.y;
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += i < M && j < N ? A[i * K + k] * B[k * N + j] : 0;
        if (i < M && j < N) C[i * N + j] = sum;
    }
    void run(torch::Tensor a) { gemm<<<dim3(1, 9, 9), dim3(7, 5)>>>(a.data()); }"""
    report = checked(text)
    said = " ".join([*report.said, *map(str, report.findings)])
    assert report.verdict == "no fault found"
    assert "no launch that was tried makes C the product" not in said
    assert "was not followed to a launch of gemm" in said


def test_a_type_is_that_of_the_condition_that_holds() -> None:
    text = """#include <cuda_fp16.h>
    #if defined(REAL)
    typedef double real;
    #elif __CUDA_ARCH__ >= 700
    typedef half real;
    #else
    typedef float real;
    #endif
    __global__ void mark(real* y) { y[threadIdx.x] = threadIdx.x; }
    void mark_cpu(float* y) { for (int i = 0; i < 256; i++) y[i] = i; }"""
    assert checked(text).findings == ()
