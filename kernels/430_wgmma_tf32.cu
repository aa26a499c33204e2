// title: wgmma, TF32
// parent: wgmma_minimal:BN=128
// change: Two blocks in one row of tiles are a cluster and share A; tiles go in bands.
// chapter: 12
// grid: min(SMS, CLUSTER * ceil(M / BM) * ceil(N / (CLUSTER * BN))), 1
// block: 2 * BN + 128, 1
// shared: 4 * STAGES * BK * (BM + BN)
// workspace: 256 + 16 * (M * ceil(K / 4) + K * ceil(N / 4))
// map: mapA = tf32 A or workspace + 256, M x K, pitch 16 * ceil(K / 4), box BM / CLUSTER x BK, swizzle 128
// map: mapB = tf32 B or workspace + 256 + 16 * M * ceil(K / 4), K x N, pitch 16 * ceil(N / 4), box BK x 32, swizzle 128
// needs: sm_90a
// arithmetic: tf32
// variants: CLUSTER=1 BAND=1
//
// Each block of a cluster copies half of the rows of A into both, so L2 delivers A once for two
// blocks. A band is 8 rows of tiles, column by column: blocks that run at the same time share rows
// of A and columns of B in L2.

constexpr int BM = 256;  // rows of C per block
constexpr int BN = 128;  // columns of C per block, 64 for each warp group that multiplies
constexpr int BK = 32;   // width of a K tile: 128 bytes, the width of the swizzle
constexpr int STAGES = 4;    // K tiles in shared memory
constexpr int CLUSTER = 2;   // blocks that share A: each copies some of its rows to all
constexpr int BAND = 8;      // rows of tiles in a band
constexpr int GROUPS = BN / 64;              // warp groups that multiply
constexpr int THREADS = 128 * (1 + GROUPS);  // and one that copies

static_assert(BM == 256 && BK == 32, "The instructions are written for this tile.");
static_assert(BN == 64 || BN == 128, "Registers suffice for 2 warp groups that multiply.");
static_assert(CLUSTER == 1 || CLUSTER == 2, "A cluster has 1 or 2 blocks.");
static_assert(STAGES <= 4, "Shared memory has room for 4 stages.");

#include "device.cuh"

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned* workspace,
          const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB)
{
    extern __shared__ __align__(1024) float shared[];
    auto& As = *reinterpret_cast<float(*)[STAGES][BM][BK]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BN / 32][BK][32]>(&As[STAGES]);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

    if (K % 4 || N % 4 || size_t(A) % 16 || size_t(B) % 16) {  // TMA: rows of whole 16 bytes
        const int pitchA = (K + 3) / 4 * 4, pitchB = (N + 3) / 4 * 4;
        float* copyA = reinterpret_cast<float*>(workspace + 64);
        copyPadded(A, copyA, M, K, pitchA);
        copyPadded(B, copyA + size_t(M) * pitchA, K, N, pitchB);
        gridSync(workspace);
    }
    const int tid = threadIdx.x;
    if (tid < STAGES) {
        mbarrierInit(&filled[tid], 1);  // the thread that copies; TMA counts the bytes
        mbarrierInit(&emptied[tid], CLUSTER * GROUPS);  // a thread of each group of the cluster
    }
    clusterSync();

    const int group = tid / 128 - 1, warp = tid % 128 / 32, g = tid % 32 / 4, t = tid % 4;
    const int block = clusterCtaRank();
    const int tilesM = (M + BM - 1) / BM, tilesN = (N + CLUSTER * BN - 1) / (CLUSTER * BN);
    const int tiles = tilesM * tilesN, first = blockIdx.x / CLUSTER,
              clusters = gridDim.x / CLUSTER;
    int row, col;
    auto place = [&](int tile) {
        const int top = tile / (BAND * tilesN) * BAND, high = min(BAND, tilesM - top);
        const int inBand = tile - top * tilesN;
        row = (top + inBand % high) * BM;
        col = (inBand / high * CLUSTER + block) * BN;
    };
    int now = 0, phase = 0;  // my stage, and whether my round of the ring is even or odd
    auto next = [&] {
        now = now + 1 < STAGES ? now + 1 : 0;
        if (now == 0) phase = 1 - phase;
    };
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // copying needs few registers
        for (int tile = first; tid == 0 && tile < tiles; tile += clusters) {
            place(tile);
            for (int k = 0; k < K; k += BK) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                mbarrierArriveExpectTx(&filled[now], 4 * BK * (BM + BN));
                const int part = block * (BM / CLUSTER);
                tmaLoadMulticast(&As[now][part], mapA, k, row + part, &filled[now], CLUSTER);
                for (int i = 0; i < BN / 32; ++i) {
                    tmaLoad(&Bs[now][i], mapB, col + 32 * i, k, &filled[now]);
                }
                next();
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // multiplying takes them
        for (int tile = first; tile < tiles; tile += clusters) {
            place(tile);
            float acc[128];
            for (int k = 0; k < K; k += BK) {
                mbarrierWait(&filled[now], phase);
                unsigned fragB[BK / 8][4];  // B for 4 instructions of 8 k
                for (int s = 0; s < BK / 8; ++s) {
                    for (int i = 0; i < 4; ++i) {
                        const int kB = 8 * s + i / 2 * 4 + t, c = 16 * warp + i % 2 * 8 + g;
                        const int piece = c % 32 / 4 ^ kB % 8;  // where TMA's swizzle put it
                        fragB[s][i] = __float_as_uint(
                            Bs[now][2 * group + c / 32][kB][piece * 4 + c % 4]);
                    }
                }
                wgmmaFence();
                const unsigned long long a = matrixDescriptor(&As[now], 1024, 0, 1);
                for (int s = 0; s < BK / 8; ++s) {  // 8 k further are 32 bytes, 2 units of 16
                    wgmma64x256x8(acc, fragB[s], a + 2 * s, k + s > 0);
                }
                wgmmaCommit();
                wgmmaWait<0>();
                if (tid % 128 < CLUSTER) mbarrierArriveCluster(&emptied[now], tid % 128);
                next();
            }
            for (int i = 0; i < 128; ++i) {
                const int r = row + i / 4 * 8 + 2 * t + i % 2;
                const int c = col + 64 * group + 16 * warp + i / 2 % 2 * 8 + g;
                if (r < M && c < N) C[size_t(r) * N + c] = acc[i];
            }
        }
    }
    clusterSync();  // no block ends while another may write into its shared memory
}
