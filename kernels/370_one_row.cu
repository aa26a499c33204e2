// title: One row
// parent: naive
// change: The threads of a block share K: each takes every 64th row of B, four columns of it.
// chapter: 11
// grid: ceil(M / TM) * ceil(N / BN), 1
// block: BN / 4, PARTS
// variants: TM=4
//
// Where C has one row, or a few, no number of B is used often: to read B once is all the work. So B
// goes straight to registers, and K is split, for there are too few columns to keep a GPU busy.

constexpr int TM = 1;       // rows of C per block
constexpr int BN = 32;      // columns of C per block
constexpr int PARTS = 64;   // parts of K: each has threads of its own
constexpr int DEPTH = 4;    // rows of B that a thread asks for at once
constexpr int LANES = BN / 4;  // threads that share a row of B, four neighbours each

static_assert(LANES * PARTS <= 1024, "A block has at most 1024 threads: make PARTS smaller.");

extern "C" __global__ void __launch_bounds__(LANES * PARTS)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sums[PARTS][BN];

    const int part = threadIdx.y, lane = threadIdx.x, blocksN = (N + BN - 1) / BN;
    const int blockRow = blockIdx.x / blocksN * TM, blockCol = blockIdx.x % blocksN * BN;
    // Four neighbours as one float4; or columns LANES apart, so that lanes are neighbours.
    const bool aligned = N % 4 == 0 && size_t(B) % 16 == 0;
    const int col = aligned ? lane * 4 : lane, step = aligned ? 1 : LANES;

    float acc[TM][4] = {};
    for (int k0 = part; k0 < K; k0 += DEPTH * PARTS) {
        // All of these are asked for before the first is needed. Each number of B is read once,
        // so the caches are told to let it go first.
        float b[DEPTH][4] = {};
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const int k = k0 + d * PARTS;
            const float* from = B + size_t(k) * N + blockCol + col;
            if (aligned) {
                const auto* four = reinterpret_cast<const float4*>(from);
                const bool there = k < K && blockCol + col < N;
                if (there) *reinterpret_cast<float4*>(b[d]) = __ldcs(four);
            } else {
                for (int j = 0; j < 4; ++j) {
                    const bool there = k < K && blockCol + col + j * LANES < N;
                    if (there) b[d][j] = __ldcs(from + j * LANES);
                }
            }
        }
        for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int d = 0; d < DEPTH; ++d) {
                const int k = k0 + d * PARTS;
                if (k >= K) continue;
                const float a = A[size_t(min(blockRow + i, M - 1)) * K + k];  // for all lanes
                for (int j = 0; j < 4; ++j) acc[i][j] += a * b[d][j];
            }
        }
    }

    // The parts' sums are added pair by pair, always in the same order: the same bits.
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < 4; ++j) sums[part][col + j * step] = acc[i][j];
        __syncthreads();
        for (int far = PARTS / 2; far > 0; far /= 2) {
            for (int c = lane; part < far && c < BN; c += LANES) {
                sums[part][c] += sums[part + far][c];
            }
            __syncthreads();
        }
        for (int c = lane; part == 0 && c < BN && blockRow + i < M; c += LANES) {
            if (blockCol + c < N) C[size_t(blockRow + i) * N + blockCol + c] = sums[0][c];
        }
        __syncthreads();  // no one overwrites the sums of this row before they are stored
    }
}
