// title: Sliding window
// parent: tiled
// change: A K tile has a width of its own, BK.
// chapter: 3
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
// variants: BK=32 BK=128
//
// Shared memory holds a K tile of BK columns of A and rows of B. It slides along K: copy, multiply,
// move on. Its size does not depend on K.

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int BK = 64;    // width of a K tile

static_assert(BK % TILE == 0, "TILE threads copy a row: BK must be a multiple of TILE.");
static_assert(TILE * TILE <= 1024, "A block has at most 1024 threads: TILE can be at most 32.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[TILE][BK];  // rows of A × the K tile's k
    __shared__ float Bs[BK][TILE];  // the K tile's k × columns of B

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Zeros past the edges of A and B: they add nothing to any sum.
        for (int l = 0; l < BK; l += TILE) {
            const int kA = k0 + l + tx;
            const int kB = k0 + l + ty;
            As[ty][l + tx] = row < M && kA < K ? A[size_t(row) * K + kA] : 0.0f;
            Bs[l + ty][tx] = kB < K && col < N ? B[size_t(kB) * N + col] : 0.0f;
        }
        __syncthreads();  // no one reads the K tile before all of it is there

        for (int k = 0; k < BK; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
