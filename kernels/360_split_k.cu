// title: Split K
// parent: small_tile
// change: All blocks that the GPU holds share the tiles: each takes a part of K of one of them.
// chapter: 11
// grid: ceil(N/BN) * ceil(M/BM), max(1, ceil((BLOCKS*SMS + 1) / (ceil(N/BN) * ceil(M/BM))) - 1)
// block: BM * BN / (TM * TN), 1
// shared: 4 * STAGES * BK * (BM + PAD + BN)
// workspace: 4 * BM * BN * (1 + max(BLOCKS * SMS, ceil(N / BN) * ceil(M / BM)))
// needs: sm_80
// variants: BN=128,TN=8,WN=64,STAGES=3
//
// For a small C and a long K even a cluster of eight blocks is too few. Here the sums meet in global
// memory. The price: each tile's sums are written and read once for every block that shares it.

constexpr int BM = 64;   // rows of C per block
constexpr int BN = 64;   // columns of C per block
constexpr int BK = 16;   // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 4;   // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int WM = 32;   // rows of C per warp
constexpr int WN = 32;   // columns of C per warp
constexpr int STAGES = 4;  // K tiles in shared memory
constexpr int BLOCKS = 2;  // blocks on each SM: all of them must be there at once
constexpr int SHARES = 8;  // threads that share a float4 of C where there are many parts
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LANES_M = WM / TM;            // lanes of a warp along M
constexpr int LANES_N = WN / TN;            // lanes of a warp along N
constexpr int A_STEP = THREADS / BK;        // rows of A copied at once
constexpr int B_STEP = THREADS / (BN / 4);  // rows of B copied at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(LANES_M >= 4 && LANES_N >= 4, "The lanes stand 4 × 8 or 8 × 4: change WM or WN.");
static_assert(BK == 8 || BK == 16 || BK == 32, "A warp copies 4, 2 or 1 rows of A at once.");
static_assert(BM % A_STEP == 0, "THREADS / BK, the rows of A copied at once, divides BM.");
static_assert(BK % B_STEP == 0, "4 * THREADS / BN, the rows of B copied at once, divides BK.");
static_assert(THREADS % (BN / 4) == 0, "Whole rows of B are copied: BN / 4 divides THREADS.");
static_assert(PAD % 8 == 4,
              "Lanes store 4 rows by 8 k of As, or fewer rows: PAD parts banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "A thread has groups of 4: TM and TN are multiples of 4.");
static_assert(BK % 4 == 0 && BN % 4 == 0,
              "float4 holds 4 floats: BK and BN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied, another filled: STAGES is 2 or more.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

#include "device.cuh"

__device__ float4 sum(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Where row i of A stands in As at k: in its group of 4, but for each 8 k elsewhere. A warp
// copies 32 / BK rows at once, and more than 8 k of them would share banks otherwise.
__device__ constexpr int turned(int k, int i) { return i ^ k / 8 * (32 / BK); }

// Where in the warp tile a lane's i-th row is: TM / 4 groups of 4 rows, below the other lanes'.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: TN / 4 groups of 4, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 4 * (4 * LANES_N) + tx * 4 + j % 4; }

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, float4* sums)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) float shared[];
    // First the K tiles' k × rows of A, transposed; behind them their k × columns of B.
    auto& As = *reinterpret_cast<float(*)[STAGES][BK][BM + PAD]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BK][BN]>(shared + STAGES * BK * (BM + PAD));

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    // Lanes 1 or 2 apart differ in row and column of the warp tile. If they shared an address,
    // the hardware would merge their requests: fewer wavefronts, but more time to issue them.
    const int ty = lane % LANES_M;             // my group of rows in it
    const int tx = lane / LANES_M ^ lane % 4;  // my group of columns in it
    const int tilesN = (N + BN - 1) / BN, tile = blockIdx.x, tiles = gridDim.x;
    const int blockRow = tile / tilesN * BM, blockCol = tile % tilesN * BN;
    // I am one of the blocks that share this tile. A and B begin for me with my part of K.
    const int part = blockIdx.y, parts = gridDim.y;
    const int rowA = K, windows = (K + BK - 1) / BK;
    const int kBegin = int((long long)windows * part / parts) * BK;
    A += kBegin;
    B += size_t(kBegin) * N;
    K = min(K, int((long long)windows * (part + 1) / parts) * BK) - kBegin;

    const int rA = tid / BK, kA = tid % BK;                  // my first float of A: row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my first float4 of B: k, column
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My first float of A and float4 of B. They move along K with the K tile.
    const float* Athread = A + size_t(blockRow + rA) * rowA + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;

    // Start to copy A's part of K tile w, float by float: it can be transposed on the
    // way, and need not be aligned.
    auto copyA = [&](int k0, int w) {
        const int leftA = k0 + kA < K ? M - blockRow - rA : 0;
        for (int i = 0; i < BM; i += A_STEP) {
            copy4(&As[w][kA][turned(kA, rA + i)], Athread + size_t(i) * rowA, i < leftA);
        }
        Athread += BK;
    };
    // Start to copy B's part of K tile w: float4, or, where its rows are not aligned,
    // floats that are BN / 4 columns apart: so lanes copy neighbours.
    auto copyB = [&](int k0, int w) {
        if (alignedB) {
            const bool inside = blockCol + cB < N;
            for (int k = 0; k < BK; k += B_STEP) {
                copy16(&Bs[w][kB + k][cB], Bthread + size_t(k) * N, inside && k0 + kB + k < K);
            }
        } else {
#pragma unroll  // a loop would add instructions of its own to every turn
            for (int k = 0; k < BK; k += B_STEP) {
                const int cols = k0 + kB + k < K ? N - blockCol : 0;
                for (int j = 0; j < 4; ++j) {
                    const int c = cB / 4 + j * (BN / 4);
                    copy4(&Bs[w][kB + k][c], Bthread + size_t(k) * N - cB + c, c < cols);
                }
            }
        }
        Bthread += size_t(BK) * N;
    };
    // Start to copy the K tile of k0, if there is one. A group may be empty: the last K tiles
    // are waited for like the others.
    auto fetch = [&](int k0, int window) {
        if (k0 < K + BK) {  // after the last K tile one of zeros, for warps that read ahead
            copyA(k0, window);
            copyB(k0, window);
        }
        closeGroup();
    };

    float fragA[2][TM];  // this k's column of my rows, and the next one's
    float fragB[2][TN];  // this k's row of my columns, and the next one's
    auto loadA = [&](int window, int k) {
        const float* from = &As[window][k][warpRow];
        for (int i = 0; i < TM; ++i) fragA[k % 2][i] = from[tileRow(ty, turned(k, i))];
    };
    auto loadB = [&](int window, int k, int j0) {
        for (int j = j0; j < j0 + 4; ++j) {
            fragB[k % 2][j] = Bs[window][k][warpCol + tileCol(tx, j)];
        }
    };

    float acc[TM][TN] = {};
    for (int s = 0; s < STAGES; ++s) fetch(s * BK, s);
    waitForGroups<STAGES - 1>();
    __syncthreads();
    loadA(0, 0);
    for (int j = 0; j < TN; j += 4) loadB(0, 0, j);
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int next = now + 1 < STAGES ? now + 1 : 0;

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const bool last = k == BK - 1;  // the next k is the first of the next K tile
            if (last) {
                waitForGroups<STAGES - 2>();  // my part of the next K tile is there
                __syncthreads();              // and everyone's; and all have read this one
            }
            loadA(last ? next : now, (k + 1) % BK);
            for (int j = 0; j < TN; ++j) {
                for (int s = 0; s < TM; ++s) {
                    const int i = j % 2 ? TM - 1 - s : s;  // down one column, up the next
                    acc[i][j] += fragA[k % 2][i] * fragB[k % 2][j];
                }
                // Four columns are done, and their registers free for the next k.
                if (j % 4 == 3) loadB(last ? next : now, (k + 1) % BK, j - 3);
            }
        }
        fetch(k0 + STAGES * BK, now);  // into the K tile that all have read
        now = next;
    }

    constexpr int FOURS = BM * BN / 4;  // float4 of a tile
    int* count = reinterpret_cast<int*>(sums) + tile;  // the counts come before all sums
    float4* mine = (sums += FOURS) + size_t(FOURS) * (part * tiles + tile);
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
            mine[((row - blockRow) * BN + col - blockCol) / 4] = v;
        }
    }
    // The blocks of a tile count themselves, and wait until all have stored their sums.
    const bool counts = parts > 1 && tid == 0;
    waitForGroups<0>();  // shared memory is used again
    __threadfence();
    __syncthreads();
    if (counts) atomicAdd(count, 1);
    while (counts && atomicAdd(count, 0) < parts) {}
    __threadfence();
    __syncthreads();
    // Each adds up its part of the tile, always in the same order: the same bits on every run.
    const int begin = FOURS * part / parts, end = FOURS * (part + 1) / parts;
    auto total = [&](int p, int first, int step) {
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
        for (int other = first; other < parts; other += step) {
            v = sum(v, __ldcg(&sums[size_t(FOURS) * (other * tiles + tile) + p]));
        }
        return v;
    };
    auto store = [&](int p, float4 v) {
        const int row = blockRow + p * 4 / BN, col = blockCol + p * 4 % BN;
        store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
    };
    constexpr int WIDTH = THREADS / SHARES;
    if (end - begin > WIDTH) {
        for (int p = begin + tid; p < end; p += THREADS) store(p, total(p, 0, 1));
    } else {
        // With many parts there are few columns for a block: SHARES threads share four of them.
        auto& added = *reinterpret_cast<float4(*)[SHARES][WIDTH]>(shared);
        const int i = tid % WIDTH, share = tid / WIDTH, p = begin + i;
        if (p < end) added[share][i] = total(p, share, SHARES);
        __syncthreads();
        if (p < end && share == 0) {
            float4 v = added[0][i];
            for (int s = 1; s < SHARES; ++s) v = sum(v, added[s][i]);
            store(p, v);
        }
    }
    __syncthreads();
    if (counts && atomicAdd(count, 1) == 2 * parts - 1) *count = 0;  // the last resets it
}
