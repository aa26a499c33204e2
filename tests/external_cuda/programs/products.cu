#include <cstdio>
#include <cstdlib>
__global__ void naive(int n, const float *A, const float *B, float *C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float acc = 0;
    for (int k = 0; k < n; k++) acc += A[row * n + k] * B[k * n + col];
    C[row * n + col] = acc;
}
__global__ void busy(float *C) {
    float acc = C[0];
    for (int i = 0; i < 1 << 30; i++) acc = acc * acc + 1;
    C[0] = acc;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2048;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4); cudaMalloc(&b, n * n * 4); cudaMalloc(&c, n * n * 4);
    cudaMemset(a, 0, n * n * 4); cudaMemset(b, 0, n * n * 4);
    for (int i = 0; i < 1000; i++) {
        naive<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(n, a, b, c);
    }
    cudaDeviceSynchronize();
    printf("done\n");
}
