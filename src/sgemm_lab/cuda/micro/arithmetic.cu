// How many fused multiply-adds finish per second, when nothing has to come from memory?

constexpr int CHAINS = 16;  // independent sums per thread, so that one FMA hides another's latency

extern "C" __global__ void fma_rate(int rounds, float factor, float* sink)
{
    float sum[CHAINS];
    for (int i = 0; i < CHAINS; ++i) sum[i] = threadIdx.x + i;

    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int repeat = 0; repeat < 4; ++repeat) {
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) sum[i] = fmaf(sum[i], factor, factor);
        }
    }

    float total = 0;
    for (int i = 0; i < CHAINS; ++i) total += sum[i];
    if (total == 1234.5f) *sink = total;
}
