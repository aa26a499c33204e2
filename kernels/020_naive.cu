// title: Naive
// parent: naive_rows
// change: Neighbouring threads compute neighbouring columns of C instead of neighbouring rows.
// chapter: 1
// grid: ceil(N / BN), ceil(M / BM)
// block: BN, BM
//
// One thread computes one element of C. threadIdx.x counts columns, so the 32 threads of a warp
// stand side by side in one row of C, and read side by side in one row of B.

constexpr int BM = 8;   // rows of C per block
constexpr int BN = 64;  // columns of C per block

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int row = blockIdx.y * BM + threadIdx.y;
    const int col = blockIdx.x * BN + threadIdx.x;
    if (row >= M || col >= N) return;  // the last blocks reach past the edge of C

    // 64-bit indices: a matrix may have more than 2^31 elements.
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];
    }
    C[size_t(row) * N + col] = acc;
}
