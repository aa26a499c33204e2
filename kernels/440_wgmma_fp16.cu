// title: wgmma, FP16
// parent: wgmma_tf32
// change: FP16 numbers, rounded once before, and both factors come from shared memory.
// chapter: 13
// grid: SMS, 1
// block: THREADS, 1
// shared: 2 * STAGES * BK * (BM + BN) + 32768
// workspace: 256 + 16 * (M * ceil(K / 8) + K * ceil(N / 8))
// map: mapA = fp16 A or workspace + 256, M x K, pitch 16 * ceil(K / 8), box BM x BK, swizzle 128
// map: mapB = fp16 B or workspace + 256 + 16 * M * ceil(K / 8), K x N, pitch 16 * ceil(N / 8), box BK x 64, swizzle 128
// map: mapC = fp32 C, M x N, pitch 16 * ceil(N / 4), box 64 x 32, swizzle 128
// needs: sm_90a
// arithmetic: fp16
// variants: INPUT=16
//
// FP16 numbers are half as long and multiply twice as fast. The instruction may read FP16 factors
// whose columns are neighbours, so B needs no registers. TMA cannot round to FP16: a first pass
// does, of B and of the rows of A in the first band. Warps that do not copy round the other rows
// meanwhile. With INPUT=16, A and B hold FP16 numbers already.

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 256;  // columns of C per block
constexpr int BK = 64;   // width of a K tile: 128 bytes, the width of the swizzle
constexpr int STAGES = 3;    // K tiles in shared memory
constexpr int CLUSTER = 2;   // blocks that share B: each copies a part of its columns to all
constexpr int BAND = 8;      // rows of tiles in a band
constexpr int INPUT = 32;    // bits of a number of A and B
constexpr int THREADS = 384;  // a warp group that copies, and two that multiply

static_assert(BM == 128 && BN == 256 && BK == 64,
              "The instructions are written for this tile.");
static_assert(CLUSTER == 1 || CLUSTER == 2, "A cluster has 1 or 2 blocks.");
static_assert(STAGES >= 2 && STAGES <= 4, "Shared memory has room for 4 stages.");
static_assert(INPUT == 16 || INPUT == 32, "A and B are FP16 or FP32.");

#include "device.cuh"

// Round X, rows × columns, to FP16, in rows of pitch numbers. TMA needs rows of whole 16 bytes.
// A thread takes the pieces of 8 numbers at, at + stride and so on: AT_ONCE of them are on
// their way before the first is waited for.
template <int AT_ONCE>
__device__ void roundMatrix(const float* X, unsigned short* rounded, int rows, int columns,
                            int pitch, size_t at, size_t stride)
{
    const size_t pieces = size_t(rows) * (pitch / 8);
    if (pitch == columns && size_t(X) % 16 == 0) {
        for (; at + (AT_ONCE - 1) * stride < pieces; at += AT_ONCE * stride) {
            float4 v[AT_ONCE][2];
            for (int i = 0; i < AT_ONCE; ++i) {
                for (int h = 0; h < 2; ++h) v[i][h] = once4(X + 8 * (at + i * stride) + 4 * h);
            }
            for (int i = 0; i < AT_ONCE; ++i) {
                const float4 u = v[i][0], w = v[i][1];
                *reinterpret_cast<uint4*>(&rounded[8 * (at + i * stride)]) = make_uint4(
                    halves(u.x, u.y), halves(u.z, u.w), halves(w.x, w.y), halves(w.z, w.w));
            }
        }
    }
    for (; at < pieces; at += stride) {
        const size_t row = at / (pitch / 8), c = at % (pitch / 8) * 8;
        const float* from = X + row * columns + c;
        const float4 u = load4(from, columns - int(c), false);
        const float4 w = load4(from + 4, columns - int(c) - 4, false);
        *reinterpret_cast<uint4*>(&rounded[row * pitch + c]) =
            make_uint4(halves(u.x, u.y), halves(u.z, u.w), halves(w.x, w.y), halves(w.z, w.w));
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned* workspace,
          const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB,
          const __grid_constant__ TensorMap mapC)
{
    // A ring of K tiles, as TMA stores them, of B four boxes of 64 columns. Then, for each warp
    // group, two boxes of C on their way out.
    extern __shared__ __align__(1024) unsigned char shared[];
    auto& As = *reinterpret_cast<unsigned short(*)[STAGES][BM][BK]>(shared);
    auto& Bs = *reinterpret_cast<unsigned short(*)[STAGES][BN / 64][BK][64]>(&As[STAGES]);
    auto& Cs = *reinterpret_cast<float(*)[2][2][64][32]>(&Bs[STAGES]);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

    const int tid = threadIdx.x;
    const int block = clusterCtaRank();
    const int pitchA = (K + 7) / 8 * 8, pitchB = (N + 7) / 8 * 8;
    auto* halfA = reinterpret_cast<unsigned short*>(workspace + 64);
    auto* halfB = halfA + size_t(M) * pitchA;
    // The rows of the first band.
    const int early = INPUT == 32 ? min(M, BAND * CLUSTER * BM) : M;
    unsigned* finished = workspace + 2;  // warps that have rounded all their other rows
    if (INPUT == 32) {
        const size_t at = size_t(blockIdx.x) * THREADS + tid,
                     threads = size_t(gridDim.x) * THREADS;
        roundMatrix<4>(B, halfB, K, N, pitchB, at, threads);
        roundMatrix<4>(A, halfA, early, K, pitchA, at, threads);
        if (at == 0) *finished = 0;
        gridSync(workspace);
    } else if (pitchA != K || pitchB != N || size_t(A) % 16 || size_t(B) % 16) {
        copyPadded(reinterpret_cast<const unsigned short*>(A), halfA, M, K, pitchA);
        copyPadded(reinterpret_cast<const unsigned short*>(B), halfB, K, N, pitchB);
        gridSync(workspace);
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
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");  // copying needs few registers
        if (tid >= 32 && early < M) {  // during the first band, the other rows of A
            const size_t from = early, at = size_t(blockIdx.x) * 96 + tid - 32;
            roundMatrix<2>(A + from * K, halfA + from * pitchA, M - early, K, pitchA, at,
                           size_t(gridDim.x) * 96);
            fenceProxyAsync();
            __syncwarp();
            __threadfence();
            if (tid % 32 == 0) atomicAdd(finished, 1);
        }
        for (int tile = first; tid == 0 && tile < tiles; tile += clusters) {
            place(tile, row, col);
            if (early < M && row >= early) {
                while (atomicAdd(finished, 0) < 3 * gridDim.x) {}
                __threadfence();
                fenceProxyAsync();
            }
            for (int k0 = 0; k0 < kTiles * BK; k0 += BK) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                mbarrierArriveExpectTx(&filled[now], 2 * BK * (BM + BN));
                tmaLoad(&As[now], mapA, k0, row, &filled[now]);
                for (int i = block; i < BN / 64; i += CLUSTER) {
                    tmaLoadMulticast(&Bs[now][i], mapB, col + 64 * i, k0, &filled[now],
                                     CLUSTER);
                }
                next();
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");  // multiplying takes them
        const int group = tid / 128 - 1, id = tid % 128;
        const int warp = id / 32, g = id % 32 / 4, t = id % 4;
        const bool boxesOfC = N % 4 == 0 && size_t(C) % 16 == 0;  // TMA can store them
        const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;

        float acc[128];
        for (int tile = first; tile < tiles; tile += clusters) {
            place(tile, row, col);
            int read = 0;  // the stage before
            for (int kTile = 0; kTile < kTiles; ++kTile) {
                mbarrierWait(&filled[now], phase);
                wgmmaFence();
                const unsigned long long a = matrixDescriptor(&As[now][group * 64], 1024, 0, 1);
                const unsigned long long b = matrixDescriptor(&Bs[now], 1024, BK * 128, 1);
                // 16 k further are 32 bytes of A and 16 rows of B, in units of 16 bytes.
                for (int s = 0; s < BK / 16; ++s) {
                    wgmma64x256x16(acc, a + 2 * s, b + 128 * s, kTile + s > 0);
                }
                wgmmaCommit();
                if (kTile > 0) {
                    wgmmaWait<1>();  // those of the stage before
                    if (id < CLUSTER) mbarrierArriveCluster(&emptied[read], id);
                }
                read = now;
                next();
            }
            wgmmaWait<0>();
            if (id < CLUSTER) mbarrierArriveCluster(&emptied[read], id);

            // acc[4 * j + 2 * h] and the next are neighbours in row g + 8 * h of my warp's 16.
            row += group * 64;
            if (boxesOfC) {
                // Two boxes take turns: one is filled while TMA stores the other.
                for (int box = 0; box < BN / 32; ++box) {
                    auto& to = Cs[group][box % 2];
                    if (id == 0) tmaStoreWait<1>();
                    warpGroupSync(group);
                    for (int j = 0; j < 4; ++j) {
                        for (int h = 0; h < 2; ++h) {
                            const int piece = (2 * j + t / 2) ^ g;  // swizzled
                            *reinterpret_cast<float2*>(
                                &to[warp * 16 + g + 8 * h][piece * 4 + t % 2 * 2]) =
                                make_float2(acc[16 * box + 4 * j + 2 * h],
                                            acc[16 * box + 4 * j + 2 * h + 1]);
                        }
                    }
                    fenceProxyAsyncShared();
                    warpGroupSync(group);
                    if (id == 0) tmaStore(&to, mapC, col + 32 * box, row);
                }
            } else {
                for (int h = 0; h < 2; ++h) {
                    const int r = row + warp * 16 + g + 8 * h;
                    for (int j = 0; j < BN / 8; ++j) {
                        const int c = col + 8 * j + 2 * t;
                        const float2 v = {acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1]};
                        store2(&C[size_t(r) * N + c], v, r < M ? N - c : 0, alignedC);
                    }
                }
            }
        }
        if (id == 0) tmaStoreWait<0>();  // shared memory is read until then
    }
    clusterSync();  // no block ends while another may write into its shared memory
}
