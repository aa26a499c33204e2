// title: Per-warp stages
// parent: stream_k
// change: Each producer warp fills whole stages alone, and tests the bounds once for each of them.
// chapter: 10
// grid: min(SMS, ceil(M / BM) * ceil(N / BN) * ceil(K / BK)), 1
// block: BM * BN / (TM * TN) + PRODUCERS, 1
// shared: 4 * STAGES * BK * (BM + PAD + BN)
// workspace: 4 * SMS
// needs: sm_90a
//
// Four warps used to share the copies of every K tile, so each of them did the bookkeeping of all.
// Now they take turns: one warp, one stage. A K tile inside A and B is copied without a test for
// each copy. And where an even split would save few K tiles, tiles stay whole. With BAND=8, for
// large matrices, blocks take whole tiles in an order in which they share what L2 holds.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 8;   // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 16;   // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int WM = 64;   // rows of C per warp
constexpr int WN = 64;   // columns of C per warp
constexpr int STAGES = 8;  // K tiles in shared memory
constexpr int PRODUCERS = 128;  // threads that copy
constexpr int WORTH = 20;  // K tiles that sharing must spare each block
constexpr int BAND = 1;    // rows of tiles in a band; from 2 on, whole tiles come first
constexpr int THREADS = BM * BN / (TM * TN);  // threads that multiply
constexpr int LANES_M = WM / TM;            // lanes of a warp along M
constexpr int LANES_N = WN / TN;            // lanes of a warp along N
constexpr int COPYING = PRODUCERS / 32;  // warps that copy

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(LANES_M >= 4 && LANES_N >= 4, "The lanes stand 4 × 8 or 8 × 4: change WM or WN.");
static_assert(BM % 4 == 0 && BK == 8, "A warp copies 4 rows of A by 8 k at once: BK is 8.");
static_assert(BN % 128 == 0, "A warp copies 128 columns of B at once: they divide BN.");
static_assert(STAGES % COPYING == 0, "Copying warps take turns: COPYING divides STAGES.");
static_assert(PAD % 8 == 4, "Lanes store 4 rows by 8 k of As: PAD of 4 parts their banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "A thread has groups of 4: TM and TN are multiples of 4.");
static_assert(BK % 4 == 0 && BN % 4 == 0,
              "float4 holds 4 floats: BK and BN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied, another filled: STAGES is 2 or more.");
static_assert(THREADS == 256 && PRODUCERS == 128, "Registers are dealt to 256 + 128 threads.");

#include "device.cuh"

// A barrier for the warps that multiply.
__device__ void syncConsumers() { asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory"); }

// Where in the warp tile a lane's i-th row is: TM / 4 groups of 4 rows, below the other lanes'.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: TN / 4 groups of 4, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 4 * (4 * LANES_N) + tx * 4 + j % 4; }

extern "C" __global__ void __launch_bounds__(THREADS + PRODUCERS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, int* notes)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) float shared[];
    // First the K tiles' k × rows of A, transposed; behind them their k × columns of B.
    auto& As = *reinterpret_cast<float(*)[STAGES][BK][BM + PAD]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BK][BN]>(shared + STAGES * BK * (BM + PAD));
    __shared__ Barrier filled[2 * STAGES];     // a K tile is there; behind them:
    Barrier* const emptied = filled + STAGES;  // all have read it

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    // Lanes 1 or 2 apart differ in row and column of the warp tile. If they shared an address,
    // the hardware would merge their requests: fewer wavefronts, but more time to issue them.
    const int ty = lane % LANES_M;             // my group of rows in it
    const int tx = lane / LANES_M ^ lane % 4;  // my group of columns in it
    // All K tiles of all tiles stand in a row. Mine are from `begin` to `end`. A block waits
    // for the next one, which must have started: so blocks that start first take the last ones.
    const int tilesN = (N + BN - 1) / BN, windows = (K + BK - 1) / BK;
    const int tilesM = (M + BM - 1) / BM;
    const long long tiles = (long long)tilesM * tilesN;
    // Whole tiles leave some blocks without one. Shared, they would spare each block the
    // K tiles of so many tiles, divided by the number of blocks.
    const int most = gridDim.x;
    const bool share = tiles > most || (most - tiles) * windows > WORTH * most;
    const int blocks = share ? most : int(tiles), me = blocks - 1 - int(blockIdx.x);
    if (me < 0) return;
    // With bands, whole tiles come first: each block has one in every round. From `cut` on
    // follows my share of the remaining tiles.
    const long long rounds = BAND == 1 ? 0 : max(tiles / blocks - 1, 0LL);
    const long long rest = (tiles - rounds * blocks) * windows;
    const long long cut = rest * me / blocks, end = rest * (me + 1) / blocks;
    const long long begin = cut - rounds * windows;
    auto tileAt = [&](long long at) {
        if (BAND == 1 || at >= cut) return int(rounds * blocks + at / windows);
        return int((at - begin) / windows * blocks + me);
    };
    auto firstAt = [&](long long at) { return BAND == 1 || at >= cut ? int(at % windows) : 0; };
    // The tiles of a band are numbered down its columns. So those of a round share rows of A
    // and columns of B, which L2 holds.
    auto rowOf = [&](int tile) {
        if (BAND == 1) return tile / tilesN;
        const int top = tile / (BAND * tilesN) * BAND, left = tilesM - top;
        return top + (tile - top * tilesN) % (left < BAND ? left : BAND);
    };
    auto colOf = [&](int tile) {
        if (BAND == 1) return tile % tilesN;
        const int top = tile / (BAND * tilesN) * BAND, left = tilesM - top;
        return (tile - top * tilesN) / (left < BAND ? left : BAND);
    };

    if (tid < STAGES) {
        mbarrierInit(&filled[tid], 32);
        mbarrierInit(&emptied[tid], THREADS);
    }
    __syncthreads();

    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    int now = 0, phase = 0;  // my K tile, and whether my round of the ring is even or odd
    if (tid >= THREADS) {
        // More than copying needs.
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(BAND == 1 ? 136 : 104));
        const int mine = warp - THREADS / 32;    // my first K tile
        const int rA = lane / 8, kA = lane % 8;  // my first float of A: row and k

        now = mine;
        for (long long at = begin; at < end;) {
            const int tile = tileAt(at);
            const int blockRow = rowOf(tile) * BM, blockCol = colOf(tile) * BN;
            const int first = firstAt(at);  // my part of the tile's K tiles
            const int last = int(min((long long)windows, first + end - at));
            const int turn = int((at - begin) % COPYING);  // whose K tile is the first
            const bool inside = alignedB && blockRow + BM <= M && blockCol + BN <= N;
            at += last - first;
            // After the very last K tile one of zeros, for warps that read ahead.
            const int stop = at < end ? last : last + 1;

            for (int w = first + (mine + COPYING - turn) % COPYING; w < stop; w += COPYING) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                // A goes float by float: it can be transposed on the way, and need not be
                // aligned.
                const float* Alane = A + size_t(blockRow + rA) * K + w * BK + kA;
                const int leftA = w * BK + kA < K ? M - blockRow - rA : 0;
                const bool whole = inside && w * BK + BK <= K;
                if (whole) {
                    for (int i = 0; i < BM; i += 4) {
                        copy4(&As[now][kA][rA + i], Alane + i * K, true);
                    }
                } else {
                    for (int i = 0; i < BM; i += 4) {
                        copy4(&As[now][kA][rA + i], Alane + i * K, i < leftA);
                    }
                }
                // B goes as float4, or, where its rows are not aligned, as floats: lanes copy
                // neighbours.
                const int c = (alignedB ? 4 : 1) * lane;  // my first column
                const float* Blane = B + size_t(w * BK) * N + blockCol + c;
                if (whole) {
#pragma unroll
                    for (int j = 0; j < BN; j += 128) {
                        for (int k = 0; k < BK; ++k) {
                            copy16(&Bs[now][k][c + j], Blane + k * N + j, true);
                        }
                    }
                } else if (alignedB) {
#pragma unroll
                    for (int j = 0; j < BN; j += 128) {
                        const int leftB = blockCol + c + j < N ? K - w * BK : 0;
                        for (int k = 0; k < BK; ++k) {
                            copy16(&Bs[now][k][c + j], Blane + k * N + j, k < leftB);
                        }
                    }
                } else {
                    for (int j = 0; j < BN; j += 32) {
                        const int leftB = blockCol + c + j < N ? K - w * BK : 0;
                        for (int k = 0; k < BK; ++k) {
                            copy4(&Bs[now][k][c + j], Blane + k * N + j, k < leftB);
                        }
                    }
                }
                cpAsyncMbarrierArrive(&filled[now]);
                now += COPYING;
                if (now >= STAGES) now -= STAGES, phase = 1 - phase;
            }
        }
        return;
    }

    // By trial: the assembler orders the loop differently for each number.
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(BAND == 1 ? 184 : 200));
    float fragA[2][TM];  // this k's column of my rows, and the next one's
    float fragB[TN];     // this k's row of my columns
    auto loadA = [&](int window, int k) {
        for (int i = 0; i < TM; ++i) fragA[k % 2][i] = As[window][k][warpRow + tileRow(ty, i)];
    };
    auto loadB = [&](int window, int k) {
        for (int j = 0; j < TN; ++j) fragB[j] = Bs[window][k][warpCol + tileCol(tx, j)];
    };

    mbarrierWait(&filled[0], 0);
    loadA(0, 0);
    for (long long at = begin; at < end;) {
        const int tile = tileAt(at);
        const int blockRow = rowOf(tile) * BM, blockCol = colOf(tile) * BN;
        const int first = firstAt(at);  // my part of the tile's K tiles
        const int last = int(min((long long)windows, first + end - at));
        float acc[TM][TN] = {};
        for (int k0 = first * BK; k0 < last * BK; k0 += BK) {
            const int next = now + 1 < STAGES ? now + 1 : 0;

#pragma unroll
            for (int k = 0; k < BK; ++k) {
                const bool last = k == BK - 1;  // the next k is the first of the next K tile
                if (last) mbarrierWait(&filled[next], next ? phase : 1 - phase);
                loadA(last ? next : now, (k + 1) % BK);
                loadB(now, k);
                for (int j = 0; j < TN; ++j) {
                    for (int s = 0; s < TM; ++s) {
                        const int i = j % 2 ? TM - 1 - s : s;  // down one column, up the next
                        acc[i][j] += fragA[k % 2][i] * fragB[j];
                    }
                }
            }
            mbarrierArrive(&emptied[now]);  // I have read this K tile
            now = next;
            if (now == 0) phase = 1 - phase;
        }

        // The K tiles behind mine are another block's first work: its sums of them are in C.
        const bool add = last < windows;
        while (add && tid == 0 && atomicExch(&notes[me + 1], 0) == 0) {}  // wait, take its note
        __threadfence();
        syncConsumers();
        // Registers lie in two banks, odd and even. A product waits if its sum and its fresh
        // factor share a bank. What leaves as a float4 gets four neighbouring registers. This
        // store never runs, for K is never below 0, but the assembler obeys it: with the pairs
        // turned, acc[i][j] is odd where fragA[i], which was read as a float4, is even.
        if (K < 0) {
#pragma unroll
            for (int j = 0; j < TN; ++j) {
#pragma unroll
                for (int i = 0; i < TM; i += 4) {
                    reinterpret_cast<float4*>(C)[i / 4 * TN + j] =
                        make_float4(acc[i + 1][j], acc[i][j], acc[i + 3][j], acc[i + 2][j]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int j = 0; j < TN; j += 4) {
                const int row = blockRow + warpRow + tileRow(ty, i);
                const int col = blockCol + warpCol + tileCol(tx, j);
                float* to = &C[size_t(row) * N + col];
                const int left = row < M ? N - col : 0;
                float4 v =
                    make_float4(acc[i][j + 0], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
                if (add) v = add4(v, to, left, alignedC);
                store4(to, v, left, alignedC);
            }
        }
        // The K tiles before mine are another block's last work, and it waits for my sums.
        __threadfence();
        syncConsumers();
        if (first > 0 && tid == 0) atomicExch(&notes[me], 1);
        at += last - first;
    }
}
