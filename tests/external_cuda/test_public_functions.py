"""``external_cuda`` used alone, as its docstring shows."""

from pathlib import Path

from sgemm_lab import external_cuda

SOURCE = """
__global__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = START; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
"""
SHAPE = {"grid": ("ceil(N/8)", "ceil(M/8)"), "block": ("8", "8")}


def test_a_file_is_counted_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "multiply.cu"
    path.write_text(SOURCE)
    for start, right in (("0", True), ("1", False)):
        kernel = external_cuda.read_kernel(path, **SHAPE, defines={"START": start})
        run = external_cuda.count_external(kernel, (16, 8, 4))
        assert run.wrong != right
        assert run.result.counts.total.global_store_requests == 4
        options = external_cuda.Options(sizes=[(9, 10, 11)])
        (report,) = external_cuda.check_file(kernel, options)
        assert report.verdict == ("right" if right else "wrong")
