// title: Sliding window, numbered threads
// parent: sliding_window:BK=32
// change: Threads are numbered consecutively; a thread's number says what it copies and computes.
// chapter: 5
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN, 1
//
// The same tile and the same window. But a thread has no row and column of its own any more, only a
// number, so that tile and window can have any shape, whatever the shape of the block.

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block
constexpr int BK = 32;  // width of the window along K
constexpr int THREADS = BM * BN;

static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "Each thread copies as many: THREADS must divide BM * BK and BK * BN.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make BM or BN smaller.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[BM][BK];  // rows of A × the window's k
    __shared__ float Bs[BK][BN];  // the window's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % BN;  // my column of the tile
    const int ty = tid / BN;  // my row of the tile
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    // My block's rows of A and columns of B. They move along K with the window.
    const float* Ablock = A + size_t(blockRow) * K;
    const float* Bblock = B + blockCol;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Past an edge of A or B stands a zero, which adds nothing to any sum.
        for (int l = 0; l < BM * BK; l += THREADS) {
            const int r = (l + tid) / BK, k = (l + tid) % BK;
            const bool inside = blockRow + r < M && k0 + k < K;
            As[r][k] = inside ? Ablock[r * K + k] : 0.0f;
        }
        for (int l = 0; l < BK * BN; l += THREADS) {
            const int k = (l + tid) / BN, c = (l + tid) % BN;
            const bool inside = k0 + k < K && blockCol + c < N;
            Bs[k][c] = inside ? Bblock[k * N + c] : 0.0f;
        }
        Ablock += BK;
        Bblock += size_t(BK) * N;
        __syncthreads();  // no one reads the window before all of it is there

        for (int k = 0; k < BK; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // no one overwrites the window before all have read it
    }

    const int row = blockRow + ty;
    const int col = blockCol + tx;
    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
