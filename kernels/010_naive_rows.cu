// title: Naive rows
// parent: none
// chapter: 1
// grid: ceil(N / BN), ceil(M / BM)
// block: BM, BN
//
// One thread computes one element of C. threadIdx.x counts rows, so the 32 threads of a warp
// stand under each other in one column of C.

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 8;   // columns of C per block

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int row = blockIdx.y * BM + threadIdx.x;
    const int col = blockIdx.x * BN + threadIdx.y;
    if (row >= M || col >= N) return;  // the last blocks reach past the edge of C

    // 64-bit indices: a matrix may have more than 2^31 elements.
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];
    }
    C[size_t(row) * N + col] = acc;
}
