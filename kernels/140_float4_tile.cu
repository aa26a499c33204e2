// title: float4 tile
// parent: transposed
// change: A thread copies four neighbours of A at once, and four of B.
// chapter: 6
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// K tiles come from global memory as float4, one of A and one of B for each thread. Both are asked
// for before the first is waited for.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;    // columns of C per thread
constexpr int THREADS = BM * BN / (TM * TN);

static_assert(BM % TM == 0 && BN % TN == 0, "TM must divide BM, and TN must divide BN.");
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS,
    "Each thread copies one float4 of A and one of B: BM * BK = BK * BN = 4 * THREADS.");
static_assert(BK % 4 == 0 && BN % 4 == 0,
              "float4 holds 4 floats: BK and BN must be multiples of 4.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

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
    __shared__ __align__(16) float As[BK][BM];  // the K tile's k × rows of A: transposed
    __shared__ __align__(16) float Bs[BK][BN];  // the K tile's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);  // my group of TN columns
    const int ty = tid / (BN / TN);  // my group of TM rows
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my float4 of A: its row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my float4 of B: its k and column
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;

    // My block's rows of A and columns of B. They move along K with the K tile.
    const float* Ablock = A + size_t(blockRow) * K;
    const float* Bblock = B + blockCol;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // How much is left of my row of A and of B; nothing, where the row is past the edge.
        const int leftA = blockRow + rA < M ? K - k0 - kA : 0;
        const int leftB = k0 + kB < K ? N - blockCol - cB : 0;
        const float4 a = load4(&Ablock[rA * K + kA], leftA, alignedA);
        const float4 b = load4(&Bblock[kB * N + cB], leftB, alignedB);
        Ablock += BK;
        Bblock += size_t(BK) * N;
        As[kA + 0][rA] = a.x;
        As[kA + 1][rA] = a.y;
        As[kA + 2][rA] = a.z;
        As[kA + 3][rA] = a.w;
        *reinterpret_cast<float4*>(&Bs[kB][cB]) = b;
        __syncthreads();  // no one reads the K tile before all of it is there

        for (int k = 0; k < BK; ++k) {
            float fragA[TM];  // this k's column of my rows
            float fragB[TN];  // this k's row of my columns
            for (int i = 0; i < TM; ++i) fragA[i] = As[k][ty * TM + i];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[k][tx * TN + j];
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += fragA[i] * fragB[j];
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
