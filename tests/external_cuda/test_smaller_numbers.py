"""A launch of the file's main runs again with smaller numbers than main's own."""

import pytest
from file_reports import checked

MAIN = """
#include <cstdio>
#include <cuda_runtime.h>
__global__ void own(const int *x, float *y, int n, int m)
{
    BODY
}
int main()
{
    const int n = SIZE, m = OTHER;
    static int h[COUNT];
    for (int i = 0; i < COUNT; i++) h[i] = i / 3 % m;
    int *x; float *y;
    cudaMalloc(&x, sizeof(h)); cudaMalloc(&y, sizeof(h));
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof(h));
    own<<<GRID>>>(x, y, n, m);
    cudaDeviceSynchronize();
    puts("done");
    return 0;
}
"""
ROW = """
    __shared__ float row[130];
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    row[threadIdx.x] = x[i];
    if (threadIdx.x < 2) row[128 + threadIdx.x] = x[min(i + 128, n - 1)];
    __syncthreads();
    y[i] = row[threadIdx.x] + row[threadIdx.x + 2];
"""
TURN = """
    const int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < n && j < m) y[i * STRIDE + j] = x[j * n + i];
"""
FIND = """
    for (unsigned i = threadIdx.x; i <= (unsigned)(n - m); i += 32) {
        int k = 0;
        while (k < m && x[i + k] == x[k]) k++;
        if (k == m) atomicAdd(y, 1.0f);
    }
"""
ROOTS = """
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 128) {
        float sum = 0;
        for (int j = 0; j < n; j++) sum += x[PRODUCT % n];
        y[i] = sum;
    }
"""
CLASSES = """
    __shared__ float of[64];
    for (int i = threadIdx.x; i < m; i += 64) of[i] = 2 * i;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 64) y[i] = of[x[i]];
"""
WINDOWS = """
    const int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    if (i < n - m + 1) {
        for (int k = 0; k < m; k++) sum += x[i + k];
        y[i] = sum;
    }
"""
GROUPS = """
    __shared__ float part[128];
    float *own = part + threadIdx.y * m;
    own[threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    for (int s = m / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) own[threadIdx.x] += own[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[threadIdx.y] = own[0];
"""


def program(body: str, size: int, other: int, grid: str, count: int = 0) -> str:
    parts = {"BODY": body, "SIZE": size, "OTHER": other, "GRID": grid, "COUNT": count or size}
    text = MAIN
    for name, value in parts.items():
        text = text.replace(name, f"{value}")
    return text


ROWS = program(ROW, 384, 5, "3, 128")
TURNED = program(TURN.replace("STRIDE", "n"), 48, 48, "dim3(3, 3), dim3(16, 16)", 48 * 48)
FOUND = program(FIND, 90, 4, "1, 32")
OF_ROOTS = program(ROOTS.replace("PRODUCT", "(i * j)"), 300, 7, "2, 64")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (ROWS, "unwritten", "if n were 383, where main passes 384."),
        (TURNED, "race", "if n were 47, where main passes 48."),
        (FOUND, "out of bounds", "if n were 3 and m 4, where main passes 90."),
        (OF_ROOTS, "out of bounds", "too few if n were 46,"),
    ],
    ids=["row", "turned", "found", "roots"],
)
def test_a_fault_at_other_numbers_is_a_warning(text: str, kind: str, said: str) -> None:
    report = checked(text)
    (finding,) = report.findings
    assert (finding.severity, finding.kind) == ("warning", kind)
    assert said in finding.message


# The result has n - m + 1 elements, as has its array.
WINDOWED = program(WINDOWS, 100, 5, "2, 64").replace(
    "cudaMalloc(&y, sizeof(h))", "cudaMalloc(&y, 96 * 4)"
)
WINDOWED = WINDOWED.replace("cudaMemset(y, 0, sizeof(h))", "cudaMemset(y, 0, 96 * 4)")
FULL = ROW.replace("if (i >= n) return;", "const bool in = i < n;").replace("x[i]", "in ? x[i] : 0")


@pytest.mark.parametrize(
    "text",
    [
        ROWS.replace("own<<<", "if (n % 128 != 0) return 1;\n    own<<<"),
        program(FULL.replace("y[i] =", "if (in) y[i] ="), 384, 5, "3, 128"),
        TURNED.replace("y[i * n", "y[i * m"),
        FOUND.replace("own<<<", "if (m > n) return 1;\n    own<<<"),
        program(ROOTS.replace("PRODUCT", "((long)i * j)"), 300, 7, "2, 64"),
        program(ROOTS.replace("PRODUCT", "(i * 5000 + j)"), 300, 7, "2, 64"),
        program(ROOTS.replace("PRODUCT", "(i * j)"), 300, 7, "2, 64", 20000),
        WINDOWED,
        program(CLASSES, 500, 37, "1, 64"),
        program(GROUPS, 128, 32, "1, dim3(32, 4)"),
    ],
    ids=[
        "checked",
        "full",
        "turned",
        "order",
        "wide",
        "linear",
        "large",
        "windows",
        "classes",
        "groups",
    ],
)
def test_what_cannot_be_or_does_no_harm_is_not_told(text: str) -> None:
    assert not checked(text).findings
