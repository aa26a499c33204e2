// title: Tensor cores, FP16, packed
// parent: mma_fp16:BK=32
// change: First, all blocks round A and B once, into the order in which lanes multiply them.
// chapter: 12
// grid: min(SMS, ceil(N / 32) * ceil(M / 16)), 1
// block: BM * BN / (TM * TN), 1
// shared: 2 * STAGES * BK * (BM + BN)
// workspace: 256 + 2 * ceil(K / BK) * BK * (ceil(M / BM) * BM + ceil(N / BN) * BN)
// needs: sm_80
// arithmetic: fp16
// variants: BK=64
//
// Each number of A and B goes to many blocks, and in the parent each of them rounds it. Here it is
// rounded once. Then K tiles are copied as they lie, without a question: past the edges of A and B
// they hold zeros.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 32;   // depth of a K tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 16;   // columns of C per thread
constexpr int WM = 64;   // rows of C per warp
constexpr int WN = 64;   // columns of C per warp
constexpr int STAGES = 3;  // K tiles in shared memory
constexpr int BAND = 8;    // rows of tiles in a band
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int LANES_M = WM / TM;  // lanes of a warp along M
constexpr int LANES_N = WN / TN;  // lanes of a warp along N
constexpr int DEPTH = 4 * 4;      // k of one instruction: four of each lane along them
constexpr int STEPS = BK / DEPTH;

static_assert(BM % WM == 0 && BN % WN == 0, "WM must divide BM, and WN must divide BN.");
static_assert(WM % TM == 0 && WN % TN == 0, "TM must divide WM, and TN must divide WN.");
static_assert(LANES_M == 8 && LANES_N == 4 && TM % 2 == 0 && TN % 8 == 0,
              "A tensor core deals rows to 8 groups of 4 lanes: WM is 8 * TM, WN is 4 * TN.");
static_assert(BK % 16 == 0 && STEPS % 2 == 0,
              "Two steps take turns: BK must hold an even number of them.");
static_assert(BM * BK % (8 * THREADS) == 0 && BN * BK % (8 * THREADS) == 0,
              "Threads copy 16 bytes at once: 8 * THREADS must divide BM * BK and BN * BK.");
static_assert(STAGES >= 2, "One window is multiplied, another filled: STAGES is 2 or more.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: make TM larger.");

// What all rows or columns of a tile give to one instruction, as it is packed: 16 bytes for two
// rows of A or two columns of B, beside those of the next lane. So one load reads them.
using StepA = uint4[BM / 16][32];     // pieces of 16 rows
using StepB = uint4[BN / 32][2][32];  // pieces of 32 columns, in two halves

// Where in shared memory x is, as PTX counts it.
__device__ unsigned inShared(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

// Start to copy 16 bytes.
__device__ void copy16(uint4* to, const uint4* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(inShared(to)), "l"(from)
                 : "memory");
}

// The copies that this thread has started since the last call are one group.
__device__ void closeGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until all groups of this thread are there but the LEFT youngest.
template <int LEFT>
__device__ void waitForGroups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

#include "device.cuh"

// Where in the warp tile a lane's i-th row is: 8 rows below the one before.
__device__ int tileRow(int ty, int i) { return i * LANES_M + ty; }

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

// Add 16 × 16 of A times 16 × 8 of B to 16 × 8 sums. Lane 4 * g + t has row g of A, the one
// 8 below and column g of B at k = 2 * t and 2 * t + 8 and the two behind them. Which k of
// ours these are, no one asks, if A and B are packed alike: here they are four neighbours.
__device__ void addProducts(float* s, float* sBelow, const uint4& a, unsigned b, unsigned b8)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[4]), "+f"(sBelow[0]), "+f"(sBelow[4])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b), "r"(b8));
}

// Round A and pack it. A warp takes pieces of 16 rows × 16 k; a lane four k of two rows each.
__device__ void packA(const float* A, StepA* packed, int M, int K, int groups, int pieces)
{
    constexpr int AT_ONCE = 8;  // pieces on their way before the first is waited for
    const int lane = threadIdx.x % 32, tx = lane % LANES_N, ty = lane / LANES_N;
    const bool aligned = K % 4 == 0 && size_t(A) % 16 == 0;
    const int warps = gridDim.x * THREADS / 32, turns = (pieces + AT_ONCE - 1) / AT_ONCE;
    for (int at = (blockIdx.x * THREADS + threadIdx.x) / 32; at < groups * turns; at += warps) {
        const int r = at % groups, first = at / groups * AT_ONCE;
        const bool inside = aligned && r * 16 + 16 <= M && (first + AT_ONCE) * 16 <= K;
        const int row = r * 16 + ty, k = first * 16 + tx * 4;
        const float* from = A + size_t(row) * K + k;
        float4 a[AT_ONCE][2];
        // Two loops, not a question in one: the loads behind a question wait for those before.
        if (inside) {
            for (int p = 0; p < AT_ONCE; ++p) {
                for (int h = 0; h < 2; ++h) a[p][h] = once4(from + size_t(8 * h) * K + 16 * p);
            }
        } else {
            for (int p = 0; p < AT_ONCE; ++p) {
                for (int h = 0; h < 2; ++h) {
                    const int left = row + 8 * h < M ? K - k - 16 * p : 0;
                    a[p][h] = load4(from + size_t(8 * h) * K + 16 * p, left, aligned);
                }
            }
        }
        for (int p = 0; p < AT_ONCE && first + p < pieces; ++p) {
            const size_t step = (size_t(r / (BM / 16)) * pieces + first + p) * (16 / DEPTH);
            const float4 v = a[p][0], below = a[p][1];
            packed[step][r % (BM / 16)][lane] =
                make_uint4(halves(v.x, v.y), halves(below.x, below.y),
                           halves(v.z, v.w), halves(below.z, below.w));
        }
    }
}

// Round B and pack it. A warp takes pieces of 16 k × 32 columns; a lane four k of four each.
__device__ void packB(const float* B, StepB* packed, int N, int K, int groups, int pieces)
{
    constexpr int AT_ONCE = 4;
    const int lane = threadIdx.x % 32, tx = lane % LANES_N, ty = lane / LANES_N;
    const bool aligned = N % 4 == 0 && size_t(B) % 16 == 0;
    const int warps = gridDim.x * THREADS / 32, turns = (pieces + AT_ONCE - 1) / AT_ONCE;
    for (int at = (blockIdx.x * THREADS + threadIdx.x) / 32; at < groups * turns; at += warps) {
        const int c = at % groups, first = at / groups * AT_ONCE;
        const bool inside = aligned && c * 32 + 32 <= N && (first + AT_ONCE) * 16 <= K;
        const int k = first * 16 + tx * 4, col = c * 32 + ty * 4;
        const float* from = B + size_t(k) * N + col;
        float4 b[AT_ONCE][4];
        if (inside) {
            for (int p = 0; p < AT_ONCE; ++p) {
                for (int h = 0; h < 4; ++h) b[p][h] = once4(from + size_t(16 * p + h) * N);
            }
        } else {
            for (int p = 0; p < AT_ONCE; ++p) {
                for (int h = 0; h < 4; ++h) {
                    const int left = k + 16 * p + h < K ? N - col : 0;
                    b[p][h] = load4(from + size_t(16 * p + h) * N, left, aligned);
                }
            }
        }
        for (int p = 0; p < AT_ONCE && first + p < pieces; ++p) {
            const size_t step = (size_t(c / (BN / 32)) * pieces + first + p) * (16 / DEPTH);
            const float4* v = b[p];
            packed[step][c % (BN / 32)][0][lane] =
                make_uint4(halves(v[0].x, v[1].x), halves(v[2].x, v[3].x),
                           halves(v[0].y, v[1].y), halves(v[2].y, v[3].y));
            packed[step][c % (BN / 32)][1][lane] =
                make_uint4(halves(v[0].z, v[1].z), halves(v[2].z, v[3].z),
                           halves(v[0].w, v[1].w), halves(v[2].w, v[3].w));
        }
    }
}

// Wait until all blocks have come here. All run at once: there are no more of them than SMs.
__device__ void meet(unsigned* notes)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // who sees my note sees what my block has stored
        atomicAdd(&notes[0], 1);
        while (atomicAdd(&notes[0], 0) < gridDim.x) {}
        if (atomicAdd(&notes[1], 1) == gridDim.x - 1) notes[0] = notes[1] = 0;  // I am the last
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned* notes)
{
    // A block can declare 48 KB. Of this array it says at its launch how large it is.
    extern __shared__ __align__(16) unsigned shared[];
    auto& As = *reinterpret_cast<StepA(*)[STAGES][STEPS]>(shared);
    auto& Bs = *reinterpret_cast<StepB(*)[STAGES][STEPS]>(&As[STAGES]);

    const int tilesM = (M + BM - 1) / BM, tilesN = (N + BN - 1) / BN, tiles = tilesM * tilesN;
    const int windows = (K + BK - 1) / BK, steps = windows * STEPS;  // of a tile
    // Behind 256 bytes for notes: A, row of tiles by row of tiles; B, column by column.
    auto* packedA = reinterpret_cast<StepA*>(notes + 64);
    auto* packedB = reinterpret_cast<StepB*>(&packedA[size_t(tilesM) * steps]);
    packA(A, packedA, M, K, tilesM * (BM / 16), windows * (BK / 16));
    packB(B, packedB, N, K, tilesN * (BN / 32), windows * (BK / 16));
    meet(notes);
    if (blockIdx.x >= tiles) return;  // of a small C: all blocks pack, and few multiply

    const int tid = threadIdx.x;
    const int warp = tid / 32, lane = tid % 32;
    const int warpRow = warp / (BN / WN) * WM;  // my warp's tile in the block tile
    const int warpCol = warp % (BN / WN) * WN;
    const int tx = lane % LANES_N;  // my group of columns in it
    const int ty = lane / LANES_N;  // my group of rows in it
    const bool alignedC = N % 4 == 0 && size_t(C) % 16 == 0;

    // Tiles are numbered down the columns of a band, one band below the other: so what blocks
    // multiply at the same time has few rows and columns, and L2 holds them.
    auto place = [&](int tile, int& tileM, int& tileN) {
        const int top = tile / (BAND * tilesN) * BAND, high = min(BAND, tilesM - top);
        const int in = tile - top * tilesN;
        tileM = top + in % high;
        tileN = in / high;
    };
    // The K tiles of my tiles stand in a row. They are copied ahead, from tile to tile.
    int coming = blockIdx.x, left = 0;  // a tile, and how many of its K tiles are to be copied
    const uint4 *nextA, *nextB;
    auto fetch = [&](int stage) {
        if (left == 0 && coming < tiles) {
            int tileM, tileN;
            place(coming, tileM, tileN);
            nextA = &packedA[size_t(tileM) * steps][0][tid];
            nextB = &packedB[size_t(tileN) * steps][0][0][tid];
            left = windows;
            coming += gridDim.x;
        }
        if (left > 0) {
            constexpr int A_QUADS = sizeof(As[0]) / 16, B_QUADS = sizeof(Bs[0]) / 16;
            uint4 *toA = &As[stage][0][0][tid], *toB = &Bs[stage][0][0][0][tid];
            for (int i = 0; i < A_QUADS; i += THREADS) copy16(toA + i, nextA + i);
            for (int i = 0; i < B_QUADS; i += THREADS) copy16(toB + i, nextB + i);
            nextA += A_QUADS;
            nextB += B_QUADS;
            --left;
        }
        closeGroup();
    };

    uint4 fragA[2][TM / 2], fragB[2][TN / 4];  // of this step, and of the next one
    auto load = [&](int stage, int step, int to) {
        for (int i = 0; i < TM / 2; ++i) {
            fragA[to][i] = As[stage][step][warpRow / 16 + i][lane];
        }
        for (int j = 0; j < TN / 4; ++j) {
            fragB[to][j] = Bs[stage][step][warpCol / 32 + j / 2][j % 2][lane];
        }
    };

    for (int s = 0; s < STAGES - 1; ++s) fetch(s);
    waitForGroups<STAGES - 2>();
    __syncthreads();
    load(0, 0, 0);
    int now = 0, read = STAGES - 1;  // the K tile to multiply, and one that all have read
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[TM][TN] = {};
        for (int w = 0; w < windows; ++w) {
            // Behind my last K tile is none. Then this one is what is read ahead, once more.
            const bool more = w + 1 < windows || tile + gridDim.x < tiles;
            const int next = !more ? now : now + 1 < STAGES ? now + 1 : 0;

#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const bool last = step == STEPS - 1;  // the next one is in the next K tile
                if (last) {
                    waitForGroups<STAGES - 2>();  // my part of the next K tile is there
                    __syncthreads();              // and everyone's; and all have read this one
                }
                load(last ? next : now, (step + 1) % STEPS, (step + 1) % 2);
                if (step == 0) fetch(read);  // behind the loads: these are waited for
                for (int j = 0; j < TN / 2; ++j) {
                    for (int s = 0; s < TM; s += 2) {
                        const int i = j % 2 ? TM - 2 - s : s;  // down one column, up the next
                        const int c = j / 4 * 8 + j % 4;  // of acc: sums of column j, and 4 on
                        const uint4& b = fragB[step % 2][j / 2];
                        addProducts(&acc[i][c], &acc[i + 1][c], fragA[step % 2][i / 2],
                                    j % 2 ? b.z : b.x, j % 2 ? b.w : b.y);
                    }
                }
            }
            read = now;
            now = next;
        }

        int tileM, tileN;
        place(tile, tileM, tileN);
        for (int i = 0; i < TM; ++i) {
            for (int j = 0; j < TN; j += 4) {
                const int row = tileM * BM + warpRow + tileRow(ty, i);
                const int col = tileN * BN + warpCol + tileCol(tx, j);
                const float4 v = {acc[i][j + 0], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]};
                store4(&C[size_t(row) * N + col], v, row < M ? N - col : 0, alignedC);
            }
        }
    }
}
