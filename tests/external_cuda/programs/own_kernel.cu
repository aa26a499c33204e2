#include <cstdio>
#include <cmath>
#include <cublas_v2.h>
#define TRY(call) if ((call) != CUBLAS_STATUS_SUCCESS) { printf("cuBLAS failed\n"); return 2; }
const int M = 20, N = 12, K = 9;
__global__ void sgemm(int m, int n, int k, float alpha, const float *A, const float *B, float beta,
                      float *C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float acc = 0;
    for (int i = 0; i < k; i++) acc += A[row * k + i] * B[i * n + col];
    C[row * n + col] = alpha * acc + beta * C[row * n + col];
}
int main() {
    float A[M * K], B[K * N], C[M * N], R[M * N], alpha = 1.5f, beta = 0.5f;
    for (int i = 0; i < M * K; i++) A[i] = i % 7 - 3;
    for (int i = 0; i < K * N; i++) B[i] = i % 5 - 2;
    for (int i = 0; i < M * N; i++) C[i] = i;
    float *a, *b, *c, *r;
    cudaMalloc(&a, sizeof(A)); cudaMalloc(&b, sizeof(B));
    cudaMalloc(&c, sizeof(C)); cudaMalloc(&r, sizeof(C));
    cudaMemcpy(a, A, sizeof(A), cudaMemcpyHostToDevice);
    cudaMemcpy(b, B, sizeof(B), cudaMemcpyHostToDevice);
    cudaMemcpy(c, C, sizeof(C), cudaMemcpyHostToDevice);
    cudaMemcpy(r, C, sizeof(C), cudaMemcpyHostToDevice);
    sgemm<<<dim3(1, 2), dim3(16, 16)>>>(M, N, K, alpha, a, b, beta, c);
    cublasHandle_t handle;
    TRY(cublasCreate(&handle));
    TRY(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, b, N, a, K, &beta, r, N));
    cudaMemcpy(C, c, sizeof(C), cudaMemcpyDeviceToHost);
    cudaMemcpy(R, r, sizeof(C), cudaMemcpyDeviceToHost);
    cublasDestroy(handle);
    int bad = 0;
    for (int i = 0; i < M * N; i++) bad += fabsf(C[i] - R[i]) > 1e-3f;
    printf("%d bad\n", bad);
    return bad != 0;
}
