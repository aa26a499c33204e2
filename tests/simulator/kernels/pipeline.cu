// A producer warp copies stages of 64 floats; a consumer warp adds them up and gives them back.
#ifndef FULL_WAIT
#define FULL_WAIT wait(full + 8 * stage, round & 1);
#endif
#ifndef EMPTY_WAIT
#define EMPTY_WAIT wait(empty + 8 * stage, (round & 1) ^ 1);
#endif
#ifndef BYTES
#define BYTES 256
#endif
constexpr int STAGES = 2;
__device__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p;\n"
                 "LAB_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra DONE;\n bra LAB_WAIT;\n DONE:\n }" :: "r"(bar), "r"(parity) : "memory");
}
extern "C" __global__ void k(const float* A, float* C, int turns) {
    __shared__ __align__(128) float tile[STAGES][64];
    __shared__ unsigned long long bars[2 * STAGES];
    unsigned full = __cvta_generic_to_shared(bars), empty = full + 8 * STAGES;
    unsigned start = __cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full + 8 * s));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(empty + 8 * s));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x / 32 == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int turn = 0; turn < turns; ++turn) {
                int stage = turn % STAGES, round = turn / STAGES;
                EMPTY_WAIT
                asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                             :: "r"(full + 8 * stage), "r"(BYTES) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0], [%1], %2, [%3];"
                             :: "r"(start + 256 * stage), "l"(A + 64 * turn), "r"(256),
                                "r"(full + 8 * stage) : "memory");
            }
        }
    } else {
        float sum = 0.0f;
        for (int turn = 0; turn < turns; ++turn) {
            int stage = turn % STAGES, round = turn / STAGES, lane = threadIdx.x % 32;
            FULL_WAIT
            sum += tile[stage][lane] * (turn + 1) - tile[stage][lane + 32];
            asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }"
                         :: "r"(empty + 8 * stage) : "memory");
        }
        C[blockIdx.x * 32 + threadIdx.x % 32] = sum;
    }
}
