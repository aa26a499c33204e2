// title: wgmma, TF32
// parent: mma_tf32
// change: Four warps issue one instruction, wgmma, which reads A from shared memory itself.
// chapter: 12
// grid: ceil(N / BN), ceil(M / BM)
// block: BN / WN * 128 + PRODUCERS, 1
// shared: 4 * STAGES * BK * (BM + BN + PAD)
// needs: sm_90a
// arithmetic: tf32
// variants: BN=128,WN=64
//
// Hopper's wgmma multiplies 64 × 8 numbers, in registers of four warps, by 8 × 128 that it reads from
// shared memory. There k must run along rows: so it does in A, not in B. So Cᵀ = Bᵀ · Aᵀ is computed,
// and Aᵀ is what the instruction reads. It runs asynchronously while the warps go on.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 32;   // depth of a K tile
constexpr int WN = 128;  // columns of C per warp group: four warps
constexpr int STAGES = 4;  // K tiles in shared memory
constexpr int PAD = 8;     // unused floats per row of Bs
constexpr int PRODUCERS = 256;            // threads that copy A and B
constexpr int THREADS = BN / WN * 128;    // threads that multiply
constexpr int STEPS = BK / 8;             // an instruction multiplies 8 k
constexpr int QUADS = BK / 4;             // A is copied in quads: 4 k of a row
constexpr int COLS = WN / 32;             // columns of C per thread
constexpr int A_STEP = PRODUCERS / QUADS;     // rows of A copied at once
constexpr int B_STEP = PRODUCERS / (BN / 4);  // rows of B copied at once

static_assert(BM == 128, "The instruction is written for 128 rows: BM is 128.");
static_assert(BN == 2 * WN, "Registers are dealt to two warp groups: BN is 2 * WN.");
static_assert(WN == 64 || WN == 128, "An instruction takes 64 columns: WN is 64 or 128.");
static_assert(BK == 32, "The instruction's pattern is 128 bytes wide: BK is 32.");
static_assert(PAD % 32 == 8, "Lanes read 4 rows of Bs at once: PAD of 8 parts their banks.");
static_assert(PRODUCERS == 256, "Registers are dealt to 256 that copy: PRODUCERS is 256.");
static_assert(STAGES >= 2, "Two windows are read at a time: STAGES is 2 or more.");

using Barrier = unsigned long long;

// x with the 11 significant bits of TF32, rounded to nearest.
__device__ unsigned tf32(float x)
{
    unsigned bits;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

#include "device.cuh"

// Behind the last of them.
__device__ void closeGroup() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until all of them are done.
__device__ void waitForAll() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(THREADS + PRODUCERS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A ring of K tiles: A's rows in quads, and B's as they are.
    extern __shared__ __align__(1024) float shared[];
    auto& As = *reinterpret_cast<uint4(*)[STAGES][BM][QUADS]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BK][BN + PAD]>(&As[STAGES]);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

    const int tid = threadIdx.x;
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;
    if (tid < STAGES) {
        setUp(&filled[tid], 2 * PRODUCERS);  // each with its part of A and of B
        setUp(&emptied[tid], THREADS);
    }
    __syncthreads();

    int now = 0, phase = 0;  // my K tile, and whether my round of the ring is even or odd
    if (tid >= THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");  // copying needs fewer registers
        const int id = tid - THREADS;
        const int rA = id / QUADS, qA = id % QUADS;            // my first quad of A: row, quad
        const int kB = id / (BN / 4), cB = id % (BN / 4) * 4;  // my first float4 of B: k, col
        const int place = qA ^ rA % 8;                         // where my quads of A stand
        const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
        const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
        // All rows of A, and columns of B, of my block are there, and may be copied in quads.
        const bool insideA = alignedA && blockRow + BM <= M;
        const bool insideB = alignedB && blockCol + BN <= N;
        // My first quad of A and float4 of B. They move along K with the K tile.
        const float* Athread = A + size_t(blockRow + rA) * K + 4 * qA;
        const float* Bthread = B + size_t(kB) * N + blockCol + cB;

        float4 a[BM / A_STEP];  // what comes next of A waits in registers
        auto fetchA = [&](int k0) {
            const float* from = Athread;
            if (insideA && k0 + BK <= K) {
                for (int i = 0; i < BM / A_STEP; ++i) {
                    a[i] = *reinterpret_cast<const float4*>(from);
                    from += size_t(A_STEP) * K;
                }
                Athread += BK;
                return;
            }
            for (int i = 0; i < BM / A_STEP; ++i) {
                const int left = blockRow + rA + i * A_STEP < M ? K - k0 - 4 * qA : 0;
                a[i] = load4(from, left, alignedA);
                from += size_t(A_STEP) * K;
            }
            Athread += BK;
        };
        auto copyB = [&](int k0) {
            if (insideB && k0 + BK <= K) {
                const float* from = Bthread;
                for (int k = 0; k < BK; k += B_STEP) {
                    copy16(&Bs[now][kB + k][cB], from, true);
                    from += size_t(B_STEP) * N;
                }
            } else if (alignedB) {
                const int left = blockCol + cB < N ? K - k0 - kB : 0;
                for (int k = 0; k < BK; k += B_STEP) {
                    copy16(&Bs[now][kB + k][cB], Bthread + size_t(k) * N, k < left);
                }
            } else {
#pragma unroll 1
                for (int k = 0; k < BK; k += B_STEP) {
                    const int cols = k0 + kB + k < K ? N - blockCol : 0;
                    for (int j = 0; j < 4; ++j) {
                        const int c = cB / 4 + j * (BN / 4);
                        copy4(&Bs[now][kB + k][c], Bthread + size_t(k) * N - cB + c, c < cols);
                    }
                }
            }
            Bthread += size_t(BK) * N;
        };
        fetchA(0);
        for (int k0 = 0; k0 < K; k0 += BK) {
            waitFor(&emptied[now], 1 - phase);  // at once on the first round
            copyB(k0);
            arriveWhenCopied(&filled[now]);
            for (int i = 0; i < BM / A_STEP; ++i) {
                As[now][rA + i * A_STEP][place] =
                    make_uint4(tf32(a[i].x), tf32(a[i].y), tf32(a[i].z), tf32(a[i].w));
            }
            arrive(&filled[now]);
            fetchA(k0 + BK);
            now = now + 1 < STAGES ? now + 1 : 0;
            if (now == 0) phase = 1 - phase;
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");  // multiplying takes them
    const int g = tid % 32 / 4, t = tid % 4;       // my place in the warp, as above
    const int col = tid / 32 * WN / 4 + COLS * g;  // my columns of B: neighbours

    float b[STEPS][2][COLS];  // at k = t and t + 4 of each step
    auto readB = [&] {
        for (int s = 0; s < STEPS; ++s) {
            for (int h = 0; h < 2; ++h) {
                for (int j = 0; j < COLS; ++j) b[s][h][j] = Bs[now][8 * s + 4 * h + t][col + j];
            }
        }
    };

    float acc[COLS / 2][64] = {};
    waitFor(&filled[0], 0);
    letTensorCoresSee();
    readB();
    for (int k0 = 0; k0 < K; k0 += BK) {
        unsigned fragB[STEPS][COLS / 2][4];  // two columns for each instruction
        for (int s = 0; s < STEPS; ++s) {
            for (int j = 0; j < COLS; ++j) {
                for (int h = 0; h < 2; ++h) fragB[s][j / 2][2 * h + j % 2] = tf32(b[s][h][j]);
            }
        }
        openGroup();
        for (int s = 0; s < STEPS; ++s) {
            for (int i = 0; i < COLS / 2; ++i) {
                startProducts(acc[i], fragB[s][i], describe(&As[now][0][2 * s]), 1);
            }
        }
        closeGroup();
        const int read = now;
        now = now + 1 < STAGES ? now + 1 : 0;
        if (now == 0) phase = 1 - phase;
        if (k0 + BK < K) {  // meanwhile
            waitFor(&filled[now], phase);
            letTensorCoresSee();
            readB();
        }
        waitForAll();
        arrive(&emptied[read]);  // I have read this K tile
    }

    const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;
    for (int i = 0; i < 64; i += i % 2 ? 3 : 1) {  // acc[][i + 2] is the next column's
        const int row = blockRow + i / 4 * 8 + 2 * t + i % 2;
        for (int j = 0; j < COLS; j += 2) {
            const int left = row < M ? N - blockCol - col - j : 0;
            float* to = &C[size_t(row) * N + blockCol + col + j];
            const float2 v = {acc[j / 2][i], acc[j / 2][i + 2]};
            if (alignedC && left >= 2) {
                *reinterpret_cast<float2*>(to) = v;
            } else {
                if (left > 0) to[0] = v.x;
                if (left > 1) to[1] = v.y;
            }
        }
    }
}
