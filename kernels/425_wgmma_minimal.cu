// title: wgmma, minimal
// parent: mma_tf32
// change: One thread copies by TMA, and a warp group multiplies by wgmma, from shared memory.
// chapter: 12
// grid: min(SMS, ceil(M / BM) * ceil(N / BN)), 1
// block: 2 * BN + 128, 1
// shared: 4 * STAGES * BK * (BM + BN)
// workspace: 256 + 16 * (M * ceil(K / 4) + K * ceil(N / 4))
// map: mapA = tf32 A or workspace + 256, M x K, pitch 16 * ceil(K / 4), box BM x BK, swizzle 128
// map: mapB = tf32 B or workspace + 256 + 16 * M * ceil(K / 4), K x N, pitch 16 * ceil(N / 4), box BK x 32, swizzle 128
// needs: sm_90a
// arithmetic: tf32
// variants: STAGES=1 STAGES=2 BN=128
//
// The pipeline of the kernels after it, without what makes them fast: no cluster, no order of
// tiles, no reading ahead. A warp group computes 64 columns × 256 rows of C: its registers hold B,
// transposed, and the instruction reads A from shared memory.

constexpr int BM = 256;    // rows of C per block
constexpr int BN = 64;     // columns of C per block, 64 for each warp group that multiplies
constexpr int BK = 32;     // width of a K tile: 128 bytes, the width of the swizzle
constexpr int STAGES = 4;  // K tiles in shared memory
constexpr int GROUPS = BN / 64;              // warp groups that multiply
constexpr int THREADS = 128 * (1 + GROUPS);  // and one that copies

static_assert(BM == 256 && BK == 32, "The instructions are written for this tile.");
static_assert(BN == 64 || BN == 128, "Registers suffice for 2 warp groups that multiply.");
static_assert(STAGES <= 4, "Shared memory has room for 4 stages.");

#include "device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1)
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
        mbarrierInit(&filled[tid], 1);        // the thread that copies; TMA counts the bytes
        mbarrierInit(&emptied[tid], GROUPS);  // one thread of each warp group
    }
    fenceProxyAsync();  // TMA sees the barriers
    __syncthreads();

    const int group = tid / 128 - 1, warp = tid % 128 / 32, g = tid % 32 / 4, t = tid % 4;
    const int tilesN = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * tilesN;
    int now = 0, phase = 0;  // my stage, and whether my round of the ring is even or odd
    auto next = [&] {
        now = now + 1 < STAGES ? now + 1 : 0;
        if (now == 0) phase = 1 - phase;
    };
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // copying needs few registers
        for (int tile = blockIdx.x; tid == 0 && tile < tiles; tile += gridDim.x) {
            const int row = tile / tilesN * BM, col = tile % tilesN * BN;
            for (int k = 0; k < K; k += BK) {
                mbarrierWait(&emptied[now], 1 - phase);  // at once on the first round
                mbarrierArriveExpectTx(&filled[now], 4 * BK * (BM + BN));
                tmaLoad(&As[now], mapA, k, row, &filled[now]);
                for (int i = 0; i < BN / 32; ++i) {
                    tmaLoad(&Bs[now][i], mapB, col + 32 * i, k, &filled[now]);
                }
                next();
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // multiplying takes them
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int row = tile / tilesN * BM, col = tile % tilesN * BN + 64 * group;
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
                if (tid % 128 == 0) mbarrierArrive(&emptied[now]);  // my group has read it
                next();
            }
            for (int i = 0; i < 128; ++i) {
                const int r = row + i / 4 * 8 + 2 * t + i % 2;
                const int c = col + 16 * warp + i / 2 % 2 * 8 + g;
                if (r < M && c < N) C[size_t(r) * N + c] = acc[i];
            }
        }
    }
}
