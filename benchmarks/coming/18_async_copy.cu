// title: Async copy
// parent: warp_tile
// chapter: 9
// grid: ceil(N / BN), ceil(M / BM)
// block: 32 * BM * BN / (WM * WN), 1
// shared: 4 * STAGES * BK * (BM + PAD + BN)
// needs: sm_80
// variants: STAGES=2 STAGES=4 BK=8
//
// cp.async copies from global memory straight into shared memory: no registers on the way, and no
// waiting to store. So several windows can be on their way at once, in a ring of STAGES windows.

constexpr int BM = 128;    // rows of C per block
constexpr int BN = 256;    // columns of C per block
constexpr int BK = 16;     // width of the window along K
constexpr int WM = 64;     // rows of C per warp
constexpr int WN = 64;     // columns of C per warp
constexpr int TM = 8;      // rows of C per thread
constexpr int TN = 16;     // columns of C per thread
constexpr int PAD = 4;     // unused floats per row of As
constexpr int STAGES = 3;  // windows in shared memory
constexpr int THREADS = 32 * BM * BN / (WM * WN);
constexpr int LANES_M = WM / TM;        // lanes of a warp along M
constexpr int LANES_N = WN / TN;        // lanes of a warp along N
constexpr int A_STEP = THREADS / 8;         // rows of A that the block copies at once, 8 k of each
constexpr int B_STEP = THREADS / (BN / 4);  // rows of B that the block copies at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(LANES_M >= 4 && LANES_N >= 4, "The lanes stand 4 × 8 or 8 × 4: change WM or WN.");
static_assert(BM % A_STEP == 0 && BK % 8 == 0, "The block copies A in pieces of THREADS / 8 rows by 8 k.");
static_assert(BK % B_STEP == 0, "The block copies B in pieces of 4 * THREADS / BN rows: BK is a multiple.");
static_assert(PAD % 8 == 4, "Lanes store 4 rows by 8 k of As at once: PAD of 4, 12 or 20 parts their banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0, "float4 holds 4 floats: TM and TN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied while others are filled: STAGES is 2 or more.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

// Where in shared memory x is, as PTX counts it.
__device__ unsigned sharedAddress(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

// Start to copy one float. Where there is none to copy, a zero is stored and `from` is not read.
__device__ void copy4(float* to, const float* from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(sharedAddress(to)), "l"(from),
                 "r"(there ? 4 : 0) : "memory");
}

// The same for four floats. Both addresses must be multiples of 16.
__device__ void copy16(float* to, const float* from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)), "l"(from),
                 "r"(there ? 16 : 0) : "memory");
}

// The copies that this thread has started since the last call are one group.
__device__ void closeGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until all groups of this thread have arrived but the LEFT youngest.
template <int LEFT>
__device__ void waitForGroups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
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

// Where in the warp tile a lane's i-th row is: groups of 4 rows, one below the other's lanes.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: groups of 4 columns, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 4 * (4 * LANES_N) + tx * 4 + j % 4; }

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ __align__(16) float shared[];
    auto As = reinterpret_cast<float(*)[BK][BM + PAD]>(shared);  // transposed
    auto Bs = reinterpret_cast<float(*)[BK][BN]>(shared + STAGES * BK * (BM + PAD));  // as in memory

    const int tid = threadIdx.x;
    const int warp = tid / 32;
    const int lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    // Lanes 1 or 2 apart differ in both row and column of the warp tile. If they shared an address,
    // the hardware would merge their requests, which saves wavefronts but costs time to issue.
    const int ty = lane % LANES_M;
    const int tx = lane / LANES_M ^ lane % 4;
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / 8;             // my first float of A: its row in the window
    const int kA = tid % 8;             //                      and its k
    const int kB = tid / (BN / 4);      // my first float4 of B: its k
    const int cB = tid % (BN / 4) * 4;  //                       and its first column
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My first float of A and first float4 of B. They move along K with the window.
    const float* Athread = A + size_t(blockRow + rA) * K + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;
    const int rowsLeft = M - blockRow - rA;
    const int colsLeft = N - blockCol - cB;

    // Start to copy a window. A is copied float by float: so it can be transposed on the way, and its
    // address need not be aligned.
    auto fetch = [&](int k0, int window) {
        for (int k = 0; k < BK; k += 8) {
            const int rows = k0 + k + kA < K ? rowsLeft : 0;
            for (int i = 0; i < BM; i += A_STEP) {
                copy4(&As[window][kA + k][rA + i], Athread + size_t(i) * K + k, i < rows);
            }
        }
        if (alignedB) {
            for (int k = 0; k < BK; k += B_STEP) {
                copy16(&Bs[window][kB + k][cB], Bthread + size_t(k) * N, colsLeft > 0 && k0 + kB + k < K);
            }
        } else {
            // Float by float, BN / 4 columns apart: so lanes are neighbours.
            const int c = cB / 4;
#pragma unroll 1
            for (int k = 0; k < BK; k += B_STEP) {
                const int cols = k0 + kB + k < K ? N - blockCol - c : 0;
                for (int j = 0; j < BN; j += BN / 4) {
                    copy4(&Bs[window][kB + k][c + j], Bthread + size_t(k) * N - cB + c + j, j < cols);
                }
            }
        }
        Athread += BK;
        Bthread += size_t(BK) * N;
    };

    float acc[TM][TN] = {};
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s * BK < K) fetch(s * BK, s);
        closeGroup();  // a group may be empty: so the last groups are counted like the others
    }
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = k0 / BK % STAGES;
        const int ahead = k0 + (STAGES - 1) * BK;
        waitForGroups<STAGES - 2>();  // my part of this window is there
        __syncthreads();              // and everyone's; and all have read the one that is filled next
        if (ahead < K) fetch(ahead, ahead / BK % STAGES);
        closeGroup();

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fragA[TM];  // this k's column of my rows
            float fragB[TN];  // this k's row of my columns
            for (int i = 0; i < TM; ++i) fragA[i] = As[now][k][warpRow + tileRow(ty, i)];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[now][k][warpCol + tileCol(tx, j)];
            for (int j = 0; j < TN; ++j) {
                for (int i = 0; i < TM; ++i) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }
        }
    }

    // Sums that leave as a float4 must stand in four neighbouring registers, and there they get in
    // each other's way in the main loop (register banks). A product in between sets them free: the
    // compiler cannot know that the factor is 1.
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
