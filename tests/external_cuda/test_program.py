"""The file's own main is followed: what it launches, compares and prints."""

from pathlib import Path

import pytest

from sgemm_lab.external_cuda import check_file, read_kernel
from sgemm_lab.external_cuda.program import Program, follow_program

SCALE = """
#include <cstdio>
#include <vector>
__global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
int main() {
    const int n = 1000;
    std::vector<float> h(n), r(n);
    for (int i = 0; i < n; i++) h[i] = i;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 127) / 128, 128>>>(x, y, n);
    cudaMemcpy(r.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
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


def followed(folder: Path, text: str) -> Program:
    path = folder / "file.cu"
    path.write_text(text, encoding="utf-8")
    return follow_program(read_kernel(path).pasted)


def errors(program: Program) -> list[str]:
    every = [one for found in program["findings"].values() for one in found]
    assert all(one["severity"] != "warning" for one in every)
    return [one["message"] for one in every if one["severity"] == "error"]


LARGE = SCALE.replace("n = 1000;", "n = 1 << 24;")


@pytest.mark.parametrize("text", [SCALE, LINES, TABLE, MARK, LARGE])
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
        (LARGE, "2.0f * x[i]", "x[i] + x[i / 2]", "ends with status 1"),
        (SCALE, "/ 128, 128>>>", "/ 128, 2048>>>", "a block of 2048 threads is too large"),
        (SCALE, "128>>>", "128, 50000>>>", "need cudaFuncSetAttribute"),
        (SCALE, "scale<<<(n + 127) / 128, 128>>>(x,", "scale<<<8, 128>>>(h.data(),", "of the host"),
        (SCALE, "(r.data(), y, n * sizeof(float)", "(r.data(), y, n * 8", "takes 8000 bytes of r"),
        (LINES, "blockDim.x * gridDim.x", "blockDim.x", "letters (expected 5000)"),
        (TABLE, "size_t base = (size_t)", "int base = ", "element -"),
        (MARK, "level[i] != now", "level[i] < 0", "accesses at line"),
    ],
)
def test_what_the_program_comes_to_is_an_error(
    tmp_path: Path, text: str, right: str, wrong: str, says: str
) -> None:
    assert right in text
    found = errors(followed(tmp_path, text.replace(right, wrong)))
    assert any(says in one for one in found), found


def test_constants_that_are_made_smaller_are_named(tmp_path: Path) -> None:
    program = followed(tmp_path, LARGE)
    assert "n is 1,048,576 for 16,777,216" in program["sizes"]


def test_constants_with_numbers_that_depend_on_them_stay(tmp_path: Path) -> None:
    text = LARGE.replace("int bad = 0;", "int bad = 0, last = 16000000;")
    program = followed(tmp_path, text)
    assert program["stopped"]
    assert not program["sizes"]


LANGUAGE = [
    "unsigned u = 1u << 31; u *= 2; r = u; int m = 7 % 3 - 1; r += m;",
    "long long a = 6364136223846793005LL; a = a * a + 1; r = (int)(a >> 60) != 6;",
    'std::string s = "a"; for (char c : s + "bc") s += c; r = s != "aabc" || s.size() != 4;',
    "std::vector<int> v{3, 1, 2}; std::sort(v.begin(), v.end(), [](int a, int b)"
    " { return a > b; }); r = v[0] != 3 || v.back() != 1;",
    "auto add = [&](int x) { r += x; return r; }; add(2); r = add(3) - 5;",
    "Pair p{1, 2.5f}, q = p; q.b *= 2; r = twice(q).b != 10 || p.b != 2.5f;",
    "int t[2][3] = {{1, 2, 3}, {4, 5, 6}}; int *p = &t[1][0]; r = *(p + 2) - t[0][2] - 3;",
    "int k = 0; do { if (k == 3) continue; } while (++k < 5); switch (k) { case 4: r = 1; break;"
    " case 5: r = 0; break; default: r = 2; }",
    "std::queue<int> w; w.push(4); w.push(5); w.pop(); r = w.front() - 5 + largest(2, 1) - 2;",
    "Bits b; b.f = 1.0f; r = b.u != 0x3f800000u || fib(10) != 55 || std::max(1, 2) != 2;",
    "int *h = new int[4]; memset(h, 0, 16); h[2]++; r = h[2]-- - 1 + h[2]; delete[] h;",
    "float f = 16777216.0f; f += 1.0f; r = f != 16777216.0f || (int)2.9f != 2 || 7 / 2 * 2.0 != 6;",
]


def test_a_program_that_fills_no_array_says_nothing_of_what_kernels_read(tmp_path: Path) -> None:
    text = SCALE.replace("cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);", "")
    program = followed(tmp_path, text)
    assert errors(program) == []
    assert "has not filled" in program["stopped"]


@pytest.mark.parametrize("statements", LANGUAGE)
def test_host_code_gives_what_c_gives(tmp_path: Path, statements: str) -> None:
    text = """
#include <vector>
struct Pair { int a; float b; };
union Bits { float f; unsigned u; };
static Pair twice(Pair p) { p.b = 2 * p.b; return p; }
template <typename T> T largest(const T &a, const T &b) { return a < b ? b : a; }
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void k(int *x) { x[0] = 1; }
#define CHECK(call) \\
    do { if (cudaError_t e = (call)) { printf("%s\\n", #call); return 9; } } while (0)
int main(int argc, char **argv) {
    int r = argc - 1, *d;
    CHECK(cudaMalloc(&d, 4));
    k<<<1, 1>>>(d);
    STATEMENTS
    return r;
}
"""
    assert errors(followed(tmp_path, text.replace("STATEMENTS", statements))) == []
    wrong = text.replace("STATEMENTS", f"{statements} r = !r;")
    assert "ends with status 1" in errors(followed(tmp_path, wrong))[0]


def test_a_report_has_what_the_program_showed(tmp_path: Path) -> None:
    path = tmp_path / "file.cu"
    path.write_text(SCALE.replace("(n + 127) / 128", "n / 128"), encoding="utf-8")
    (report,) = check_file(read_kernel(path))
    assert report.verdict == "wrong"
    assert "it launches scale 1 time" in " ".join(report.said)
