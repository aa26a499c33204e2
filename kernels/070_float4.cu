// title: float4
// parent: sliding_window
// change: A thread copies four neighbours at once; its number says which.
// chapter: 4
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
// variants: BK=32
//
// Threads are numbered consecutively, whatever their row. Thread i copies the i-th group of four
// neighbours, so all lanes of a loading warp work, and rows of B are copied as float4 too.

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int BK = 64;    // width of a K tile

static_assert(TILE * TILE <= 1024, "A block has at most 1024 threads: TILE can be at most 32.");
static_assert(BK <= 2 * TILE, "A thread copies one float4: BK can be at most 2 * TILE.");
static_assert(TILE % 4 == 0 && BK % 4 == 0,
              "TILE and BK must be multiples of 4, as float4 is.");

// Four neighbours of a row of which `left` elements are left; zeros past its end. One load of
// 16 bytes where it can be: a float4 load faults unless its address is a multiple of 16.
__device__ float4 load4(const float* x, int left, bool aligned)
{
    if (aligned && left >= 4) return *reinterpret_cast<const float4*>(x);
    return make_float4(left > 0 ? x[0] : 0.0f, left > 1 ? x[1] : 0.0f,
                       left > 2 ? x[2] : 0.0f, left > 3 ? x[3] : 0.0f);
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[TILE][BK];  // rows of A × the K tile's k
    __shared__ __align__(16) float Bs[BK][TILE];  // the K tile's k × columns of B

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int tid = ty * TILE + tx;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;

    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += BK) {
        // The first threads copy A, the next ones B.
        if (tid < TILE * BK / 4) {
            const int r = tid / (BK / 4);
            const int k = tid % (BK / 4) * 4;
            const int rowA = blockIdx.y * TILE + r;
            const int left = rowA < M ? K - k0 - k : 0;
            const float4 v = load4(&A[size_t(rowA) * K + k0 + k], left, alignedA);
            *reinterpret_cast<float4*>(&As[r][k]) = v;
        } else if (tid < 2 * TILE * BK / 4) {
            const int i = tid - TILE * BK / 4;
            const int k = i / (TILE / 4);
            const int c = i % (TILE / 4) * 4;
            const int colB = blockIdx.x * TILE + c;
            const int left = k0 + k < K ? N - colB : 0;
            const float4 v = load4(&B[size_t(k0 + k) * N + colB], left, alignedB);
            *reinterpret_cast<float4*>(&Bs[k][c]) = v;
        }
        __syncthreads();  // no one reads the K tile before all of it is there

        for (int k = 0; k < BK; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) C[size_t(row) * N + col] = acc;
}
