"""Kernels of others, checked size by size."""

import re
from pathlib import Path

import pytest
from file_reports import checked
from turns import TAKES_TURNS

from sgemm_lab.cli.main import main
from sgemm_lab.external_cuda import KernelReport, Options
from sgemm_lab.kernel import Size

pytestmark = TAKES_TURNS

BLAS = """
#include <cublas_v2.h>
__global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B,
                     float beta, float* C) {
    int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (i < M && j < N) {
        float acc = 0;
        for (int k = 0; k < K; ++k) acc += A[i * K + k] * B[k * N + j];
        C[i * N + j] = alpha * acc + beta * C[i * N + j];
    }
}
int main() { cublasSgemm(); }
"""
TILED = """
__global__ void tiled(float* a, float* b, float* c, int n) {
    __shared__ float s[8][8], t[8][8];
    int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * 8 + x, i = blockIdx.y * 8 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        s[y][x] = a[i * n + k + x];
        t[y][x] = b[(k + y) * n + j];
        __syncthreads();
        for (int l = 0; l < 8; ++l) sum += s[y][l] * t[l][x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
"""
SIZES: list[Size] = [(1, 1, 1), (8, 8, 8), (9, 17, 5), (16, 8, 3)]


def reported(text: str, sizes: list[Size] | None = None) -> KernelReport:
    grid = ("ceil(N/8)", "ceil(M/8)")
    return checked(text, Options(sizes), grid=grid, block=("8", "8"))


def test_right_kernel_is_right_at_all_sizes() -> None:
    found = reported(BLAS, SIZES).sizes
    assert [(r.fault, r.refusal) for r in found] == [(None, None)] * 4
    assert 0 < max(r.error for r in found) < 1


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("alpha * acc + beta", "acc + beta", "With M N K 2 A B -1 C, .*C is right without alpha"),
        ("+ beta * C[i * N + j]", "", "C is right without beta"),
        ("k < K", "k < K / 8 * 8", "elements of C are wrong on whole numbers"),
        ("k < K", "k <= K", "reads element .* of [AB], which has"),
        ("acc += A", "if (A[i * K + k] != 0) acc += A", "where A and B hold NaN and infinity"),
        ("acc = 0;", "acc = 1e-4f;", "by more than rounding explains|on whole numbers"),
        ("if (i", "const_cast<float*>(A)[0] = 1; if (i", "It changed A, which it may only read"),
        ("++k)", ")", "does not come to an end"),
    ],
)
def test_wrong_kernels_are_rejected_by_name(old: str, new: str, fault: str) -> None:
    assert old in BLAS
    found = [r.fault for r in reported(BLAS.replace(old, new), [(9, 17, 5)]).sizes]
    assert found[0]

    assert re.search(fault, found[0], re.S), found[0]


def test_kernel_for_whole_tiles_and_squares_alone() -> None:
    sizes: list[Size] = [(n, n, n) for n in (1, 8, 9, 12, 16, 24)]
    found = reported(TILED, sizes)
    assert [r.passed for r in found.sizes] == [False, True, False, False, True, True]
    assert "right exactly where 8 divides M, N and K." in " ".join(found.said)
    assert all(r.m == r.n == r.k for r in reported(TILED).sizes)


def test_a_kernel_for_whole_tiles_is_accused_of_whole_tiles_only() -> None:
    text = TILED.replace("int n)", "int m, int n, int K)").replace("a[i * n", "a[i * K")
    text = text.replace("k < n", "k < K")
    swapped = """void run(float* a, float* b, float* c, int m, int n, int K) {
        tiled<<<dim3((m + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, K); }"""
    report = checked(text + swapped)
    assert report.verdict == "wrong"
    for one in report.findings:
        sides = re.findall(r"\d+", one.message.split(":")[0])
        assert (one.severity == "error") == all(int(side) % 8 == 0 for side in sides)


def test_command_checks_a_file_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.cu"
    path.write_text(BLAS)
    call = ["check", str(path), "--grid", "ceil(N/8),ceil(M/8)", "--block", "8,8"]
    assert main([*call, "--size", "9,17,5", "--size", "8"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "1 kernel: 1 right"
    assert "C was compared with the exact product at 2 sizes; right at 2." in said.out
    assert "is simulated on this machine's processor" in said.err
    path.write_text(TILED)
    assert main([*call, *(f"--size={n}" for n in (8, 9, 16))]) == 1
    assert "Of these sizes it is right exactly where 8 divides" in capsys.readouterr().out
    assert main([*call[:2], *call[4:], "--size", "8"]) == 0
    assert "Launch, found by trial: a grid of ceil(N/8) × ceil(M/8)" in capsys.readouterr().out
    assert main(["check", "naive", *call[1:]]) == 2
