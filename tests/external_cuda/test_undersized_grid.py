"""A guard is tried with more blocks than the launch has."""

import pytest
from file_reports import checked
from turns import TAKES_TURNS, TODAY

pytestmark = TAKES_TURNS

SCALE = """
__global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
void run(const float *x, float *y, int n) { scale<<<(n + 255) / 256, 256>>>(x, y, n); }
"""
UNGUARDED = SCALE.replace("if (i < n) ", "")
SUMS = """
__global__ void sums(const float *x, float *part, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) for (int k = 1; k < 256; k++) s[0] += s[k];
    if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}
int main() {
    float *x, *part;
    cudaMalloc(&x, 4096 * sizeof(float));
    cudaMalloc(&part, 16 * sizeof(float));
    sums<<<16, 256>>>(x, part, 4096);
}
"""
SPREAD = """// a, b and c % 128 == 0
__global__ void spread(float4* y, const float4* x, int a, int b, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a * b * (c / 4)) y[i] = x[i % c];
}
"""


def messages(text: str) -> list[str]:
    report = checked(text)
    return [one.message for one in report.findings]


@pytest.mark.parametrize("text", [SCALE, SUMS, SPREAD])
@pytest.mark.sampled(every=3, first=TODAY)
def test_blocks_that_no_launch_has_may_do_anything(text: str) -> None:
    assert messages(text) == []


def test_a_guard_that_lets_one_too_many_through_is_named() -> None:
    (first, *_) = messages(SCALE.replace("i < n", "i <= n"))
    assert "element 4096 of x" in first
    assert "with a block more than the launch has" in first


def test_a_tail_that_is_left_out_shows_at_sizes_that_no_block_divides() -> None:
    pairs = SCALE.replace("if (i < n) y[i]", "if ((i *= 2) + 1 < n) y[i + 1] = y[i]")
    (found,) = messages(pairs.replace("(n + 255) / 256", "(n + 511) / 512"))
    assert "leaves out elements of y: it writes 4,098 of 4,099" in found


def test_a_missing_guard_shows_at_sizes_that_no_block_divides() -> None:
    (read, written) = messages(UNGUARDED)
    assert "reads element 4,351 of x, which by the sizes has 4,099" in read
    assert "writes element 4,351 of y" in written


STRIDE = SCALE.replace("if (i < n)", "for (; i < n; i += gridDim.x * blockDim.x)")
PLANE = """
__global__ void grey(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[y * width + x] / 2;
}
void run(const float* in, float* out, int width, int height) {
    dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    grey<<<grid, block>>>(in, out, width, height);
}
"""


@pytest.mark.parametrize(
    ("text", "up", "down"),
    [
        (SCALE, "(n + 255) / 256", "n / 256"),
        (PLANE, "(width + 15) / 16", "width / 16"),
        (PLANE, "(height + 15) / 16", "height / 16"),
    ],
)
@pytest.mark.sampled(every=3, first=TODAY)
def test_a_grid_that_rounds_down_leaves_elements_out(text: str, up: str, down: str) -> None:
    assert messages(text) == []
    (found,) = messages(text.replace(up, down))
    assert "The launch leaves out elements of " in found


def test_a_loop_over_the_grid_leaves_nothing_out() -> None:
    assert messages(STRIDE.replace("(n + 255) / 256", "n / 256")) == []


def test_rows_that_no_float4_reaches_are_misaligned_at_odd_sizes() -> None:
    rows = """
__global__ void copy(const float* x, float* y, int n, int d) {
    const float* from = x + blockIdx.x * d;
    for (int i = 4 * threadIdx.x; i < d / 4 * 4; i += 4 * blockDim.x)
        *(float4*)(y + blockIdx.x * d + i) = make_float4(from[i], from[i + 1], from[i + 2], 0);
}
void run(const float* x, float* y, int n, int d) { copy<<<n, 128>>>(x, y, n, d); }
"""
    (found,) = messages(rows)
    assert "not at a multiple of 16 bytes" in found
    assert "It happens with " in found


SUM = """
__global__ void sum(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    GUARD
    float v = VALUE;
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0 && i < n) y[i / 32] = v;
}
"""


@pytest.mark.parametrize(
    ("guard", "value", "count"),
    [("if (i >= n) return;", "x[i]", 1), ("", "i < n ? x[i] : 0", 0),
     ("if (i - threadIdx.x % 32 >= n) return;", "i < n ? x[i] : 0", 0)],
)  # fmt: skip
def test_lanes_that_miss_show_at_sizes_that_no_warp_divides(
    guard: str, value: str, count: int
) -> None:
    found = messages(SUM.replace("GUARD", guard).replace("VALUE", value))
    assert ["a lane of its warp that does not run" in one for one in found] == [True] * count
