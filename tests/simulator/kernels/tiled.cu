// Tiles of A and B in shared memory; each barrier can be left out.
#ifndef FIRST_BARRIER
#define FIRST_BARRIER __syncthreads();
#endif
#ifndef SECOND_BARRIER
#define SECOND_BARRIER __syncthreads();
#endif
constexpr int T = 8;
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T];
    __shared__ float Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = col < N && k0 + ty < K ? B[(k0 + ty) * N + col] : 0.0f;
        FIRST_BARRIER
        for (int k = 0; k < T; ++k) acc += As[ty][k] * Bs[k][tx];
        SECOND_BARRIER
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
