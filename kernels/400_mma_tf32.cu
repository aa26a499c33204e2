// title: Tensor cores, TF32
// parent: stages
// change: Tensor cores multiply: a warp adds 16 × 8 × 8 products in one instruction.
// chapter: 12
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
// shared: 4 * STAGES * BK * (BM + BN + 4 * PAD)
// needs: sm_80
// arithmetic: tf32
// variants: BK=32 BM=64,BN=128,BK=32,TN=8,WN=32
//
// Tiles, threads and sums are those of the parent. What is new is who multiplies: 32 lanes together.
// They round A and B to TF32 first, 11 significant bits of 24. The sums stay FP32.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 16;   // width of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 16;   // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int WM = 64;   // rows of C per warp
constexpr int WN = 64;   // columns of C per warp
constexpr int STAGES = 3;  // K tiles in shared memory
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LANES_M = WM / TM;            // lanes of a warp along M
constexpr int LANES_N = WN / TN;            // lanes of a warp along N
constexpr int A_STEP = THREADS / 8;         // rows of A copied at once, 8 k of each
constexpr int B_STEP = THREADS / (BN / 4);  // rows of B copied at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M == 8 && LANES_N == 4 && TN % 8 == 0,
              "A tensor core deals rows to 8 groups of 4 lanes: WM is 8 * TM, WN is 4 * TN.");
static_assert(BM % A_STEP == 0 && BK % 8 == 0,
              "A is copied in pieces of THREADS / 8 rows by 8 k: BM and BK must be multiples.");
static_assert(BK % B_STEP == 0, "4 * THREADS / BN, the rows of B copied at once, divides BK.");
static_assert(THREADS % (BN / 4) == 0, "Whole rows of B are copied: BN / 4 divides THREADS.");
static_assert(PAD % 8 == 4, "Lanes store 4 rows by 8 k of As: PAD of 4 parts their banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "A thread has groups of 4: TM and TN are multiples of 4.");
static_assert(BK % 4 == 0 && BN % 4 == 0,
              "float4 holds 4 floats: BK and BN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied, another filled: STAGES is 2 or more.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

#include "device.cuh"

// Where in the warp tile a lane's i-th row is: TM / 4 groups of 4 rows, below the other lanes'.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: TN / 8 groups of 8, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 8 * (8 * LANES_N) + tx * 8 + j % 8; }

// x rounded to the 11 significant bits of TF32: half of the last one is added; a tensor core
// ignores what follows it. PTX has cvt.rna for this; of a sum the assembler makes less.
__device__ unsigned tf32(float x)
{
    const float infinity = __uint_as_float(0x7F800000);
    const unsigned half = fabsf(x) < infinity ? 0x1000 : 0;  // infinity and NaN stay
    return __float_as_uint(x) + half;
}

// Add 16 × 8 of A times 8 × 8 of B to 16 × 8 sums. Lane 4 * g + t has row g of A and the one 8
// below, and column g of B, at k = t and t + 4. It has two sums in both rows, the instruction's
// columns 2 * t and 2 * t + 1. B is read so that these are columns of C that are 4 apart.
__device__ void addProducts(float* s, float* sBelow, const unsigned* a,
                            const unsigned* aBelow, const unsigned* b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[4]), "+f"(sBelow[0]), "+f"(sBelow[4])
        : "r"(a[0]), "r"(aBelow[0]), "r"(a[1]), "r"(aBelow[1]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) float shared[];
    // First the K tiles' k × rows of A, transposed; behind them their k × columns of B.
    // Rows are 8 banks apart: so the lanes of a group, at 4 different k, do not meet.
    auto& As = *reinterpret_cast<float(*)[STAGES][BK][BM + 2 * PAD]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BK][BN + 2 * PAD]>(&As[STAGES]);

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    const int tx = lane % LANES_N;  // my group of columns in it
    const int ty = lane / LANES_N;  // my group of rows in it
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / 8, kA = tid % 8;                    // my first float of A: row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my first float4 of B: k, column
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My first float of A and float4 of B. They move along K with the K tile.
    const float* Athread = A + size_t(blockRow + rA) * K + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;

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
            const bool inside = blockCol + cB < N;
            for (int k = 0; k < BK; k += B_STEP) {
                copy16(&Bs[w][kB + k][cB], Bthread + size_t(k) * N, inside && k0 + kB + k < K);
            }
        } else {
#pragma unroll 1
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
        if (k0 < K) {
            copyA(k0, window);
            copyB(k0, window);
        }
        closeGroup();
    };

    float acc[TM][TN] = {};
    for (int s = 0; s < STAGES - 1; ++s) fetch(s * BK, s);
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = k0 / BK % STAGES;
        const int later = k0 + (STAGES - 1) * BK;
        waitForGroups<STAGES - 2>();  // my part of this K tile is there
        __syncthreads();              // and everyone's; and all have read the one to be filled
        fetch(later, later / BK % STAGES);

#pragma unroll
        for (int k = 0; k < BK; k += 8) {
            unsigned fragA[TM][2];      // my rows at k + tx and k + tx + 4
            unsigned fragB[TN / 2][2];  // columns of B, dealt to ty as the rows are
            for (int h = 0; h < 2; ++h) {
                const float* rowA = &As[now][k + tx + 4 * h][warpRow];
                const float* rowB = &Bs[now][k + tx + 4 * h][warpCol];
                for (int i = 0; i < TM; ++i) fragA[i][h] = tf32(rowA[tileRow(ty, i)]);
                for (int j = 0; j < TN / 2; ++j) fragB[j][h] = tf32(rowB[tileRow(ty, j)]);
            }
            for (int j = 0; j < TN / 2; ++j) {
                const int c = j / 4 * 8 + j % 4;  // of acc: the sums of column j, and 4 behind
                for (int i = 0; i < TM; i += 2) {
                    addProducts(&acc[i][c], &acc[i + 1][c], fragA[i], fragA[i + 1], fragB[j]);
                }
            }
        }
    }

    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; j += 4) {
            const int row = blockRow + warpRow + tileRow(ty, i);
            const int col = blockCol + warpCol + tileCol(tx, j);
            const float4 v = {acc[i][j + 0], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
        }
    }
}
