// title: Stream-K
// parent: producers
// change: One block for each SM, and each gets the same number of K tiles: two may share a tile.
// chapter: 10
// grid: min(SMS, ceil(M / BM) * ceil(N / BN) * ceil(K / BK)), 1
// block: BM * BN / (TM * TN) + PRODUCERS, 1
// shared: 4 * STAGES * BK * (BM + PAD + BN)
// workspace: 4 * SMS
// needs: sm_90a
//
// Output tiles do not divide evenly among the SMs. K tiles do. Where that cuts an output tile in
// two, the block with its last K tiles stores its sums in C and sets a flag; the other one adds its
// own. The order of all additions is fixed, so the bits are the same on every run.

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
constexpr int THREADS = BM * BN / (TM * TN);  // threads that multiply
constexpr int LANES_M = WM / TM;            // lanes of a warp along M
constexpr int LANES_N = WN / TN;            // lanes of a warp along N
constexpr int A_STEP = PRODUCERS / 8;         // rows of A copied at once, 8 k of each
constexpr int B_STEP = PRODUCERS / (BN / 4);  // rows of B copied at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M * LANES_N == 32, "A warp has 32 lanes: WM * WN must be 32 * TM * TN.");
static_assert(LANES_M >= 4 && LANES_N >= 4, "The lanes stand 4 × 8 or 8 × 4: change WM or WN.");
static_assert(BM % A_STEP == 0 && BK % 8 == 0,
              "A is copied in pieces of PRODUCERS / 8 rows by 8 k: they divide BM and BK.");
static_assert(BK % B_STEP == 0, "4 * PRODUCERS / BN, rows of B at once, divides BK.");
static_assert(PRODUCERS % (BN / 4) == 0, "Whole rows of B are copied: BN / 4 divides it.");
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
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

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
    const long long tiles = (long long)((M + BM - 1) / BM) * tilesN;
    const int me = gridDim.x - 1 - blockIdx.x;
    const long long begin = tiles * windows * me / gridDim.x;
    const long long end = tiles * windows * (me + 1) / gridDim.x;

    if (tid < STAGES) {
        mbarrierInit(&filled[tid], PRODUCERS);
        mbarrierInit(&emptied[tid], THREADS);
    }
    __syncthreads();

    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    int now = 0, phase = 0;  // my K tile, and whether my round of the ring is even or odd
    if (tid >= THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");  // copying needs few registers
        const int id = tid - THREADS;
        const int rA = id / 8, kA = id % 8;                    // my first float of A: row and k
        const int kB = id / (BN / 4), cB = id % (BN / 4) * 4;  // my first float4 of B: k, col

        for (long long at = begin; at < end;) {
            const int tile = int(at / windows);
            const int blockRow = tile / tilesN * BM, blockCol = tile % tilesN * BN;
            const int first = int(at % windows);  // my part of the tile's K tiles
            const int last = int(min((long long)windows, first + end - at));
            // My first float of A and float4 of B. They move along K with the K tile.
            const float* Athread = A + size_t(blockRow + rA) * K + first * BK + kA;
            const float* Bthread = B + size_t(first * BK + kB) * N + blockCol + cB;

            // Start to copy A's part of K tile w, float by float: it can be transposed on the
            // way, and need not be aligned.
            auto copyA = [&](int k0, int w) {
                for (int k = 0; k < BK; k += 8) {
                    const int leftA = k0 + k + kA < K ? M - blockRow - rA : 0;
                    for (int i = 0; i < BM; i += A_STEP) {
                        copy4(&As[w][kA + k][rA + i], Athread + size_t(i) * K + k, i < leftA);
                    }
                }
                Athread += BK;
            };
            // Start to copy B's part of K tile w: float4, or, where its rows are not aligned,
            // floats that are BN / 4 columns apart: so lanes copy neighbours.
            auto copyB = [&](int k0, int w) {
                if (alignedB) {
                    const int leftB = blockCol + cB < N ? K - k0 - kB : 0;
                    for (int k = 0; k < BK; k += B_STEP) {
                        copy16(&Bs[w][kB + k][cB], Bthread + size_t(k) * N, k < leftB);
                    }
                } else {
#pragma unroll 1
                    for (int k = 0; k < BK; k += B_STEP) {
                        const int cols = k0 + kB + k < K ? N - blockCol : 0;
                        for (int j = 0; j < 4; ++j) {
                            const int c = cB / 4 + j * (BN / 4);
                            const float* from = Bthread + size_t(k) * N - cB;
                            copy4(&Bs[w][kB + k][c], from + c, c < cols);
                        }
                    }
                }
                Bthread += size_t(BK) * N;
            };
            // After the very last K tile one of zeros, for warps that read ahead.
            at += last - first;
            const int zeros = at < end ? 0 : BK;
            for (int k0 = first * BK; k0 < last * BK + zeros; k0 += BK) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                copyA(k0, now);
                copyB(k0, now);
                cpAsyncMbarrierArrive(&filled[now]);
                now = now + 1 < STAGES ? now + 1 : 0;
                if (now == 0) phase = 1 - phase;
            }
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");  // multiplying takes them
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
        const int tile = int(at / windows);
        const int blockRow = tile / tilesN * BM, blockCol = tile % tilesN * BN;
        const int first = int(at % windows);  // my part of the tile's K tiles
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
