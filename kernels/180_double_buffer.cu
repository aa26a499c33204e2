// title: Double buffer
// parent: split
// change: There are two K tiles: one is filled while the other is multiplied.
// chapter: 7
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// Two K tiles in shared memory. While a block multiplies one, its next loads are on their way into
// registers; they are stored into the other. One barrier per K tile is enough.

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

// Store four neighbours of a row of which `left` elements are left.
__device__ void store4(float* x, float4 v, int left, bool aligned)
{
    if (aligned && left >= 4) {
        *reinterpret_cast<float4*>(x) = v;
        return;
    }
    if (left > 0) x[0] = v.x;
    if (left > 1) x[1] = v.y;
    if (left > 2) x[2] = v.z;
    if (left > 3) x[3] = v.w;
}

// Where in the block tile a thread's i-th row is: 4 rows in the upper half, 4 in the lower.
__device__ int tileRow(int ty, int i) { return i / 4 * (BM / 2) + ty * 4 + i % 4; }

// Where in the block tile a thread's j-th column is: 4 in the left half, 4 in the right.
__device__ int tileCol(int tx, int j) { return j / 4 * (BN / 2) + tx * 4 + j % 4; }

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // a K tile's k × rows of A: transposed
    __shared__ __align__(16) float Bs[2][BK][BN];        // the K tile's k × columns of B

    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN);  // my group of TN columns
    const int ty = tid / (BN / TN);  // my group of TM rows
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my float4 of A: its row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my float4 of B: its k and column
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My block's rows of A and columns of B. They move along K.
    const float* Ablock = A + size_t(blockRow) * K;
    const float* Bblock = B + blockCol;

    // From global memory into registers. Loads are issued here, not waited on.
    float4 a, b;
    auto fetch = [&](int k0) {
        // How much is left of my row of A and of B; nothing, where the row is past the edge.
        const int leftA = blockRow + rA < M ? K - k0 - kA : 0;
        const int leftB = k0 + kB < K ? N - blockCol - cB : 0;
        a = load4(&Ablock[rA * K + kA], leftA, alignedA);
        b = load4(&Bblock[kB * N + cB], leftB, alignedB);
        Ablock += BK;
        Bblock += size_t(BK) * N;
    };
    // From registers into one of the two K tiles. This waits until the loads have come.
    auto store = [&](int window) {
        As[window][kA + 0][rA] = a.x;
        As[window][kA + 1][rA] = a.y;
        As[window][kA + 2][rA] = a.z;
        As[window][kA + 3][rA] = a.w;
        *reinterpret_cast<float4*>(&Bs[window][kB][cB]) = b;
    };

    float acc[TM][TN] = {};
    fetch(0);
    store(0);
    __syncthreads();  // no one reads the first K tile before all of it is there
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = k0 / BK % 2;  // the K tile to multiply; the other one is to be filled
        const bool more = k0 + BK < K;
        if (more) fetch(k0 + BK);

        for (int k = 0; k < BK; ++k) {
            float fragA[TM];  // this k's column of my rows
            float fragB[TN];  // this k's row of my columns
            for (int i = 0; i < TM; ++i) fragA[i] = As[now][k][tileRow(ty, i)];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[now][k][tileCol(tx, j)];
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }
        }
        if (more) store(1 - now);
        __syncthreads();  // the next K tile is there, and all have read this one
    }

    // Sums that leave as a float4 must stand in four neighbouring registers, and there they get
    // in each other's way in the main loop (register banks). A product in between sets them
    // free: the compiler cannot know that the factor is 1.
    const float one = K > 0 ? 1.0f : 0.0f;
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; j += 4) {
            const int row = blockRow + tileRow(ty, i);
            const int col = blockCol + tileCol(tx, j);
            const float4 v = make_float4(one * acc[i][j + 0], one * acc[i][j + 1],
                                         one * acc[i][j + 2], one * acc[i][j + 3]);
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
        }
    }
}
