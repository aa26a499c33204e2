"""Arguments, templates and launches that the reader does not say: the program's, or assumed."""

from pathlib import Path

import pytest
from file_reports import checked
from turns import TAKES_TURNS, TODAY

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda import ExternalKernel, Pasted
from sgemm_lab.external_cuda.count import ExternalRun, count_external
from sgemm_lab.simulator.hazards import OUT_OF_BOUNDS, UNWRITTEN

pytestmark = TAKES_TURNS

ADD = """
#define THREADS 128
__global__ void add(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
"""


def counted(source: str, entry: str | None = None) -> ExternalRun:
    return count_external(
        ExternalKernel(Pasted("k.cu", source, Path(), entry), (), ()), (64, 64, 64)
    )


def launched(done: ExternalRun) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return done.arguments, tuple(map(str, done.grid)), tuple(map(str, done.block))


@pytest.mark.parametrize(
    "main",
    [
        "int main() { int n = 1000; float *a, *b; cudaMalloc(&a, n * sizeof(float));"
        "cudaMalloc((void**)&b, 4000); add<<<(n + THREADS - 1) / THREADS, THREADS>>>(a, b, n); }",
        # the launch is in a function, and the program is called without arguments
        "void run(float* u, float* v, int count) {"
        "  add<<<(count + 127) / 128, 128>>>(u, v, count); }"
        "int main(int argc, char** argv) {"
        "  int n = argc > 1 ? atoi(argv[1]) : 1000; size_t bytes = n * sizeof(float);"
        "  float *a, *b; cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); run(a, b, n); }",
        # a field of a struct, and the length of a vector
        "struct Job { int id, n; float* y; };"
        "int main() { Job job{3, 7, nullptr}; job.n = 1000;"
        "  std::vector<float> host(job.n, 1.f), other(2);"
        "  float* a; cudaMalloc(&a, host.size() * sizeof(float));"
        "  cudaMalloc(&job.y, sizeof(float) * job.n);"
        "  add<<<(job.n + 127) / 128, 128>>>(a, job.y, job.n); }",
    ],
)
@pytest.mark.sampled(every=6, first=TODAY)
def test_a_program_that_fills_no_array_gives_arguments_and_launch(main: str) -> None:
    done = counted(f"#include <cstdlib>\n#include <vector>\n{ADD}{main}")
    assert launched(done) == ("x:in:1000 y:inout:1000 n=1000", ("8",), ("128",))
    assert not done.result.hazards
    said = "\n".join(done.sentences)
    assert "Arguments, as the file's main passes them" in said
    assert "What it does not fill holds small numbers." in said
    assert "Launch, by the file's main: a grid of 8 blocks of 128 threads" in said


def test_large_constants_of_a_program_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgemm_lab.external_cuda.program.SECONDS", 1.0)
    done = counted(
        ADD + "int main() { const int n = 1 << 24; size_t bytes = n * sizeof(float); float *a, *b;"
        "cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); cudaMemset(a, 0, bytes);"
        "cudaMemset(b, 0, bytes);"
        "dim3 grid((n + THREADS - 1) / THREADS); add<<<grid, THREADS>>>(a, b, n); }"
    )
    (arguments, (blocks, *_), _) = launched(done)
    n = int(arguments.rpartition("=")[2])
    assert n < 1 << 24
    assert (arguments, int(blocks)) == (f"x:in:{n} y:inout:{n} n={n}", n // 128)


def test_without_host_code_a_thread_has_an_element() -> None:
    done = counted(ADD)
    assert launched(done) == ("x:in:4096 y:inout:4096 n=4096", ("16",), ("256",))
    said = "\n".join(done.sentences)
    assert "Arguments, assumed: x:in:4096 y:inout:4096 n=4096. Say --args" in said
    assert "an index beyond the true ones is not seen" in said


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void wide(float* x, int n) {"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i * 64] += 1.0f; }",
        "__global__ void column(float* x) { x[threadIdx.x * 1024 + blockIdx.x] += 1.0f; }",
    ],
)
def test_arrays_grow_until_the_kernel_stays_inside(source: str) -> None:
    """What the arrays hold is not known, so an index beyond an assumed size is no finding."""
    done = counted(source)
    assert not [h for h in done.result.hazards if h.kind == OUT_OF_BOUNDS]


def test_arrays_of_indices_hold_zeros_where_other_numbers_lead_outside() -> None:
    done = counted(
        "__global__ void gather(const int* at, const float* x, float* y, int n) {"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[at[i] * n]; }"
    )
    assert not done.result.hazards
    assert "at:zero:" in launched(done)[0]


def test_numbers_that_lead_outside_of_arrays_of_the_file_are_no_finding() -> None:
    """What a histogram counts is not known: of small whole numbers some are negative."""
    source = (
        "__global__ void count(const int* x, int* bins, int n) {"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(bins + x[i], 1); }"
        "int main() { int n = 512; int *x, *bins; cudaMalloc(&x, n * sizeof(int));"
        "  cudaMalloc(&bins, 4 * sizeof(int)); count<<<2, 256>>>(x, bins, n); }"
    )
    done = counted(source)
    assert launched(done)[0] == "x:zero:512 bins:zero:4 n=512"
    assert not done.result.hazards
    found = counted(source.replace("i < n", "i <= n").replace("<<<2,", "<<<3,")).result.hazards
    assert {hazard.kind for hazard in found} == {OUT_OF_BOUNDS}


def test_a_kernel_that_always_leaves_its_arrays_is_asked_for_arguments() -> None:
    with pytest.raises(LabError, match=r"inside its arrays\. With --args 'x:inout:.*k\.cu, line 1"):
        counted("__global__ void far(float* x, int n) { x[threadIdx.x + (1 << 28)] = n; }")


def test_shared_memory_that_is_left_is_a_finding_where_the_file_tells_the_block() -> None:
    source = (
        "__global__ void far(float* x, int n) { __shared__ float s[16];"
        " s[threadIdx.x] = n; __syncthreads(); x[threadIdx.x] = s[0]; }"
    )
    (found,) = counted(source).findings()
    assert found.startswith("Would happen with the assumed launch: ")
    assert "of s, which has 16 elements" in found
    done = counted(f"{source} void run(float* x, int n) {{ far<<<2, 64>>>(x, n); }}")
    assert {hazard.kind for hazard in done.result.hazards} >= {OUT_OF_BOUNDS}


@pytest.mark.parametrize(
    ("launch", "values"),
    [
        ("void run(float* x) { constexpr int T{4 * 8U}; static_assert(T == 9); "
         "fill<T, float><<<1, T>>>(x); }", "32, float"),
        ("void run(float* x) { constexpr int T = 4 * 8; fill<T, float><<<1, T>>>(x); }",
         "32, float"),
        ("template <typename S> void run(S* x) { fill<64, S><<<1, 64>>>(x); }", "64, float"),
        ("template <class A> struct One {}; template <class A> void run(A* x) "
         "{ fill<64, A><<<1, 64>>>(x); }", "64, float"),
        # nobody calls the function that launches, so its own template has the usual values
        ("template <int STAGES> void run(float* x) "
         "{ constexpr int T = STAGES * 32; fill<T, float><<<1, T>>>(x); }", "64, float"),
        ("template <int WIDE> void run(float* x) { fill<WIDE * 2, float><<<1, 96>>>(x); }"
         "int main() { float* x; cudaMalloc(&x, 512); run<48>(x); }", "96, float"),
        ("", "256, float"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=6, first=TODAY)
def test_values_of_a_template(launch: str, values: str) -> None:
    source = """template <int BLOCK_SIZE, typename T> __global__ void fill(T* x) {
        __shared__ T s[BLOCK_SIZE];
        s[threadIdx.x] = T(1); __syncthreads(); x[threadIdx.x] = s[BLOCK_SIZE - 1 - threadIdx.x];
    }\n"""
    done = counted(source + launch)
    assert done.name == f"fill<{values}>"
    assert not done.result.hazards
    told = "by the file's main" if "main()" in launch else "told by line"
    assert (told if launch else "--entry 'fill<256, float>'") in "\n".join(done.sentences)


def test_a_product_that_no_launch_makes_right_is_counted_all_the_same() -> None:
    done = counted(
        "__global__ void matmul(const float* A, const float* B, float* C, int n) {"
        "  int r = blockIdx.y * blockDim.y + threadIdx.y;"
        "  int c = blockIdx.x * blockDim.x + threadIdx.x;"
        "  float s = 0; for (int k = 0; k < n; ++k) s += A[r * n + k] * B[c * n + k];"
        "  if (r < n && c < n) C[r * n + c] = 2 * s; }"
    )
    assert not done.verdicts
    assert not done.multiplies


def test_hostile_host_code_ends_soon() -> None:
    """Macros and variables that double each other are given up."""
    macros = "".join(f"#define D{i} (D{i + 1} + D{i + 1})\n" for i in range(60))
    variables = "".join(f"int v{i} = v{i + 1} + v{i + 1}; v{i} = w{i};" for i in range(60))
    done = counted(f"{macros}{ADD}void run(float* a, float* b) {{ {variables}"
                   "add<<<D0, v0>>>(a, b, v0); }")  # fmt: skip
    assert done.assumed


def test_of_several_launches_one_whose_block_fits_gives_the_values() -> None:
    done = counted(
        "template <int SIDE> __global__ void fill(float* x) {"
        "  x[(blockIdx.x * SIDE + threadIdx.y) * SIDE + threadIdx.x] = SIDE; }"
        "bool is_new() { return true; }"
        "int main() { float* x; cudaMalloc(&x, 4096); int side = is_new() ? 32 : 16;"
        "  dim3 block(side, side); if (side == 16) fill<16><<<4, block>>>(x);"
        "  else fill<32><<<1, block>>>(x); }"
    )
    assert done.name == "fill<32>"
    assert launched(done) == ("x:inout:1024", ("1",), ("32", "32"))
    assert not done.result.hazards


@pytest.mark.parametrize("given", ["a + 2, b", "&a[R], b"])
def test_a_pointer_into_an_array_starts_where_the_file_says(given: str) -> None:
    """So an index before the array is seen, and one inside it is right."""
    source = (
        "#define R 2\n"
        "__global__ void blur(float* x, float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        "  y[i] = x[i - BACK] + x[i]; }"
        "int main() { float *a, *b; cudaMalloc(&a, 1028 * 4); cudaMalloc(&b, 1024 * 4);"
        f"blur<<<8, 128>>>({given}); }}"
    )
    done = counted(source.replace("BACK", "2"))
    assert launched(done) == ("x:inout:1028@2 y:inout:1024", ("8",), ("128",))
    assert not done.result.hazards
    before = counted(source.replace("BACK", "3"))
    assert {hazard.kind for hazard in before.result.hazards} == {OUT_OF_BOUNDS}


def test_a_block_that_is_too_large_for_shared_arrays_is_halved() -> None:
    source = (
        "__global__ void turn(const float* x, float* y, int n) { __shared__ float s[64];"
        "  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; s[t] = i < n ? x[i] : 0;"
        "  BARRIER if (i < n) y[i] = s[blockDim.x - 1 - t]; }"
    )
    done = counted(source.replace("BARRIER", "__syncthreads();"))
    assert launched(done)[2] == ("64",)
    assert not done.result.hazards
    # What is wrong besides might be so because of the block alone: it is no error of the kernel.
    wrong = counted(source.replace("BARRIER", ""))
    assert not wrong.errors
    assert wrong.would_happen


def test_a_race_in_a_block_is_shown_though_no_arguments_fit() -> None:
    source = (
        "__global__ void keep(const float3* x, float* y, int n) { __shared__ float s[512];"
        "  int t = threadIdx.x; s[t] = x[10000000 + blockIdx.x].x; BARRIER y[t] = s[255 - t]; }"
    )
    found = checked(source.replace("BARRIER", "")).findings
    assert {one.severity for one in found} == {"warning"}
    assert {"race", "out of bounds"} <= {one.kind for one in found}
    with pytest.raises(LabError, match="No arguments that were tried keep 'keep' inside"):
        checked(source.replace("BARRIER", "__syncthreads();"))


PITCHED = """
__global__ void scale(float* x, size_t pitch, int w, int h) {
    int i = threadIdx.x, j = blockIdx.x;
    if (i < w && j < h) ROW[i] *= 2;
}
int main() {
    int w = 90, h = 50; size_t pitch; float* x;
    cudaMallocPitch((void**)&x, &pitch, w * sizeof(float), h);
    scale<<<h, 128>>>(x, pitch, w, h);
}
"""


def test_rows_of_pitched_memory_are_as_far_apart_as_it_makes_them() -> None:
    right = counted(PITCHED.replace("ROW", "((float*)((char*)x + j * pitch))"))
    assert launched(right)[0] == "x:inout:6400 pitch=512 w=90 h=50"
    assert not right.result.hazards
    wrong = counted(PITCHED.replace("ROW", "(x + j * pitch)"))
    assert {hazard.kind for hazard in wrong.result.hazards} == {OUT_OF_BOUNDS}


@pytest.mark.parametrize(
    ("bytes_", "more", "kinds"),
    [
        ("n * sizeof(float)", "", set()),
        ("n", "", {UNWRITTEN}),
        ("n", "cudaMemcpy(x, y, n * sizeof(float), cudaMemcpyHostToDevice);", set()),
        ("n", "fill(x);", set()),
    ],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_what_a_memset_leaves_out_holds_nothing(bytes_: str, more: str, kinds: set[str]) -> None:
    done = counted(
        "__global__ void count(float* x, int n) { atomicAdd(x + threadIdx.x % n, 1.0f); }"
        "int main() { int n = 64; float *x, *y; cudaMalloc(&x, n * sizeof(float));"
        f"  cudaMemset(x, 0, {bytes_}); {more} count<<<2, 128>>>(x, n); }}"
    )
    assert {hazard.kind for hazard in done.result.hazards} == kinds


def test_each_launch_of_the_file_runs() -> None:
    """The second one's size is too large for the shared array."""
    report = checked(
        "__global__ void sum(const float* x, float* y, int n) { __shared__ float s[256];"
        "  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];"
        "  __syncthreads(); if (threadIdx.x == 0) y[0] = s[0] + s[n - 1]; }"
        "int main() { float *x, *y; cudaMalloc(&x, 1200); cudaMalloc(&y, 4);"
        "  cudaMemset(x, 0, 1200); sum<<<1, 64>>>(x, y, 200); sum<<<1, 64>>>(x, y, 300); }"
    )
    assert ("s", "error") in {(one.array, one.severity) for one in report.findings}


def test_a_small_block_has_arrays_of_four_elements_for_each_thread() -> None:
    of_four = "reinterpret_cast<float4*>(s)[threadIdx.x] = ((float4*)x)[i];"
    text = f"int i = blockIdx.x * blockDim.x + threadIdx.x; __shared__ float s[512]; {of_four}"
    text += "__syncthreads(); y[4 * i] = s[0];"
    report = checked(f"__global__ void two(float* x, float* y, int n) {{ {text} }}")
    assert any("blocks of 128 threads" in one for one in report.said)
