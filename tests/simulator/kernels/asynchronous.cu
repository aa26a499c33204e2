// Two buffers that cp.async fills; the wait can be left out.
#ifndef WAIT
#define WAIT asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
constexpr int T = 8;
__device__ void copy4(float* to, const float* from, bool inside) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    int bytes = inside ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(address), "l"(from), "r"(bytes) : "memory");
}
extern "C" __global__ void async(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[2][T][T];
    __shared__ float Bs[2][T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    int tiles = (K + T - 1) / T;
    auto fetch = [&](int tile) {
        int ka = tile * T + tx, kb = tile * T + ty;
        bool a = row < M && ka < K, b = col < N && kb < K;
        copy4(&As[tile & 1][ty][tx], a ? A + row * K + ka : A, a);
        copy4(&Bs[tile & 1][ty][tx], b ? B + kb * N + col : B, b);
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    float acc = 0.0f;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        WAIT
        __syncthreads();
        if (tile + 1 < tiles) fetch(tile + 1);
        for (int k = 0; k < T; ++k) acc += As[tile & 1][ty][k] * Bs[tile & 1][k][tx];
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
