// title: Split K over the grid
// parent: cluster_split
// chapter: 10
// grid: BLOCKS * SMS, 1
// block: 32 * BM * BN / (WM * WN), 1
// shared: 4 * STAGES * BK * (BM + PAD + BN)
// needs: sm_80
// variants: BLOCKS=1
//
// For a small C and a long K, clusters of eight are too few. All blocks that fit on the GPU share the
// tiles evenly. Their sums meet in global memory; the last one to come lets all add up their part.
// The price: memory set aside, and launches that run at the same time would mix it up.

constexpr int BM = 64;     // rows of C per block
constexpr int BN = 64;     // columns of C per block
constexpr int BK = 16;     // width of the window along K
constexpr int WM = 32;     // rows of C per warp
constexpr int WN = 32;     // columns of C per warp
constexpr int TM = 8;      // rows of C per thread
constexpr int TN = 4;      // columns of C per thread
constexpr int PAD = 4;     // unused floats per row of As
constexpr int STAGES = 4;  // windows in shared memory
constexpr int BLOCKS = 2;  // blocks on each multiprocessor: all must be there at once
constexpr int SLOTS = BLOCKS * 160;  // blocks of the largest GPU: 160 multiprocessors
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

// The sums of each block, and per tile how many blocks have stored theirs and how many have read.
__device__ float4 partial[SLOTS * BM * BN / 4];
__device__ int stored[SLOTS], finished[SLOTS];

// Add one, and let all who see it see what was stored before. Returns what was there.
__device__ int addOne(int* count)
{
    int before;
    asm volatile("atom.add.acq_rel.gpu.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
    return before;
}

// Wait until others have counted up to `wanted`.
__device__ void waitUntil(const int* count, int wanted)
{
    int now;
    do asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    while (now != wanted);
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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
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
    const int tilesN = (N + BN - 1) / BN;
    const int tiles = (M + BM - 1) / BM * tilesN;
    const int parts = max(1, int(gridDim.x) / tiles);    // blocks that share a tile
    const int part = blockIdx.x % parts;
    const int group = blockIdx.x / parts;  // the blocks that share tiles with me
    for (int tile = group; tile < tiles; tile += gridDim.x / parts) {
        const int blockRow = tile / tilesN * BM;
        const int blockCol = tile % tilesN * BN;
        const int windows = (K + BK - 1) / BK;
        const int kBegin = int((long long)windows * part / parts) * BK;
        const int kEnd = min((long long)K, (long long)windows * (part + 1) / parts * BK);

        const int rA = tid / 8;             // my first float of A: its row in the window
        const int kA = tid % 8;             //                      and its k
        const int kB = tid / (BN / 4);      // my first float4 of B: its k
        const int cB = tid % (BN / 4) * 4;  //                       and its first column
        const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
        const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

        // My first float of A and first float4 of B. They move along K with the window.
        const float* Athread = A + size_t(blockRow + rA) * K + kBegin + kA;
        const float* Bthread = B + size_t(kBegin + kB) * N + blockCol + cB;
        const int rowsLeft = M - blockRow - rA;
        const int colsLeft = N - blockCol - cB;

        // Start to copy a window. A is copied float by float: so it can be transposed on the way, and its
        // address need not be aligned.
        auto fetch = [&](int k0, int window) {
            for (int k = 0; k < BK; k += 8) {
                const int rows = k0 + k + kA < kEnd ? rowsLeft : 0;
                for (int i = 0; i < BM; i += A_STEP) {
                    copy4(&As[window][kA + k][rA + i], Athread + size_t(i) * K + k, i < rows);
                }
            }
            if (alignedB) {
                for (int k = 0; k < BK; k += B_STEP) {
                    copy16(&Bs[window][kB + k][cB], Bthread + size_t(k) * N, colsLeft > 0 && k0 + kB + k < kEnd);
                }
            } else {
                // Float by float, BN / 4 columns apart: so lanes are neighbours.
                const int c = cB / 4;
#pragma unroll 1
                for (int k = 0; k < BK; k += B_STEP) {
                    const int cols = k0 + kB + k < kEnd ? N - blockCol - c : 0;
                    for (int j = 0; j < BN; j += BN / 4) {
                        copy4(&Bs[window][kB + k][c + j], Bthread + size_t(k) * N - cB + c + j, j < cols);
                    }
                }
            }
            Athread += BK;
            Bthread += size_t(BK) * N;
        };

        float fragA[2][TM];  // this k's column of my rows, and the next one's
        float fragB[2][TN];  // this k's row of my columns, and the next one's
        auto loadA = [&](int window, int k) {
#pragma unroll
            for (int i = 0; i < TM; ++i) fragA[k % 2][i] = As[window][k][warpRow + tileRow(ty, i)];
        };
        auto loadB = [&](int window, int k, int first) {
#pragma unroll
            for (int j = first; j < first + 4; ++j) {
                fragB[k % 2][j] = Bs[window][k][warpCol + tileCol(tx, j)];
            }
        };

        float acc[TM][TN] = {};
        for (int s = 0; s < STAGES; ++s) {
            if (kBegin + s * BK < kEnd) fetch(kBegin + s * BK, s);
            closeGroup();  // a group may be empty: so the last groups are counted like the others
        }
        waitForGroups<STAGES - 1>();
        __syncthreads();
        loadA(0, 0);
#pragma unroll
        for (int j = 0; j < TN; j += 4) loadB(0, 0, j);
        int now = 0;
        for (int k0 = kBegin; k0 < kEnd; k0 += BK) {
            const int next = now + 1 < STAGES ? now + 1 : 0;
#pragma unroll
            for (int k = 0; k < BK; ++k) {
                const bool last = k == BK - 1;
                if (last) {
                    waitForGroups<STAGES - 2>();  // my part of the next window is there
                    __syncthreads();              // and everyone's; and all have read this one
                }
                loadA(last ? next : now, (k + 1) % BK);
#pragma unroll
                for (int j = 0; j < TN; ++j) {
#pragma unroll
                    for (int s = 0; s < TM; ++s) {
                        const int i = j % 2 ? TM - 1 - s : s;  // down one column, up the next
                        acc[i][j] += fragA[k % 2][i] * fragB[k % 2][j];
                    }
                    // Four columns are done, and their registers free for the next k.
                    if (j % 4 == 3) loadB(last ? next : now, (k + 1) % BK, j - 3);
                }
            }
            if (k0 + STAGES * BK < kEnd) fetch(k0 + STAGES * BK, now);
            closeGroup();
            now = next;
        }

        // My sums go to global memory, in an order in which lanes are neighbours. (The factor 1 sets free
        // the registers of the sums in the main loop: they need not stand in fours.)
        constexpr int FOURS = BM * BN / 4;  // float4 of a tile
        const float one = K > 0 ? 1.0f : 0.0f;
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int j = 0; j < TN; j += 4) {
                partial[blockIdx.x * FOURS + (i * TN + j) / 4 * THREADS + tid] =
                    make_float4(one * acc[i][j + 0], one * acc[i][j + 1], one * acc[i][j + 2], one * acc[i][j + 3]);
            }
        }
        __threadfence();
        __syncthreads();
        if (tid == 0) {
            addOne(&stored[group]);
            waitUntil(&stored[group], parts);
        }
        __syncthreads();
        // All are there. Each block adds up its part of the tile, always in the same order.
        const int end = FOURS * (part + 1) / parts;
        for (int p = FOURS * part / parts + tid; p < end; p += THREADS) {
            float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
            for (int other = 0; other < parts; ++other) {
                const float4 more = __ldcg(&partial[(group * parts + other) * FOURS + p]);
                v = make_float4(v.x + more.x, v.y + more.y, v.z + more.z, v.w + more.w);
            }
            const int owner = p % THREADS;  // the thread whose sums these are, and where they stand in C
            const int i = p / THREADS * 4 / TN;
            const int j = p / THREADS * 4 % TN;
            const int itsLane = owner % 32;
            const int itsWarp = owner / 32;
            const int row = blockRow + itsWarp / (BN / WN) * WM + tileRow(itsLane % LANES_M, i);
            const int col = blockCol + itsWarp % (BN / WN) * WN + tileCol(itsLane / LANES_M ^ itsLane % 4, j);
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
        }
        // The last to finish leaves the counts as it found them.
        __syncthreads();
        if (tid == 0 && addOne(&finished[group]) == parts - 1) {
            stored[group] = 0;
            finished[group] = 0;
        }
    }
}
