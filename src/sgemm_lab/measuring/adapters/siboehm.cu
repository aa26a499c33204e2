// github.com/siboehm/SGEMM_CUDA: its warp-tiling kernel, with the constants of its own runner.
#include "kernels/10_kernel_warptiling.cuh"

extern "C" int product(float* A, float* B, float* C, int M, int N, int K, cudaStream_t stream)
{
    constexpr int TILE = 128, DEPTH = 16;
    if (M % TILE || N % TILE || K % DEPTH) return -1;
    sgemmWarptiling<TILE, TILE, DEPTH, 64, 64, 4, 8, 4, 128>
        <<<dim3(N / TILE, M / TILE), 128, 0, stream>>>(M, N, K, 1.0f, A, B, 0.0f, C);
    return cudaGetLastError();
}
