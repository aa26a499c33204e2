// title: Strip
// parent: tiled
// change: The tiles reach along all of K, so a block copies once.
// chapter: 2
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
// shared: 4 * (TILE * K + K * TILE)
//
// The shortest way to say "tile": copy all rows of A and all columns of B that this block needs
// into shared memory, then multiply. Both strips must fit, so K is limited.

constexpr int TILE = 32;  // rows and columns of a tile

static_assert(TILE * TILE <= 1024, "A block has at most 1024 threads: TILE can be at most 32.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float strips[];  // the launch says how many bytes
    float* As = strips;                // [TILE][K]: rows of A × all k
    float* Bs = strips + TILE * K;     // [K][TILE]: all k × columns of B

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;

    // Zeros past the edges of A and B: they add nothing to any sum.
    for (int k = tx; k < K; k += TILE)
        As[ty * K + k] = row < M ? A[size_t(row) * K + k] : 0.0f;
    for (int k = ty; k < K; k += TILE)
        Bs[k * TILE + tx] = col < N ? B[size_t(k) * N + col] : 0.0f;
    __syncthreads();  // no one reads a strip before all of it is there

    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        acc += As[ty * K + k] * Bs[k * TILE + tx];
    }

    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
