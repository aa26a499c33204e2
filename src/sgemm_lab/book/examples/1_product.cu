// example: Matrix product
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = kb < K && column < N ? B[kb * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();  // all have read the tiles before they are filled again
    }
    if (row < M && column < N) C[row * N + column] = acc;
}

int main() {
    const int M = 100, N = 72, K = 50;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (int i = 0; i < M * K; ++i) A[i] = i % 7 - 3;
    for (int i = 0; i < K * N; ++i) B[i] = i % 5 - 2;

    float *a, *b, *c;
    cudaMalloc(&a, M * K * sizeof(float));
    cudaMalloc(&b, K * N * sizeof(float));
    cudaMalloc(&c, M * N * sizeof(float));
    cudaMemcpy(a, A.data(), M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, B.data(), K * N * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    multiply<<<grid, block>>>(a, b, c, M, N, K);
    cudaMemcpy(C.data(), c, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
            if (C[i * N + j] != sum) ++wrong;
        }
    }
    printf("%d of %d elements are wrong\n", wrong, M * N);
    return wrong != 0;
}
// fault replaces:         __syncthreads();  // all have read the tiles before they are filled again
// by: 
