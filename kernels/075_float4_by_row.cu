// title: float4 by row
// parent: sliding_window
// change: A thread copies four neighbours of its own row at once.
// chapter: 4
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
// variants: BK=32
//
// A thread keeps its row of the tile and copies four neighbours of it at once. So only the first
// BK / 4 threads of a row copy A, and only the first BK / 4 rows of threads copy B.

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int BK = 64;    // width of a K tile

static_assert(TILE * TILE <= 1024, "A block has at most 1024 threads: TILE can be at most 32.");
static_assert(BK % 4 == 0, "A float4 holds 4 floats: BK must be a multiple of 4.");
static_assert(BK <= 4 * TILE, "TILE threads copy 4 floats each: BK can be at most 4 * TILE.");

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[TILE][BK];  // rows of A × the K tile's k
    __shared__ float Bs[BK][TILE];  // the K tile's k × columns of B

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;

    // A float4 load faults unless its address is a multiple of 16 bytes.
    const bool aligned = K % 4 == 0 && size_t(A) % 16 == 0;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Zeros past the edges of A and B: they add nothing to any sum.
        const int kA = 4 * tx;
        if (kA < BK && row < M && k0 + kA + 3 < K && aligned) {
            const float4 v = *reinterpret_cast<const float4*>(&A[size_t(row) * K + k0 + kA]);
            As[ty][kA + 0] = v.x;
            As[ty][kA + 1] = v.y;
            As[ty][kA + 2] = v.z;
            As[ty][kA + 3] = v.w;
        } else if (kA < BK) {
            for (int k = kA; k < kA + 4; ++k) {
                As[ty][k] = row < M && k0 + k < K ? A[size_t(row) * K + k0 + k] : 0.0f;
            }
        }
        const int kB = 4 * ty;
        if (kB < BK) {
            for (int k = kB; k < kB + 4; ++k) {
                Bs[k][tx] = k0 + k < K && col < N ? B[size_t(k0 + k) * N + col] : 0.0f;
            }
        }
        __syncthreads();  // no one reads the K tile before all of it is there

        for (int k = 0; k < BK; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
