// title: Split
// parent: float4_tile
// change: Rows of As are padded, and a thread's tile is split into quarters.
// chapter: 6
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// PAD floats more in each row of As: lanes that store a transposed float4 meet in no bank. A quarter
// of a thread's tile, 4 × 4, lies in each quarter of the block tile: so lanes that read Bs do not.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;    // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int THREADS = BM * BN / (TM * TN);

static_assert(BM % TM == 0 && BN % TN == 0, "TM must divide BM, and TN must divide BN.");
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS,
    "Each thread copies one float4 of A and one of B: BM * BK = BK * BN = 4 * THREADS.");
static_assert(PAD % 4 == 0, "Rows of As start at multiples of 16 bytes: PAD must be one of 4.");
static_assert(TM == 8 && TN == 8, "A thread has 4 + 4 rows by 4 + 4 columns: TM and TN are 8.");
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

// Where in the block tile a thread's i-th row is: 4 rows in the upper half, 4 in the lower.
__device__ int tileRow(int ty, int i) { return i / 4 * (BM / 2) + ty * 4 + i % 4; }

// Where in the block tile a thread's j-th column is: 4 in the left half, 4 in the right.
__device__ int tileCol(int tx, int j) { return j / 4 * (BN / 2) + tx * 4 + j % 4; }

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[BK][BM + PAD];  // the K tile's k × rows of A: transposed
    __shared__ __align__(16) float Bs[BK][BN];        // the K tile's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);  // my group of TN columns
    const int ty = tid / (BN / TN);  // my group of TM rows
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my float4 of A: its row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my float4 of B: its k and column
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;

    // My block's rows of A and columns of B. They move along K.
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
            for (int i = 0; i < TM; ++i) fragA[i] = As[k][tileRow(ty, i)];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[k][tileCol(tx, j)];
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
            const int row = blockRow + tileRow(ty, i);
            const int col = blockCol + tileCol(tx, j);
            if (row < M && col < N) C[size_t(row) * N + col] = acc[i][j];
        }
    }
}
