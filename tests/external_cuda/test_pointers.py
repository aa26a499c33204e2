"""Kernels of a program that is followed use pointers that lie in memory."""

from pathlib import Path

import pytest

from sgemm_lab.external_cuda import check_file, read_kernel
from sgemm_lab.external_cuda.program import Program, follow_program

BATCHED = """
#include <cstdio>
__global__ void batched(const float *const *A, const float *const *B, float **C, int n) {
    const float *a = A[blockIdx.x], *b = B[blockIdx.x];
    float *c = C[blockIdx.x];
    int row = threadIdx.y, col = threadIdx.x;
    if (row >= n || col >= n) return;
    float acc = 0;
    for (int k = 0; k < n; k++) acc += a[row * n + k] * b[k * n + col];
    c[row * n + col] = acc;
}
int main() {
    const int n = 7, batch = 3, bytes = n * n * sizeof(float);
    float h[n * n], one[n * n] = {}, r[n * n];
    for (int i = 0; i < n * n; i++) h[i] = i;
    for (int i = 0; i < n; i++) one[i * n + i] = 1;
    float *all, *A[batch], *B[batch], *C[batch], **dA, **dB, **dC;
    cudaMalloc(&all, batch * bytes);
    for (int i = 0; i < batch; i++) {
        A[i] = all + i * n * n;
        cudaMalloc(&B[i], bytes);
        cudaMalloc(&C[i], bytes);
        cudaMemcpy(A[i], h, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(B[i], one, bytes, cudaMemcpyHostToDevice);
    }
    cudaMalloc(&dA, sizeof(A)); cudaMalloc(&dB, sizeof(B)); cudaMalloc(&dC, 2 * sizeof(C));
    cudaMemcpy(dA, A, sizeof(A), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sizeof(B), cudaMemcpyHostToDevice);
    cudaMemcpy(dC + batch, C, sizeof(C), cudaMemcpyHostToDevice);
    batched<<<batch, dim3(8, 8)>>>(dA, dB, dC + batch, n);
    int bad = 0;
    for (int i = 0; i < batch; i++) {
        cudaMemcpy(r, C[i], bytes, cudaMemcpyDeviceToHost);
        for (int j = 0; j < n * n; j++) bad += r[j] != h[j];
    }
    printf("%d bad\\n", bad);
    return bad != 0;
}
"""

EVERY_PLACE = """
#include <cstdio>
struct Layer { int rows; float *weights; double scale; char mark; Layer *next; };
struct Model { Layer *first; int layers; };
struct Row { int n; Row *other; };
__device__ float *sums;
__constant__ Model model;
__device__ Row row;
__global__ void add(Model given, Layer *shared, float **swapped) {
    Layer *one = model.first;
    for (int i = 0; i < given.layers; i++, one = one->next)
        if (threadIdx.x < one->rows)
            sums[threadIdx.x] += one->scale * one->weights[threadIdx.x] + one->mark;
    sums[threadIdx.x] += shared->weights[threadIdx.x];
    if (threadIdx.x) return;
    shared->rows = one == 0 && given.first == model.first;
    shared->next = given.first->next;
    row.other = &row;
    float *first = swapped[0];
    swapped[0] = swapped[1];
    swapped[1] = first;
}
__global__ void fill(float **swapped, float *to) {
    swapped[0][threadIdx.x] = 7;
    to[threadIdx.x] = row.other == &row;
}
int main() {
    const int n = 32;
    float h[n], *w[3], *total, **pair, *ends[2];
    for (float *&one : w) {
        for (int i = 0; i < n; i++) h[i] = i + (&one - w);
        cudaMalloc(&one, sizeof(h));
        cudaMemcpy(one, h, sizeof(h), cudaMemcpyHostToDevice);
    }
    Layer *layers, *shared;
    cudaMalloc(&layers, 2 * sizeof(Layer));
    Layer both[] = {{n, w[0], 2, 1, layers + 1}, {n, w[1], 3, 0, nullptr}};
    cudaMemcpy(layers, both, sizeof(both), cudaMemcpyHostToDevice);
    cudaMallocManaged(&shared, sizeof(Layer));
    *shared = {0, w[2], 1, 0, nullptr};
    cudaMalloc(&total, sizeof(h));
    cudaMemset(total, 0, sizeof(h));
    cudaMemcpyToSymbol(sums, &total, sizeof(total));
    Model made = {layers, 2};
    cudaMemcpyToSymbol(model, &made, sizeof(made));
    cudaMalloc(&pair, sizeof(ends));
    cudaMemcpy(pair, w, sizeof(ends), cudaMemcpyHostToDevice);
    add<<<1, n>>>(made, shared, pair);
    cudaMemcpy(h, total, sizeof(h), cudaMemcpyDeviceToHost);
    int bad = shared->rows != 1 || shared->next != layers + 1;
    for (int i = 0; i < n; i++) bad += h[i] != 2 * i + 1 + 3 * (i + 1) + i + 2;
    cudaMemcpy(ends, pair, sizeof(ends), cudaMemcpyDeviceToHost);
    bad += ends[0] != w[1] || ends[1] != w[0];
    fill<<<1, n>>>(pair, total);
    cudaMemcpy(h, ends[0], sizeof(h), cudaMemcpyDeviceToHost);
    for (float one : h) bad += one != 7;
    cudaMemcpy(h, total, sizeof(h), cudaMemcpyDeviceToHost);
    for (float one : h) bad += one != 1;
    printf("%d bad\\n", bad);
    return bad;
}
"""


def followed(folder: Path, text: str) -> Program:
    path = folder / "file.cu"
    path.write_text(text, encoding="utf-8")
    return follow_program(read_kernel(path).pasted)


def errors(program: Program) -> list[str]:
    every = [one for found in program["findings"].values() for one in found]
    return [one["message"] for one in every if one["severity"] == "error"]


@pytest.mark.parametrize("text", [BATCHED, EVERY_PLACE])
def test_pointers_lead_to_what_the_host_allocated(tmp_path: Path, text: str) -> None:
    program = followed(tmp_path, text)
    assert (program["stopped"], errors(program)) == ("", [])
    assert (program["printed"], program["status"]) == (["0 bad"], 0)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("b[k * n + col]", "b[col * n + k + 1]", "which has 49 elements"),
        ("c[row * n + col] = acc", "c[row] = acc", "of C[i]"),
        ("float *c = C[blockIdx.x]", "float *c = C[0]", "98 bad"),
        ("B[i], one, bytes, cudaMemcpyHostToDevice", "B[i], B[i], 0, cudaMemcpyDeviceToDevice",
         "nothing has written"),
        ("batched<<<", "cudaFree(C[1]); batched<<<", "leads to no array"),
        ("(dB, B, sizeof(B)", "(dB, B, sizeof(B) - sizeof(float*)", "nothing has written"),
    ],
)  # fmt: skip
def test_faults_behind_pointers_are_errors(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    assert right in BATCHED
    found = errors(followed(tmp_path, BATCHED.replace(right, wrong)))
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("struct Layer {", "struct alignas(64) Layer {", "an array of Layer, which has pointers"),
        ("row.other = &row", "shared->weights = (float*)&given", "leads to none of its arrays"),
    ],
)
def test_what_pointers_are_not_followed_is_said(
    tmp_path: Path, right: str, wrong: str, says: str
) -> None:
    program = followed(tmp_path, EVERY_PLACE.replace(right, wrong))
    assert says in program["stopped"]
    assert errors(program) == []


def test_a_report_says_that_other_orders_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "file.cu"
    path.write_text(BATCHED, encoding="utf-8")
    (report,) = check_file(read_kernel(path))
    assert report.verdict == "no fault found"
    assert "No other order was tried: arrays of pointers" in report.said[0]
