// title: Tensor cores, FP16
// parent: column_order
// change: Tensor cores multiply: a warp adds 16 × 8 × 8 products in one instruction.
// chapter: 12
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
// shared: 4 * 2 * BK / 2 * (BM + BN + 4 * PAD)
// arithmetic: fp16
// variants: BK=32
//
// Tiles, threads and sums are those of the parent. What is new is who multiplies: 32 lanes together.
// A and B become FP16 on their way into shared memory, 11 significant bits of 24; the sums stay FP32.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 16;   // width of the window along K
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
static_assert(LANES_M == 8 && LANES_N == 4 && TN % 8 == 0 && B_LOADS % 2 == 0,
              "A tensor core deals rows to 8 groups of 4 lanes: WM is 8 * TM, WN is 4 * TN.");
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

#include "device.cuh"

// Where in the warp tile a lane's i-th row is: TM / 4 groups of 4 rows, below the other lanes'.
__device__ int tileRow(int ty, int i) { return i / 4 * (4 * LANES_M) + ty * 4 + i % 4; }

// Where in the warp tile a lane's j-th column is: TN / 8 groups of 8, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 8 * (8 * LANES_N) + tx * 8 + j % 8; }

// Two floats as FP16, rounded to nearest, in one word.
__device__ unsigned halves(float low, float high)
{
    unsigned word;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(word) : "f"(low), "f"(high));
    return word;
}

// Add 16 × 8 of A times 8 × 8 of B to 16 × 8 sums. Lane 4 * g + t has row g of A, the one
// 8 below and column g of B at k = 2 * t and the next; of both rows two sums, 4 columns apart.
__device__ void addProducts(float* s, float* sBelow, unsigned a, unsigned aBelow, unsigned b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(s[0]), "+f"(s[4]),
        "+f"(sBelow[0]), "+f"(sBelow[4]) : "r"(a), "r"(aBelow), "r"(b));
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) float shared[];
    // First the windows' k × rows of A, transposed; behind them their k × columns of B.
    auto& As = *reinterpret_cast<unsigned(*)[2][BK / 2][BM + 2 * PAD]>(shared);
    auto& Bs = *reinterpret_cast<unsigned(*)[2][BK / 2][BN + 2 * PAD]>(&As[2]);

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    const int tx = lane % LANES_N;  // my group of columns in it
    const int ty = lane / LANES_N;  // my group of rows in it
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my first float4 of A: row and k
    const int kB = tid / (BN / 4) * B_LOADS, cB = tid % (BN / 4) * 4;  // my first of B: k, col
    constexpr int A_STEP = THREADS / (BK / 4);  // rows from one float4 of mine to the next
    constexpr int B_STEP = 1;  // the next k: two of a column become one word
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;
    // Every row and column of my block's windows is there, and may be copied as float4.
    const bool inside = alignedA && alignedB && blockRow + BM <= M && blockCol + BN <= N;

    // My first float4 of A and of B. They move along K with the window.
    const float* Athread = A + size_t(blockRow + rA) * K + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;

    // From global memory into registers. The loads are asked for here, not waited for.
    float4 a[A_LOADS], b[B_LOADS];
    auto fetch = [&](int k0) {
        if (inside && k0 + BK <= K) {
            for (int i = 0; i < A_LOADS; ++i) {
                a[i] = *reinterpret_cast<const float4*>(Athread + size_t(i * A_STEP) * K);
            }
            for (int i = 0; i < B_LOADS; ++i) {
                b[i] = *reinterpret_cast<const float4*>(Bthread + size_t(i * B_STEP) * N);
            }
            Athread += BK;
            Bthread += size_t(BK) * N;
            return;
        }
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
    // From registers into one of the two windows. This waits until the loads have come.
    auto store = [&](int window) {
        for (int i = 0; i < A_LOADS; ++i) {
            As[window][kA / 2][rA + i * A_STEP] = halves(a[i].x, a[i].y);
            As[window][kA / 2 + 1][rA + i * A_STEP] = halves(a[i].z, a[i].w);
        }
        for (int i = 0; i < B_LOADS; i += 2) {
            *reinterpret_cast<uint4*>(&Bs[window][(kB + i) / 2][cB]) =
                make_uint4(halves(b[i].x, b[i + 1].x), halves(b[i].y, b[i + 1].y),
                           halves(b[i].z, b[i + 1].z), halves(b[i].w, b[i + 1].w));
        }
    };

    float acc[TM][TN] = {};
    fetch(0);
    store(0);
    __syncthreads();  // no one reads the first window before all of it is there
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = k0 / BK % 2;  // the window to multiply; the other one is to be filled
        const bool more = k0 + BK < K;
        if (more) fetch(k0 + BK);

#pragma unroll
        for (int k = 0; k < BK; k += 8) {
            unsigned fragA[TM];  // my rows at two k; of B a column, dealt to ty as rows are
            const auto& rowA = As[now][k / 2 + tx];
            for (int i = 0; i < TM; ++i) fragA[i] = rowA[warpRow + tileRow(ty, i)];
            for (int j = 0; j < TN / 2; ++j) {
                const unsigned fragB = Bs[now][k / 2 + tx][warpCol + tileRow(ty, j)];
                const int c = j / 4 * 8 + j % 4;  // of acc: the sums of column j, and 4 behind
                for (int i = 0; i < TM; i += 2) {
                    addProducts(&acc[i][c], &acc[i + 1][c], fragA[i], fragA[i + 1], fragB);
                }
            }
        }
        if (more) store(1 - now);
        __syncthreads();  // the next window is there, and all have read this one
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
