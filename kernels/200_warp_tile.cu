// title: Warp tile
// parent: double_buffer
// change: A thread computes 8 × 16 elements of C, and a warp owns a compact piece of the tile.
// chapter: 8
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// Three levels of tile: the block's, the warp's, the thread's. A warp owns a near-square of C, so
// its lanes together ask for few different numbers.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 8;    // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 16;   // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int WM = 64;   // rows of C per warp
constexpr int WN = 64;   // columns of C per warp
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LANES_M = WM / TM;                // lanes of a warp along M
constexpr int LANES_N = WN / TN;                // lanes of a warp along N
constexpr int A_LOADS = BM * BK / 4 / THREADS;  // float4 of A that each thread copies
constexpr int B_LOADS = BK * BN / 4 / THREADS;  // float4 of B that each thread copies

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0,
              "Each thread copies whole float4: 4 * THREADS must divide BM * BK and BK * BN.");
static_assert(THREADS % (BK / 4) == 0 && THREADS % (BN / 4) == 0,
              "The threads copy whole rows at a time: BK / 4 and BN / 4 must divide THREADS.");
static_assert(PAD % 4 == 0, "Rows of As start at multiples of 16 bytes: PAD must be one of 4.");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "A thread has groups of 4: TM and TN are multiples of 4.");
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

// Where in the warp tile a lane's i-th row is: TM / 4 groups of 4 rows, below the other lanes'.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: TN / 4 groups of 4, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 4 * (4 * LANES_N) + tx * 4 + j % 4; }

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // a K tile's k × rows of A: transposed
    __shared__ __align__(16) float Bs[2][BK][BN];        // the K tile's k × columns of B

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    const int tx = lane % LANES_N;  // my group of columns in it
    const int ty = lane / LANES_N;  // my group of rows in it
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my first float4 of A: row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my first float4 of B: k, column
    constexpr int A_STEP = THREADS / (BK / 4);  // rows from one float4 of mine to the next
    constexpr int B_STEP = THREADS / (BN / 4);
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My first float4 of A and of B. They move along K with the K tile.
    const float* Athread = A + size_t(blockRow + rA) * K + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;

    // From global memory into registers. Loads are issued here, not waited on.
    float4 a[A_LOADS], b[B_LOADS];
    auto fetch = [&](int k0) {
        // How much is left of a row of A and of B; nothing, where the row is past the edge.
        for (int i = 0; i < A_LOADS; ++i) {
            const int leftA = blockRow + rA + i * A_STEP < M ? K - k0 - kA : 0;
            a[i] = load4(Athread + size_t(i * A_STEP) * K, leftA, alignedA);
        }
        for (int i = 0; i < B_LOADS; ++i) {
            const int leftB = k0 + kB + i * B_STEP < K ? N - blockCol - cB : 0;
            b[i] = load4(Bthread + size_t(i * B_STEP) * N, leftB, alignedB);
        }
        Athread += BK;
        Bthread += size_t(BK) * N;
    };
    // From registers into one of the two K tiles. This waits until the loads have come.
    auto store = [&](int window) {
        for (int i = 0; i < A_LOADS; ++i) {
            As[window][kA + 0][rA + i * A_STEP] = a[i].x;
            As[window][kA + 1][rA + i * A_STEP] = a[i].y;
            As[window][kA + 2][rA + i * A_STEP] = a[i].z;
            As[window][kA + 3][rA + i * A_STEP] = a[i].w;
        }
        for (int i = 0; i < B_LOADS; ++i) {
            *reinterpret_cast<float4*>(&Bs[window][kB + i * B_STEP][cB]) = b[i];
        }
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
            for (int i = 0; i < TM; ++i) fragA[i] = As[now][k][warpRow + tileRow(ty, i)];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[now][k][warpCol + tileCol(tx, j)];
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
            const int row = blockRow + warpRow + tileRow(ty, i);
            const int col = blockCol + warpCol + tileCol(tx, j);
            const float4 v = make_float4(one * acc[i][j + 0], one * acc[i][j + 1],
                                         one * acc[i][j + 2], one * acc[i][j + 3]);
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
        }
    }
}
