// title: wgmma, TF32
// parent: wgmma_minimal:BN=128
// change: Warps read B of the next K tile during the products; bands of tiles; clusters share A.
// chapter: 12
// grid: min(SMS, CLUSTER * ceil(M / BM) * ceil(N / (CLUSTER * BN))), 1
// block: THREADS, 1
// shared: 4 * STAGES * BK * (BM + BN)
// workspace: 256 + 16 * (M * ceil(K / 4) + K * ceil(N / 4))
// map: mapA = tf32 A or workspace + 256, M x K, pitch 16 * ceil(K / 4), box BM / CLUSTER x BK, swizzle 128
// map: mapB = tf32 B or workspace + 256 + 16 * M * ceil(K / 4), K x N, pitch 16 * ceil(N / 4), box BK x 32, swizzle 128
// needs: sm_90a
// arithmetic: tf32
// variants: CLUSTER=1 STAGES=2 CLUSTER=1,BAND=1
//
// Two blocks of a cluster, in one row of tiles, share A: each copies half of its rows to both. Tiles
// go in bands of 8 rows, for L2. While the tensor cores multiply a K tile, the warps read B of the
// next, two neighbouring columns at once.

constexpr int BM = 256;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 32;   // depth of a K tile: 128 bytes, the width of the swizzle
constexpr int STAGES = 4;    // K tiles in shared memory
constexpr int CLUSTER = 2;   // blocks that share A: each copies some of its rows to all
constexpr int BAND = 8;      // rows of tiles in a band
constexpr int THREADS = 384;  // a warp group that copies, and two that multiply
constexpr int STEPS = BK / 8;  // an instruction multiplies 8 k

static_assert(BM == 256 && BN == 128 && BK == 32,
              "The instructions are written for this tile.");
static_assert(CLUSTER == 1 || CLUSTER == 2, "A cluster has 1 or 2 blocks.");
static_assert(STAGES >= 2 && STAGES <= 4, "Shared memory has room for 4 stages.");

#include "device.cuh"

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned* workspace,
          const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB)
{
    // A ring of K tiles, as TMA stores them: of B four boxes of 32 columns.
    extern __shared__ __align__(1024) float shared[];
    auto& As = *reinterpret_cast<float(*)[STAGES][BM][BK]>(shared);
    auto& Bs = *reinterpret_cast<float(*)[STAGES][BN / 32][BK][32]>(&As[STAGES]);
    __shared__ Barrier filled[STAGES], emptied[STAGES];  // a K tile is there; all have read it

    const int tid = threadIdx.x;
    const int block = clusterCtaRank();
    if (K % 4 || N % 4 || size_t(A) % 16 || size_t(B) % 16) {
        const int pitchA = (K + 3) / 4 * 4, pitchB = (N + 3) / 4 * 4;
        float* copyA = reinterpret_cast<float*>(workspace + 64);
        copyPadded(A, copyA, M, K, pitchA);
        copyPadded(B, copyA + size_t(M) * pitchA, K, N, pitchB);
        gridSync(workspace);
    }
    if (tid < STAGES) {
        mbarrierInit(&filled[tid], 1);             // the thread that copies, and the bytes
        mbarrierInit(&emptied[tid], 2 * CLUSTER);  // two warp groups of each block
    }
    clusterSync();

    // Tiles go down the columns of a band: so blocks that run at the same time share rows and
    // columns in L2. A cluster has neighbours of one row of tiles.
    const int tilesM = (M + BM - 1) / BM, tilesN = (N + CLUSTER * BN - 1) / (CLUSTER * BN);
    const int tiles = tilesM * tilesN, kTiles = (K + BK - 1) / BK;
    auto place = [&](int tile, int& row, int& col) {
        const int top = tile / (BAND * tilesN) * BAND, high = min(BAND, tilesM - top);
        const int inBand = tile - top * tilesN;
        row = (top + inBand % high) * BM;
        col = (inBand / high * CLUSTER + block) * BN;
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
                const int part = block * (BM / CLUSTER);
                tmaLoadMulticast(&As[now][part], mapA, k0, row + part, &filled[now], CLUSTER);
                for (int i = 0; i < BN / 32; ++i) {
                    tmaLoad(&Bs[now][i], mapB, col + 32 * i, k0, &filled[now]);
                }
                next();
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // multiplying takes them
        const int group = tid / 128 - 1, id = tid % 128;
        const int warp = id / 32, g = id % 32 / 4, t = id % 4;
        // My two columns of B: box, 16-byte piece and half of it. Row k has its pieces at
        // piece ^ k % 8: with this choice, lanes that read at once have different banks.
        const int box = 2 * group + warp / 2;
        const int piece = g / 2 % 2 * 4 + g / 4 + warp % 2 * 2, half = g % 2 * 2;
        const bool alignedC = N % 2 == 0 && size_t(C) % 8 == 0;

        float acc[128];
        unsigned even[STEPS][4], odd[STEPS][4];  // B of this K tile and of the next, in turns
        auto readB = [&](unsigned (&fragB)[STEPS][4]) {
            for (int s = 0; s < STEPS; ++s) {
                for (int h = 0; h < 2; ++h) {
                    const float* pieces = Bs[now][box][8 * s + 4 * h + t];
                    const float2 v = *reinterpret_cast<const float2*>(
                        &pieces[(piece ^ (4 * h + t)) * 4 + half]);
                    fragB[s][2 * h] = __float_as_uint(v.x);
                    fragB[s][2 * h + 1] = __float_as_uint(v.y);
                }
            }
        };
        auto multiply = [&](int kTile, unsigned (&fragB)[STEPS][4],
                            unsigned (&fragNext)[STEPS][4]) {
            wgmmaFence();
            const unsigned long long a = matrixDescriptor(&As[now], 1024, 0, 1);
            for (int s = 0; s < STEPS; ++s) {  // 8 k further are 32 bytes, 2 units of 16
                wgmma64x256x8(acc, fragB[s], a + 2 * s, kTile + s > 0);
            }
            wgmmaCommit();
            const int read = now;
            next();
            if (kTile + 1 < kTiles) {  // meanwhile
                mbarrierWait(&filled[now], phase);
                readB(fragNext);
            }
            wgmmaWait<0>();
            if (id < CLUSTER) mbarrierArriveCluster(&emptied[read], id);  // we have read it
        };

        for (int tile = first; tile < tiles; tile += clusters) {
            place(tile, row, col);
            mbarrierWait(&filled[now], phase);
            readB(even);
            for (int kTile = 0; kTile < kTiles; kTile += 2) {
                multiply(kTile, even, odd);
                if (kTile + 1 < kTiles) multiply(kTile + 1, odd, even);
            }
            // acc[4 * j + i] and [4 * j + i + 2] are neighbours in row 8 * j + 2 * t + i of C.
            const int c = col + 32 * box + 4 * piece + half;
            for (int j = 0; j < BM / 8; ++j) {
                for (int i = 0; i < 2; ++i) {
                    const int r = row + 8 * j + 2 * t + i;
                    const float2 v = {acc[4 * j + i], acc[4 * j + i + 2]};
                    store2(&C[size_t(r) * N + c], v, r < M ? N - c : 0, alignedC);
                }
            }
        }
    }
    clusterSync();  // no block ends while another may write into its shared memory
}
