// title: wgmma, 3×FP16
// parent: wgmma_fp16
// change: Each number is two of FP16, three products are added, and FP32 adds the sums of K tiles.
// chapter: 13
// grid: SMS, 1
// block: THREADS, 1
// shared: 4 * STAGES * BK * (BM + BN)
// workspace: 256 + 16 * ceil((M + N + 2 * K) / 4) + 32 * (M * ceil(K / 8) + K * ceil(N / 8))
// map: mapBigA = fp16 workspace + 256 + 16 * ceil((M + N + 2 * K) / 4), M x K, pitch 16 * ceil(K / 8), box BM x BK, swizzle 128
// map: mapSmallA = fp16 workspace + 256 + 16 * ceil((M + N + 2 * K) / 4) + 16 * M * ceil(K / 8), M x K, pitch 16 * ceil(K / 8), box BM x BK, swizzle 128
// map: mapBigB = fp16 workspace + 256 + 16 * ceil((M + N + 2 * K) / 4) + 32 * M * ceil(K / 8), K x N, pitch 16 * ceil(N / 8), box BK x 64, swizzle 128
// map: mapSmallB = fp16 workspace + 256 + 16 * ceil((M + N + 2 * K) / 4) + 32 * M * ceil(K / 8) + 16 * K * ceil(N / 8), K x N, pitch 16 * ceil(N / 8), box BK x 64, swizzle 128
// needs: sm_90a
// arithmetic: 3xfp16
//
// The ideas of `promoted` with FP16, which is twice as fast as TF32 and keeps as many bits, in a
// smaller range. So numbers are first multiplied by powers of two, without an error: for each k,
// column of A and row of B get numbers of one size, and in each row of A and column of B the largest
// comes just below 2¹⁵. C is divided by them at the end. Elements that come out as NaN are computed
// again in FP32.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 64;   // width of a K tile: 128 bytes, the width of the swizzle
constexpr int STAGES = 3;    // K tiles in shared memory
constexpr int CLUSTER = 2;   // blocks that share B: each copies a part of its columns to all
constexpr int BAND = 4;      // rows of tiles in a band
constexpr int STRIP = 8;     // rows of B that a thread splits at once
constexpr int THREADS = 384;  // a warp group that copies, and two that multiply

static_assert(BM == 128 && BN == 128 && BK == 64,
              "The instructions are written for this tile.");
static_assert(CLUSTER == 1 || CLUSTER == 2, "A cluster has 1 or 2 blocks.");
static_assert(STAGES == 2 || STAGES == 3, "Shared memory has room for 3 stages.");

#include "device.cuh"

constexpr int NONE = -1000;  // an exponent below all others

// The exponent of x as FP32 stores it, 1 to 254; of infinity and NaN, NONE.
__device__ int exponentOf(float x)
{
    const int e = __float_as_uint(x) >> 23 & 255;
    return e < 255 ? max(e, 1) : NONE;
}

__device__ int exponentOf(float4 v)
{
    return max(max(exponentOf(v.x), exponentOf(v.y)), max(exponentOf(v.z), exponentOf(v.w)));
}

// By 2 to this power a row or column is multiplied, so that its largest number has exponent 14.
__device__ int scaleFor(int largest) { return largest < NONE / 2 ? 0 : 127 + 14 - largest; }

// x * 2^e. In two steps, since FP32 has no larger power of two than 2^127.
__device__ float scaled(float x, int e)
{
    const int half = max(min(e / 2, 126), -126), rest = max(min(e - half, 126), -126);
    return x * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
}

// Two numbers as FP16, and as FP16 what is left of them.
__device__ void splitTwo(float x, float y, unsigned& big, unsigned& small)
{
    float bigX, bigY;
    big = halves(x, y);
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
        : "=f"(bigX), "=f"(bigY) : "r"(big));
    small = halves(x - bigX, y - bigY);
}

// Split four neighbours, scaled, and store their parts.
__device__ void split4(float4 v, int4 e, unsigned short* big, unsigned short* small)
{
    uint2 b, s;
    splitTwo(scaled(v.x, e.x), scaled(v.y, e.y), b.x, s.x);
    splitTwo(scaled(v.z, e.z), scaled(v.w, e.w), b.y, s.y);
    *reinterpret_cast<uint2*>(big) = b;
    *reinterpret_cast<uint2*>(small) = s;
}

// What each k is multiplied by in A, and divided by in B, to bring their numbers to one size.
struct Balance {
    const int *inA, *inB;  // the largest exponents of each column of A and row of B
    __device__ int operator[](int k) const { return (max(inB[k], 1) - max(inA[k], 1)) / 2; }
};

// Four neighbours of a row. Without a test where it can be: loads behind a test wait for those
// before.
template <bool ALIGNED>
__device__ float4 neighbours(const float* x, int left)
{
    return ALIGNED ? *reinterpret_cast<const float4*>(x) : load4(x, left, false);
}

// A warp finds the largest exponents of the rows of X.
template <bool ALIGNED>
__device__ void largestOfRows(const float* X, int* largest, int rows, int columns)
{
    const int first = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    for (int row = first; row < rows; row += gridDim.x * THREADS / 32) {
        int most = NONE;
#pragma unroll 8
        for (int c = 4 * lane; c < columns; c += 128) {
            const float* from = X + size_t(row) * columns + c;
            most = max(most, exponentOf(neighbours<ALIGNED>(from, columns - c)));
        }
        most = __reduce_max_sync(~0u, most);
        if (lane == 0) largest[row] = most;
    }
}

// A thread takes four columns of X and a strip of rows. If BALANCED, row k is divided by
// 2 to the power balance[k].
template <bool ALIGNED, bool BALANCED>
__device__ void largestOfColumns(const float* X, int* largest, int rows, int columns,
                                 Balance balance)
{
    const int quads = (columns + 3) / 4, strips = (rows + STRIP - 1) / STRIP;
    const int threads = gridDim.x * THREADS;
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < quads * strips; at += threads) {
        const int c = at % quads * 4, first = at / quads * STRIP;
        int4 most = {NONE, NONE, NONE, NONE};
#pragma unroll
        for (int i = 0; i < STRIP; ++i) {
            const int row = min(first + i, rows - 1);  // the last again does no harm
            const float4 v = neighbours<ALIGNED>(X + size_t(row) * columns + c, columns - c);
            const int shift = BALANCED ? balance[row] : 0;
            most.x = max(most.x, exponentOf(v.x) - shift);
            most.y = max(most.y, exponentOf(v.y) - shift);
            most.z = max(most.z, exponentOf(v.z) - shift);
            most.w = max(most.w, exponentOf(v.w) - shift);
        }
        atomicMax(&largest[c], most.x);
        if (c + 1 < columns) atomicMax(&largest[c + 1], most.y);
        if (c + 2 < columns) atomicMax(&largest[c + 2], most.z);
        if (c + 3 < columns) atomicMax(&largest[c + 3], most.w);
    }
}

// A warp finds the largest exponent of a row of A, balanced, and then splits the row.
template <bool ALIGNED>
__device__ void splitA(const float* A, unsigned short* big, unsigned short* small, int* largest,
                       int M, int K, int pitch, Balance balance)
{
    const int first = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    auto shifts = [&](int k) {
        auto at = [&](int i) { return balance[min(k + i, K - 1)]; };
        return make_int4(at(0), at(1), at(2), at(3));
    };
    for (int row = first; row < M; row += gridDim.x * THREADS / 32) {
        const float* from = A + size_t(row) * K;
        const size_t to = size_t(row) * pitch;
        int most = NONE;
#pragma unroll 4
        for (int k = 4 * lane; k < K; k += 128) {
            const float4 v = neighbours<ALIGNED>(from + k, K - k);
            const int4 e = shifts(k);
            most = max(most, max(max(exponentOf(v.x) + e.x, exponentOf(v.y) + e.y),
                                 max(exponentOf(v.z) + e.z, exponentOf(v.w) + e.w)));
        }
        most = __reduce_max_sync(~0u, most);
        if (lane == 0) largest[row] = most;
        const int scale = scaleFor(most);
#pragma unroll 4
        for (int k = 4 * lane; k < K; k += 128) {
            const int4 e = shifts(k);
            split4(neighbours<ALIGNED>(from + k, K - k),
                   make_int4(scale + e.x, scale + e.y, scale + e.z, scale + e.w), big + to + k,
                   small + to + k);
        }
    }
}

// Split B, from its last rows on: L2 has them still.
template <bool ALIGNED>
__device__ void splitB(const float* B, unsigned short* big, unsigned short* small,
                       const int* largest, int N, int K, int pitch, Balance balance)
{
    const int quads = (N + 3) / 4, strips = (K + STRIP - 1) / STRIP;
    const int threads = gridDim.x * THREADS;
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < quads * strips; at += threads) {
        const int c = at % quads * 4, first = (strips - 1 - at / quads) * STRIP;
        float4 v[STRIP];
#pragma unroll
        for (int i = 0; i < STRIP; ++i) {
            const int k = min(first + i, K - 1);
            v[i] = neighbours<ALIGNED>(B + size_t(k) * N + c, N - c);
        }
        auto scale = [&](int j) { return scaleFor(largest[min(c + j, N - 1)]); };
        const int4 e = {scale(0), scale(1), scale(2), scale(3)};
#pragma unroll
        for (int i = 0; i < STRIP; ++i) {
            const int k = first + i;
            if (k >= K) break;
            const int shift = balance[k];
            const size_t to = size_t(k) * pitch + c;
            split4(v[i], make_int4(e.x - shift, e.y - shift, e.z - shift, e.w - shift),
                   big + to, small + to);
        }
    }
}

// What the first pass makes of A and B, in the workspace.
struct Split {
    int *largestA, *largestB;   // exponents: of rows of A and columns of B,
    int *columnsA, *rowsB;      // and of both for each k
    unsigned short *bigA, *smallA, *bigB, *smallB;
};

// The first pass. After a gridSync all blocks see what the others have found. Each call has
// counters of its own: a fast block may be at the next one before the last block resets these.
template <bool ALIGNED>
__device__ void splitBoth(const float* A, const float* B, const Split& split, int M, int N,
                          int K, int pitchA, int pitchB, unsigned* workspace)
{
    const Balance balance = {split.columnsA, split.rowsB};
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N + K; i += gridDim.x * THREADS) {
        split.largestB[i] = NONE;  // and columnsA behind it
    }
    largestOfRows<ALIGNED>(B, split.rowsB, K, N);
    gridSync(workspace);
    largestOfColumns<ALIGNED, false>(A, split.columnsA, M, K, balance);
    gridSync(workspace + 2);
    splitA<ALIGNED>(A, split.bigA, split.smallA, split.largestA, M, K, pitchA, balance);
    largestOfColumns<ALIGNED, true>(B, split.largestB, K, N, balance);
    gridSync(workspace + 4);
    splitB<ALIGNED>(B, split.bigB, split.smallB, split.largestB, N, K, pitchB, balance);
    gridSync(workspace + 6);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned* workspace,
          const __grid_constant__ TensorMap mapBigA,
          const __grid_constant__ TensorMap mapSmallA,
          const __grid_constant__ TensorMap mapBigB,
          const __grid_constant__ TensorMap mapSmallB)
{
    // A ring of K tiles, as TMA stores them: big and small parts, of B boxes of 64 columns.
    extern __shared__ __align__(1024) unsigned char shared[];
    auto& As = *reinterpret_cast<unsigned short(*)[STAGES][2][BM][BK]>(shared);
    auto& Bs = *reinterpret_cast<unsigned short(*)[STAGES][2][BN / 64][BK][64]>(&As[STAGES]);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

    const int tid = threadIdx.x;
    const int block = clusterCtaRank();
    const int pitchA = (K + 7) / 8 * 8, pitchB = (N + 7) / 8 * 8;
    Split split;
    split.largestA = reinterpret_cast<int*>(workspace) + 64;
    split.largestB = split.largestA + M;
    split.columnsA = split.largestB + N;
    split.rowsB = split.columnsA + K;
    split.bigA =
        reinterpret_cast<unsigned short*>(split.largestA + (M + N + 2 * K + 3) / 4 * 4);
    split.smallA = split.bigA + size_t(M) * pitchA;
    split.bigB = split.smallA + size_t(M) * pitchA;
    split.smallB = split.bigB + size_t(K) * pitchB;
    if (K % 4 == 0 && N % 4 == 0 && size_t(A) % 16 == 0 && size_t(B) % 16 == 0) {
        splitBoth<true>(A, B, split, M, N, K, pitchA, pitchB, workspace);
    } else {
        splitBoth<false>(A, B, split, M, N, K, pitchA, pitchB, workspace);
    }
    if (tid < STAGES) {
        mbarrierInit(&filled[tid], 1);             // the thread that copies, and the bytes
        mbarrierInit(&emptied[tid], 2 * CLUSTER);  // two warp groups of each block
    }
    clusterSync();

    // Tiles go down the columns of a band: so blocks that run at the same time share rows and
    // columns in L2. A cluster has neighbours of one column of tiles.
    const int tilesM = (M + CLUSTER * BM - 1) / (CLUSTER * BM), tilesN = (N + BN - 1) / BN;
    const int tiles = tilesM * tilesN, kTiles = (K + BK - 1) / BK;
    auto place = [&](int tile, int& row, int& col) {
        const int top = tile / (BAND * tilesN) * BAND, high = min(BAND, tilesM - top);
        const int inBand = tile - top * tilesN;
        row = ((top + inBand % high) * CLUSTER + block) * BM;
        col = inBand / high * BN;
    };
    const int first = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    int row, col;
    int now = 0, phase = 0;  // my stage, and whether my round of the ring is even or odd
    auto next = [&] {
        now = now + 1 < STAGES ? now + 1 : 0;
        if (now == 0) phase = 1 - phase;
    };

    if (tid < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // copying needs few registers
        for (int tile = first; tid == 0 && tile < tiles; tile += clusters) {
            place(tile, row, col);
            for (int k0 = 0; k0 < kTiles * BK; k0 += BK) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                mbarrierArriveExpectTx(&filled[now], 4 * BK * (BM + BN));
                tmaLoad(&As[now][0], mapBigA, k0, row, &filled[now]);
                tmaLoad(&As[now][1], mapSmallA, k0, row, &filled[now]);
                for (int i = block; i < BN / 64; i += CLUSTER) {
                    const int c = col + 64 * i;
                    tmaLoadMulticast(&Bs[now][0][i], mapBigB, c, k0, &filled[now], CLUSTER);
                    tmaLoadMulticast(&Bs[now][1][i], mapSmallB, c, k0, &filled[now], CLUSTER);
                }
                next();
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // multiplying takes them
        const int group = tid / 128 - 1, id = tid % 128;
        const int warp = id / 32, g = id % 32 / 4, t = id % 4;
        const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;

        for (int tile = first; tile < tiles; tile += clusters) {
            place(tile, row, col);
            float acc[64] = {}, part[64];
            for (int kTile = 0; kTile < kTiles; ++kTile) {
                mbarrierWait(&filled[now], phase);
                wgmmaFence();
                unsigned long long a[2], b[2];  // big and small
                for (int i = 0; i < 2; ++i) {
                    a[i] = matrixDescriptor(&As[now][i][group * 64], 1024, 0, 1);
                    b[i] = matrixDescriptor(&Bs[now][i], 1024, BK * 128, 1);
                }
                // Less is cut off a sum while it is small: so the small products come first.
                for (int s = 0; s < BK / 16; ++s) {
                    wgmma64x128x16(part, a[1] + 2 * s, b[0] + 128 * s, s > 0);
                    wgmma64x128x16(part, a[0] + 2 * s, b[1] + 128 * s, 1);
                }
                for (int s = 0; s < BK / 16; ++s) {
                    wgmma64x128x16(part, a[0] + 2 * s, b[0] + 128 * s, 1);
                }
                wgmmaCommit();
                wgmmaWait<0>();
                if (id < CLUSTER) mbarrierArriveCluster(&emptied[now], id);
                for (int i = 0; i < 64; ++i) acc[i] += part[i];
                next();
            }
            // acc[4 * j + 2 * h] and the next are neighbours in row g + 8 * h of my warp's 16.
            row += group * 64 + warp * 16 + g;
            bool again = false;
            for (int h = 0; h < 2; ++h) {
                const int r = row + 8 * h;
                const int scaleA = r < M ? scaleFor(split.largestA[r]) : 0;
                auto unscaled = [&](float sum, int c) {
                    const int e = c < N ? -scaleA - scaleFor(split.largestB[c]) : 0;
                    return scaled(scaled(sum, e / 2), e - e / 2);
                };
#pragma unroll
                for (int j = 0; j < BN / 8; ++j) {
                    const int c = col + 8 * j + 2 * t;
                    const float2 v = {unscaled(acc[4 * j + 2 * h], c),
                                      unscaled(acc[4 * j + 2 * h + 1], c + 1)};
                    again |= v.x != v.x || v.y != v.y;
                    store2(&C[size_t(r) * N + c], v, r < M ? N - c : 0, alignedC);
                }
            }
            // NaN is multiplied again, by FP32 alone: it stays NaN where A and B lead to it.
#pragma unroll 1
            for (int i = 0; again && i < 64; ++i) {
                const int r = row + i / 2 % 2 * 8, c = col + i / 4 * 8 + 2 * t + i % 2;
                float* to = &C[size_t(r) * N + c];
                if (r >= M || c >= N || *to == *to) continue;
                float sum = 0.0f;
                for (int k = 0; k < K; ++k) sum += A[size_t(r) * K + k] * B[size_t(k) * N + c];
                *to = sum;
            }
        }
    }
    clusterSync();  // no block ends while another may write into its shared memory
}
