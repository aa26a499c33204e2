// title: Sums promoted, A as it lies
// parent: promoted
// change: A is copied as it lies, 16 bytes at once, and one instruction deals it to the lanes.
// chapter: 11
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
// shared: 4 * STAGES * (BM * (BK + PAD) + BK * (BN + 2 * PAD))
// needs: sm_80
// arithmetic: 3xtf32
// variants: STAGES=2
//
// A tensor core wants four neighbours of a row of A in four lanes. ldmatrix deals them out like that:
// so A need not be transposed on its way, float by float.

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 32;   // width of the window along K
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;   // columns of C per thread
constexpr int PAD = 4;   // unused floats per row of As
constexpr int WM = 64;   // rows of C per warp
constexpr int WN = 32;   // columns of C per warp
constexpr int STAGES = 3;  // windows in shared memory
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LANES_M = WM / TM;            // lanes of a warp along M
constexpr int LANES_N = WN / TN;            // lanes of a warp along N
constexpr int A_STEP = THREADS / (BK / 4);  // rows of A copied at once
constexpr int B_STEP = THREADS / (BN / 4);  // rows of B copied at once

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M == 8 && LANES_N == 4 && TN % 8 == 0,
              "A tensor core deals rows to 8 groups of 4 lanes: WM is 8 * TM, WN is 4 * TN.");
static_assert(BM % A_STEP == 0 && BK % 8 == 0,
              "4 * THREADS / BK, rows of A copied at once, divides BM; 8 divides BK.");
static_assert(BK % B_STEP == 0, "4 * THREADS / BN, the rows of B copied at once, divides BK.");
static_assert(THREADS % (BN / 4) == 0, "Whole rows of B are copied: BN / 4 divides THREADS.");
static_assert(PAD % 8 == 4, "Lanes read 8 rows of As at once: PAD of 4 parts their banks.");
static_assert(TM % 4 == 0 && TN % 4 == 0,
              "A thread has groups of 4: TM and TN are multiples of 4.");
static_assert(BK % 4 == 0 && BN % 4 == 0,
              "float4 holds 4 floats: BK and BN must be multiples of 4.");
static_assert(STAGES >= 2, "One window is multiplied, another filled: STAGES is 2 or more.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

// Where in shared memory x is, as PTX counts it.
__device__ unsigned inShared(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

// Start to copy one float. Where there is none, a zero is stored and `from` is not read.
__device__ void copy4(float* to, const float* from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(inShared(to)), "l"(from),
                 "r"(there ? 4 : 0) : "memory");
}

// Start to copy four floats; both addresses are multiples of 16. Where there are none to copy,
// zeros are stored and `from` is not read.
__device__ void copy16(float* to, const float* from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(inShared(to)), "l"(from),
                 "r"(there ? 16 : 0) : "memory");
}

// The copies that this thread has started since the last call are one group.
__device__ void closeGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until all groups of this thread are there but the LEFT youngest.
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

// Where in the warp tile is the j-th column of B that a lane reads.
__device__ int columnOfB(int ty, int j) { return j / 4 * (4 * LANES_M) + ty * 4 + j % 4; }

// Where in the warp tile a lane's j-th column is: TN / 8 groups of 8, beside the other lanes'.
__device__ int tileCol(int tx, int j) { return j / 8 * (8 * LANES_N) + tx * 8 + j % 8; }

// x rounded to the 11 significant bits of TF32.
__device__ unsigned rounded(float x) { return __float_as_uint(x) + 0x1000 & 0xFFFFE000; }

// x as two TF32 numbers: big is x, rounded to 11 significant bits, small is what is left. (A
// tensor core ignores a last bit of it.) Where x is infinite or NaN, small is NaN.
__device__ void split(float x, unsigned& big, unsigned& small)
{
    big = rounded(x);
    small = __float_as_uint(x - __uint_as_float(big));
}

// Add 16 × 8 of A times 8 × 8 of B to 16 × 8 sums. Lane 4 * g + t has row g of A and the one 8
// below, and column g of B, at k = t and t + 4. It has two sums of both rows. Which columns
// of ours these are, no one asks, if B is read alike: here they are 4 apart.
__device__ void addProducts(float* s, float* sBelow, const unsigned* a,
                            const unsigned* aBelow, const unsigned* b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[4]), "+f"(sBelow[0]), "+f"(sBelow[4])
        : "r"(a[0]), "r"(aBelow[0]), "r"(a[1]), "r"(aBelow[1]), "r"(b[0]), "r"(b[1]));
}

// Read 16 rows × 8 k of A in four pieces of 8 rows × 4 k. Lane l says where row l % 8 of piece
// l / 8 begins, and gets of each piece row l / 4 at k = l % 4.
__device__ void readPieces(float (&a)[4], const float* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a[0]), "=f"(a[1]), "=f"(a[2]), "=f"(a[3]) : "r"(inShared(row)));
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) float shared[];
    // First the windows' rows × k of A; behind them their k × columns of B. Rows of A are
    // 4 banks apart, rows of B 8: so lanes that read at the same time do not meet.
    auto& As = *reinterpret_cast<float(*)[STAGES][BM][BK + PAD]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BK][BN + 2 * PAD]>(&As[STAGES]);

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    const int tx = lane % LANES_N;  // my group of columns in it
    const int ty = lane / LANES_N;  // my group of rows in it
    const int blockRow = blockIdx.y * BM;
    const int blockCol = blockIdx.x * BN;

    const int rA = tid / (BK / 4), kA = tid % (BK / 4) * 4;  // my first float4 of A: row and k
    const int kB = tid / (BN / 4), cB = tid % (BN / 4) * 4;  // my first float4 of B: k, column
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = N % 4 == 0 && size_t(B) % 16 == 0;
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // My first float4 of A and of B. They move along K with the window.
    const float* Athread = A + size_t(blockRow + rA) * K + kA;
    const float* Bthread = B + size_t(kB) * N + blockCol + cB;

    // Start to copy A's part of window w: float4, or, where its rows are not aligned, floats.
    auto copyA = [&](int k0, int w) {
        for (int i = 0; i < BM; i += A_STEP) {
            const float* from = Athread + size_t(i) * K;
            float* to = &As[w][rA + i][kA];
            const int left = blockRow + rA + i < M ? K - k0 - kA : 0;
            if (alignedA) {
                copy16(to, from, left > 0);
            } else {
                for (int j = 0; j < 4; ++j) copy4(to + j, from + j, j < left);
            }
        }
        Athread += BK;
    };
    // Start to copy B's part of window w: float4, or, where its rows are not aligned,
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
    // Start to copy the window of k0, if there is one. A group may be empty: the last windows
    // are waited for like the others.
    auto fetch = [&](int k0, int window) {
        if (k0 < K) {
            copyA(k0, window);
            copyB(k0, window);
        }
        closeGroup();
    };

    const int rowOfA = warpRow + lane % 16, kOfA = lane / 16 * 4;  // the row piece I say

    float acc[TM][TN] = {};
    for (int s = 0; s < STAGES - 1; ++s) fetch(s * BK, s);
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int now = k0 / BK % STAGES;
        const int later = k0 + (STAGES - 1) * BK;
        waitForGroups<STAGES - 2>();  // my part of this window is there
        __syncthreads();              // and everyone's; and all have read the one to be filled
        fetch(later, later / BK % STAGES);

        float part[TM][TN] = {};  // the sums of this window
        // Less is cut off a sum while it is small: so the small products come first.
#pragma unroll 2
        for (int k = 0; k < BK; k += 8) {
            unsigned bigA[TM][2], smallA[TM][2];  // my rows at k + tx and k + tx + 4
            for (int i = 0; i < TM; i += 2) {
                float a[4];
                readPieces(a, &As[now][rowOfA + i * LANES_M][k + kOfA]);
                for (int n = 0; n < 4; ++n) {
                    split(a[n], bigA[i + n % 2][n / 2], smallA[i + n % 2][n / 2]);
                }
            }
            for (int j = 0; j < TN / 2; ++j) {
                unsigned bigB[2], smallB[2];  // a column of B, dealt to ty as the rows are
                for (int h = 0; h < 2; ++h) {
                    const float* rowB = &Bs[now][k + tx + 4 * h][warpCol];
                    split(rowB[columnOfB(ty, j)], bigB[h], smallB[h]);
                }
                const int c = j / 4 * 8 + j % 4;  // of acc: the sums of column j, and 4 behind
                for (int i = 0; i < TM; i += 2) {
                    addProducts(&part[i][c], &part[i + 1][c], smallA[i], smallA[i + 1], bigB);
                    addProducts(&part[i][c], &part[i + 1][c], bigA[i], bigA[i + 1], smallB);
                }
            }
        }
#pragma unroll 2
        for (int k = 0; k < BK; k += 8) {
            unsigned bigA[TM][2];
            for (int i = 0; i < TM; i += 2) {
                float a[4];
                readPieces(a, &As[now][rowOfA + i * LANES_M][k + kOfA]);
                for (int n = 0; n < 4; ++n) bigA[i + n % 2][n / 2] = rounded(a[n]);
            }
            for (int j = 0; j < TN / 2; ++j) {
                unsigned bigB[2];
                for (int h = 0; h < 2; ++h) {
                    bigB[h] = rounded(Bs[now][k + tx + 4 * h][warpCol + columnOfB(ty, j)]);
                }
                const int c = j / 4 * 8 + j % 4;
                for (int i = 0; i < TM; i += 2) {
                    addProducts(&part[i][c], &part[i + 1][c], bigA[i], bigA[i + 1], bigB);
                }
            }
        }
        for (int i = 0; i < TM; ++i) {
            for (int j = 0; j < TN; ++j) acc[i][j] += part[i][j];
        }
    }

    bool again = false;
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; j += 4) {
            const int row = blockRow + warpRow + i * LANES_M + ty;
            const int col = blockCol + warpCol + tileCol(tx, j);
            const float4 v = {acc[i][j + 0], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
            store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
            for (int n = j; n < j + 4; ++n) again |= acc[i][n] != acc[i][n];
        }
    }
    // NaN of ours is multiplied again, by FP32 alone: it stays NaN where A and B lead to NaN.
    for (int n = 0; again && n < TM * TN; ++n) {
        const int row = blockRow + warpRow + n / TN * LANES_M + ty;
        const int col = blockCol + warpCol + tileCol(tx, n % TN);
        float* to = &C[size_t(row) * N + col];
        if (row >= M || col >= N || *to == *to) continue;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + col];
        *to = sum;
    }
}
