// title: Producer warps
// parent: ahead
// chapter: 10
// grid: ceil(N / BN), ceil(M / BM)
// block: 32 * BM * BN / (WM * WN) + PRODUCERS, 1
// shared: 4 * STAGES * BK * (BM + PAD + BN) + 16 * STAGES
// needs: sm_90a
// variants: STAGES=4
//
// Four warps only copy, eight only multiply. They meet at two barriers in shared memory per window:
// filled and emptied. So no warp waits for all the others, and each kind gets the registers it needs.

constexpr int BM = 128;    // rows of C per block
constexpr int BN = 256;    // columns of C per block
constexpr int BK = 8;      // width of the window along K
constexpr int WM = 64;     // rows of C per warp
constexpr int WN = 64;     // columns of C per warp
constexpr int TM = 8;      // rows of C per thread
constexpr int TN = 16;     // columns of C per thread
constexpr int PAD = 4;     // unused floats per row of As
constexpr int STAGES = 8;  // windows in shared memory
constexpr int PRODUCERS = 128;  // threads that copy
constexpr int THREADS = 32 * BM * BN / (WM * WN);  // threads that multiply
constexpr int LANES_M = WM / TM;        // lanes of a warp along M
constexpr int LANES_N = WN / TN;        // lanes of a warp along N
constexpr int A_STEP = PRODUCERS / 8;         // rows of A that are copied at once, 8 k of each
constexpr int B_STEP = PRODUCERS / (BN / 4);  // rows of B that are copied at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(LANES_M >= 4 && LANES_N >= 4, "The lanes stand 4 × 8 or 8 × 4: change WM or WN.");
static_assert(BM % A_STEP == 0 && BK % 8 == 0, "A is copied in pieces of PRODUCERS / 8 rows by 8 k.");
static_assert(BK % B_STEP == 0, "B is copied in pieces of 4 * PRODUCERS / BN rows: BK is a multiple.");
static_assert(PAD % 8 == 4, "Lanes store 4 rows by 8 k of As at once: PAD of 4, 12 or 20 parts their banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0, "float4 holds 4 floats: TM and TN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied while others are filled: STAGES is 2 or more.");
static_assert(THREADS == 256 && PRODUCERS == 128, "Registers are dealt out for 256 + 128 threads.");

using Barrier = unsigned long long;

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

// Let `count` arrivals complete a phase of a barrier in shared memory (an mbarrier).
__device__ void setUp(Barrier* barrier, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(count) : "memory");
}

// Arrive now.
__device__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}

// Arrive as soon as all copies that this thread has started are there.
__device__ void arriveWhenCopied(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}

// Wait until the phase is complete. Phases are told apart by their last bit: 0, 1, 0, 1, ...
__device__ void waitFor(Barrier* barrier, int phase)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], %1; @!over bra again; }"
                 ::"r"(sharedAddress(barrier)), "r"(phase) : "memory");
}

// Four warps that stand together hand registers back, or take more: so many for each thread.
template <int COUNT>
__device__ void shrinkRegisters() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <int COUNT>
__device__ void growRegisters() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }

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

extern "C" __global__ void __launch_bounds__(THREADS + PRODUCERS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ __align__(16) float shared[];
    auto As = reinterpret_cast<float(*)[BK][BM + PAD]>(shared);  // transposed
    auto Bs = reinterpret_cast<float(*)[BK][BN]>(shared + STAGES * BK * (BM + PAD));  // as in memory
    auto filled = reinterpret_cast<Barrier*>(shared + STAGES * BK * (BM + PAD + BN));
    auto emptied = filled + STAGES;

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

    if (tid < STAGES) {
        setUp(&filled[tid], PRODUCERS);
        setUp(&emptied[tid], THREADS);
    }
    __syncthreads();

    int window = 0, phase = 0;
    auto advance = [&] {
        if (++window == STAGES) window = 0, phase ^= 1;  // once around the ring
    };
    if (tid >= THREADS) {
        shrinkRegisters<56>();
        const int id = tid - THREADS;     // me among the producers
        const int rA = id / 8;             // my first float of A: its row in the window
        const int kA = id % 8;             //                      and its k
        const int kB = id / (BN / 4);      // my first float4 of B: its k
        const int cB = id % (BN / 4) * 4;  //                       and its first column
        const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;

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

        for (int k0 = 0; k0 < K; k0 += BK) {
            waitFor(&emptied[window], phase ^ 1);  // at once on the first way round
            fetch(k0, window);
            arriveWhenCopied(&filled[window]);
            advance();
        }
        // One window more, with nothing in it: consumers look ahead without asking if there is one.
        waitFor(&emptied[window], phase ^ 1);
        arrive(&filled[window]);
        return;
    }

    growRegisters<224>();
    float fragA[2][TM];  // this k's column of my rows, and the next one's
    float fragB[2][TN];  // this k's row of my columns, and the next one's
    auto loadA = [&](int window, int k) {
        for (int i = 0; i < TM; ++i) fragA[k % 2][i] = As[window][k][warpRow + tileRow(ty, i)];
    };
    auto loadB = [&](int window, int k, int first) {
        for (int j = first; j < first + 4; ++j) {
            fragB[k % 2][j] = Bs[window][k][warpCol + tileCol(tx, j)];
        }
    };

    float acc[TM][TN] = {};
    waitFor(&filled[0], 0);
    loadA(0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = window;
        advance();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const bool last = k == BK - 1;
            if (last) waitFor(&filled[window], phase);
            loadA(last ? window : now, (k + 1) % BK);
            for (int j = 0; j < TN; j += 4) loadB(now, k, j);
            for (int j = 0; j < TN; ++j) {
                for (int s = 0; s < TM; ++s) {
                    const int i = j % 2 ? TM - 1 - s : s;  // down one column, up the next
                    acc[i][j] += fragA[k % 2][i] * fragB[k % 2][j];
                }
            }
        }
        arrive(&emptied[now]);  // I have read this window
    }

    // Sums that leave as a float4 must stand in four neighbouring registers, and there they get in
    // each other's way in the main loop (register banks). A product in between sets them free: the
    // compiler cannot know that the factor is 1.
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;
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
