// title: Tiled
// parent: naive
// change: A block copies tiles of A and B into shared memory, and its threads read them there.
// chapter: 2
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
// variants: TILE=16
//
// A block computes a square tile of C. Its threads copy a K tile, one tile of A and one of B, into
// shared memory, use every element of it TILE times, and go on to the next along K.

constexpr int TILE = 32;  // rows and columns of a tile

static_assert(TILE * TILE <= 1024, "A block has at most 1024 threads: TILE can be at most 32.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];  // rows of A × the K tile's k
    __shared__ float Bs[TILE][TILE];  // the K tile's k × columns of B

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Zeros past the edges of A and B: they add nothing to any sum.
        As[ty][tx] = row < M && k0 + tx < K ? A[size_t(row) * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[size_t(k0 + ty) * N + col] : 0.0f;
        __syncthreads();  // no one reads a tile before all of it is there

        for (int k = 0; k < TILE; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // no one overwrites a tile before all have read it
    }

    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
