// title: wgmma, 3×TF32
// parent: wgmma_tf32:BN=128,WN=64
// change: Each product is three, the small ones first, and FP32 adds the sums of each K tile.
// chapter: 12
// grid: ceil(N / BN), ceil(M / BM)
// block: BN / WN * 128 + PRODUCERS, 1
// shared: 4 * STAGES * BK * (2 * BM + BN + PAD)
// needs: sm_90a
// arithmetic: 3xtf32
//
// The ideas of `three_products` and `promoted` with wgmma: big and small parts, small products
// first, a new accumulator for each K tile, and elements that come out as NaN computed again in
// FP32.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 32;   // depth of a K tile
constexpr int WN = 64;  // columns of C per warp group: four warps
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
static_assert(BN == 128 && WN == 64, "Two kinds of sums fill the registers: BN is 128, WN 64.");
static_assert(BK == 32, "The instruction's pattern is 128 bytes wide: BK is 32.");
static_assert(PAD % 32 == 8, "Lanes read 4 rows of Bs at once: PAD of 8 parts their banks.");
static_assert(PRODUCERS == 256, "Registers are dealt to 256 that copy: PRODUCERS is 256.");
static_assert(STAGES >= 2, "Two windows are read at a time: STAGES is 2 or more.");

using Barrier = unsigned long long;

// x as two TF32 numbers: big is x, rounded to 11 significant bits, small is what is left. (A
// tensor core ignores a last bit of it.) Where x is infinite or NaN, small is NaN.
__device__ void split(float x, unsigned& big, unsigned& small)
{
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(big) : "f"(x));
    small = __float_as_uint(x - __uint_as_float(big));
}

#include "device.cuh"

// Behind the last of them.
__device__ void closeGroup() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until all of them are done.
__device__ void waitForAll() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(THREADS + PRODUCERS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A ring of K tiles: A's rows in quads, big parts and small parts, and B's as they are.
    extern __shared__ __align__(1024) float shared[];
    auto& As = *reinterpret_cast<uint4(*)[STAGES][2][BM][QUADS]>(shared);
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
        // My first quad of A and float4 of B. They move along K with the K tile.
        const float* Athread = A + size_t(blockRow + rA) * K + 4 * qA;
        const float* Bthread = B + size_t(kB) * N + blockCol + cB;

        float4 a[BM / A_STEP];  // what comes next of A waits in registers
        auto fetchA = [&](int k0) {
            const float* from = Athread;
            for (int i = 0; i < BM / A_STEP; ++i) {
                const int left = blockRow + rA + i * A_STEP < M ? K - k0 - 4 * qA : 0;
                a[i] = load4(from, left, alignedA);
                from += size_t(A_STEP) * K;
            }
            Athread += BK;
        };
        auto copyB = [&](int k0) {
            if (alignedB) {
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
                uint4 big, small;
                split(a[i].x, big.x, small.x);
                split(a[i].y, big.y, small.y);
                split(a[i].z, big.z, small.z);
                split(a[i].w, big.w, small.w);
                As[now][0][rA + i * A_STEP][place] = big;
                As[now][1][rA + i * A_STEP][place] = small;
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

    float acc[COLS / 2][64] = {}, part[64];
    waitFor(&filled[0], 0);
    letTensorCoresSee();
    readB();
    for (int k0 = 0; k0 < K; k0 += BK) {
        unsigned big[STEPS][4], small[STEPS][4];
        for (int s = 0; s < STEPS; ++s) {
            for (int n = 0; n < 4; ++n) split(b[s][n / 2][n % 2], big[s][n], small[s][n]);
        }
        openGroup();
        // Less is cut off a sum while it is small: so the small products come first.
        for (int s = 0; s < STEPS; ++s) {
            startProducts(part, small[s], describe(&As[now][0][0][2 * s]), s > 0);
            startProducts(part, big[s], describe(&As[now][1][0][2 * s]), 1);
        }
        for (int s = 0; s < STEPS; ++s) {
            startProducts(part, big[s], describe(&As[now][0][0][2 * s]), 1);
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
        for (int i = 0; i < 64; ++i) acc[0][i] += part[i];
    }

    const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;
    bool again = false;
    for (int i = 0; i < 64; i += i % 2 ? 3 : 1) {  // acc[][i + 2] is the next column's
        const int row = blockRow + i / 4 * 8 + 2 * t + i % 2;
        for (int j = 0; j < COLS; j += 2) {
            const int left = row < M ? N - blockCol - col - j : 0;
            float* to = &C[size_t(row) * N + blockCol + col + j];
            const float2 v = {acc[j / 2][i], acc[j / 2][i + 2]};
            again |= v.x != v.x || v.y != v.y;
            if (alignedC && left >= 2) {
                *reinterpret_cast<float2*>(to) = v;
            } else {
                if (left > 0) to[0] = v.x;
                if (left > 1) to[1] = v.y;
            }
        }
    }
    // NaN of ours is multiplied again, by FP32 alone: it stays NaN where A and B lead to NaN.
    for (int i = 0; again && i < 64; ++i) {
        const int row = blockRow + i / 4 * 8 + 2 * t + i % 2;
        const int c = blockCol + col + i / 2 % 2;
        float* to = &C[size_t(row) * N + c];
        if (row >= M || c >= N || *to == *to) continue;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + c];
        *to = sum;
    }
}
