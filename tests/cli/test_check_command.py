"""``check`` of files without a head comment: its messages."""

from pathlib import Path

import pytest

from sgemm_lab.cli.main import main

AXPY = """__global__ void axpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
UNGUARDED = """template <int T>
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
"""
ARGUMENTS = ["--args", "n=4096 2.0 x:in:4096 y:inout:4096", "--grid", "16", "--block", "256"]


def test_a_kernel_that_is_no_product_is_checked_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "axpy.cu").write_text(AXPY)
    for options in ([], ARGUMENTS):
        assert main(["check", str(tmp_path / "axpy.cu"), *options]) == 0
        assert "axpy.cu, line 1: axpy: no fault found" in capsys.readouterr().out
    call = ["check", str(tmp_path / "axpy.cu"), *ARGUMENTS, "--expect"]
    assert main([*call, "2 * x + y"]) == 0
    assert main([*call, "2 * x"]) == 1


def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "axpy.txt").write_text(AXPY)
    assert main(["check", str(tmp_path / "axpy.txt"), *ARGUMENTS]) == 2
    said = capsys.readouterr().err
    assert "axpy.txt' is not a CUDA file: its name must end in .cu or .cuh." in said


def test_wrong_sizes_are_named_once_for_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mm.cu").write_text(UNGUARDED)
    launch = ["--entry", "mm<16>", "--grid", "ceil(N/16),ceil(M/16)", "--block", "16,16"]
    sizes = [f"--size={n},{n},{n}" for n in (1, 2, 3, 4, 5, 6, 7, 16)]
    assert main(["check", str(tmp_path / "mm.cu"), *launch, *sizes]) == 1
    said = capsys.readouterr().out
    assert said.count("error: At 1 × 1 × 1: ") == 1
    assert said.count("error: ") <= 3
    assert "right exactly where 16 divides M, N and K" in said
