// title: Thread tile
// parent: thread_tile_1d:BK=8
// change: A thread computes a tile of TM × TN elements of C instead of a column.
// chapter: 5
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// One thread computes a tile of TM × TN elements of C.

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int BK = 8;   // width of a K tile
constexpr int TM = 4;   // rows of C per thread
constexpr int TN = 4;   // columns of C per thread
constexpr int THREADS = BM * BN / (TM * TN);

static_assert(BM % TM == 0 && BN % TN == 0, "TM must divide BM, and TN must divide BN.");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "Each thread copies as many: THREADS must divide BM * BK and BK * BN.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[BM][BK];  // rows of A × the K tile's k
    __shared__ float Bs[BK][BN];  // the K tile's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);  // my group of TN columns
    const int ty = tid / (BN / TN);  // my group of TM rows
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    // My block's rows of A and columns of B. They move along K with the K tile.
    const float* Ablock = A + size_t(blockRow) * K;
    const float* Bblock = B + blockCol;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Zeros past the edges of A and B: they add nothing to any sum.
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
        __syncthreads();  // no one reads the K tile before all of it is there

        for (int k = 0; k < BK; ++k) {
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += As[ty * TM + i][k] * Bs[k][tx * TN + j];
                }
            }
        }
        __syncthreads();  // no one overwrites the K tile before all have read it
    }

    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            const int row = blockRow + ty * TM + i;
            const int col = blockCol + tx * TN + j;
            if (row < M && col < N) C[size_t(row) * N + col] = acc[i][j];
        }
    }
}
