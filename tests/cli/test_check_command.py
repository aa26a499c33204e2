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


@pytest.mark.parametrize(
    ("name", "options", "sentences"),
    [
        ("axpy.cu", [], ["Say it with --args", "for another kernel use 'sgemm-lab count'"]),
        ("axpy.cu", ARGUMENTS, ["Use 'sgemm-lab count axpy.cu' with the same options, and"]),
        ("axpy.txt", ARGUMENTS, ["axpy.txt' is no CUDA file: its name must end in .cu or .cuh."]),
    ],
)
def test_what_is_no_product_is_led_to_count(
    name: str,
    options: list[str],
    sentences: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_text(AXPY)
    assert main(["check", str(tmp_path / name), *options]) == 2
    said = capsys.readouterr().err
    assert all(sentence in said for sentence in sentences), said


def test_many_wrong_sizes_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mm.cu").write_text(UNGUARDED)
    launch = ["--entry", "mm<16>", "--grid", "ceil(N/16),ceil(M/16)", "--block", "16,16"]
    sizes = [f"--size={n},{n},{n}" for n in (1, 2, 3, 4, 5, 6, 7, 16)]
    assert main(["check", str(tmp_path / "mm.cu"), *launch, *sizes]) == 1
    said = capsys.readouterr().out
    assert said.count("mm<16> at ") == 5
    assert "mm<16>: wrong at 2 more sizes; --json prints them all.\n" in said


def test_a_grid_that_is_no_arithmetic_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mm.cu").write_text(UNGUARDED)
    main(["check", str(tmp_path / "mm.cu"), "--entry", "mm<16>", "--grid", "M|2", "--block", "16"])
    said = capsys.readouterr()
    assert "The grid is 'M|2', which may hold only whole numbers, +" in said.out + said.err
