"""Lanes and warps whose values a reduction leaves out are named; nothing else is."""

import pytest
from file_reports import checked
from turns import TAKES_TURNS, TODAY

pytestmark = TAKES_TURNS

ROWS = """
__global__ void rows(const float* x, float* y, int cols) {
    __shared__ float part[6];
    int t = threadIdx.x;
    float s = 0;
    for (int c = t; c < cols; c += 192) s += x[blockIdx.x * cols + c] * x[blockIdx.x * cols + c];
    for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
    if (t % 32 == 0) part[t / 32] = s;
    __syncthreads();
    if (t >= 32) return;
    s = t < 6 ? part[t] : 0;
    for (int o = 4; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
    if (t == 0) y[blockIdx.x] = s;
}
void run(const float* x, float* y, int count, int cols) { rows<<<count, 192>>>(x, y, cols); }
"""
LANES = """
__global__ void largest(const int* x, int* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, v = i < n ? x[i] : -2147483647;
    for (int o = 16; o > 0; o >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, o));
    if (threadIdx.x % 32 == 0 && i < n) y[i / 32] = v;
}
"""
TREE = """
__global__ void tree(const double* in, double* out, int n) {
    __shared__ double buf[128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
    buf[t] = i < n ? in[i] : 0.0;
    __syncthreads();
    for (unsigned s = 64; s > 0; s >>= 1) { if (t < s) buf[t] += buf[t + s]; __syncthreads(); }
    if (t == 0) out[blockIdx.x] = buf[0];
}
void run(const double* in, double* out, int n) { tree<<<(n + 127) / 128, 128>>>(in, out, n); }
"""
SINGLE = TREE.replace("blockIdx.x * 128 + t", "t").replace("s = 64", "s = blockDim.x / 2")
SINGLE = SINGLE.replace("(n + 127) / 128, 128>>>", "1, n < 128 ? 64 : 128>>>")
BLUR = """
__global__ void blur(const float* x, float* y, int n) {
    __shared__ float s[258];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t + 1] = i < n ? x[i] : 0;
    if (t == 0) s[0] = i ? x[i - 1] : 0;
    if (t == 255) s[257] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    if (i < n) y[i] = (s[t] + s[t + 1] + s[t + 2]) / 3;
}
"""
CHOSEN = """
__global__ void chosen(const float* x, const int* mask, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n && mask[i] > 1000) y[i] = v;
}
"""
FEW = """
__global__ void matches(const char* text, int* hits, int n, int m) {
    __shared__ char s[256 + 31];
    int base = blockIdx.x * 256, i = base + threadIdx.x;
    for (int k = threadIdx.x; k < 255 + m; k += 256) s[k] = base + k < n ? text[base + k] : 0;
    __syncthreads();
    if (i > n - m) return;
    for (int j = 0; j < m; ++j) if (s[threadIdx.x + j] != 'a') return;
    hits[i] = 1;
}
void run(const char* text, int* hits, int n) {
    matches<<<(n + 255) / 256, 256>>>(text, hits, n, 32);
}
"""
"""Most threads have nothing to do where the text is as short as what is looked for."""
LATE = """
__global__ void twice(const float* x, float* y, int n) {
    int i = 2 * (blockIdx.x * 256 + threadIdx.x);
    float a = x[i], b = x[i + 1];
    __syncthreads();
    if (i < n && i < 256) { y[i] = 2 * a; y[i + 1] = 2 * b; }
}
"""
"""Half of the threads load for nothing, but no thread hands on what it loads."""


def messages(text: str) -> list[str]:
    report = checked(text)
    return [one.message for one in report.findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "who"),
    [
        (ROWS, "o = 4;", "o = 3;", "warps 2, 5 of the block"),
        (LANES, "o = 16;", "o = 8;", "lanes 16, 17, "),
        (LANES, "o > 0;", "o > 1;", "lanes 1, 3, 5, "),
        (TREE, "s > 0;", "s > 1;", "lanes 1, 3, 5, "),
        (SINGLE, "? 64", "? n", "warp 1 of the block"),
        (TREE, "s = 64;", "s = 32;", "warps 2, 3 of the block"),
    ],
)
@pytest.mark.sampled(every=6, first=TODAY)
def test_what_a_reduction_leaves_out_is_named(text: str, right: str, wrong: str, who: str) -> None:
    assert messages(text) == []
    (found,) = messages(text.replace(right, wrong))
    assert f"nothing of what {who}" in found


@pytest.mark.parametrize("text", [BLUR, CHOSEN, FEW, LATE])
@pytest.mark.sampled(every=4, first=TODAY)
def test_what_others_use_or_a_condition_leaves_is_not(text: str) -> None:
    assert messages(text) == []
