// title: Thread tile, from global memory alone
// parent: naive
// change: A thread computes TM × TN elements of C instead of one.
// chapter: 5
// grid: ceil(N / BN), ceil(M / BM)
// block: BN / TN, BM / TM
//
// One thread computes TM × TN elements of C. For each k it reads TM elements of A and TN of B,
// straight from global memory, and makes TM · TN products of them.

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int TM = 4;   // rows of C per thread
constexpr int TN = 4;   // columns of C per thread

static_assert(BM % TM == 0 && BN % TN == 0, "TM must divide BM, and TN must divide BN.");
static_assert(BM * BN / (TM * TN) <= 1024, "A block has at most 1024 threads: make TM larger.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int row = blockIdx.y * BM + threadIdx.y * TM;  // my first row
    const int col = blockIdx.x * BN + threadIdx.x * TN;  // my first column

    // 64-bit indices: a matrix may have more than 2^31 elements.
    float acc[TM][TN] = {};
    for (int k = 0; k < K; ++k) {
        // Past the edge the last row or column is read again; its products are not stored.
        for (int i = 0; i < TM; ++i) {
            for (int j = 0; j < TN; ++j) {
                acc[i][j] += A[size_t(min(row + i, M - 1)) * K + k] *
                             B[size_t(k) * N + min(col + j, N - 1)];
            }
        }
    }
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            if (row + i < M && col + j < N) C[size_t(row + i) * N + col + j] = acc[i][j];
        }
    }
}
