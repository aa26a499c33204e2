#include <cstdio>
__global__ void churn(const int *x, int *y, int steps) {
    int v = x[threadIdx.x];
    for (int s = 0; s < steps; s++) v = v * 3 + 1;
    y[threadIdx.x] = v;
}
int main() {
    int *held, *x, *y;
    const int n = 64;
    cudaMallocHost(&held, n * sizeof(int));
    cudaMalloc(&x, n * sizeof(int)); cudaMalloc(&y, n * sizeof(int));
    cudaMemset(y, 0, n * sizeof(int));
    cudaStream_t s;
    cudaStreamCreate(&s);
    for (int b = 0; b < 3; b++) {
        cudaStreamSynchronize(s);
        for (int i = 0; i < n; i++) held[i] = i + b;
        cudaMemcpyAsync(x, held, n * sizeof(int), cudaMemcpyHostToDevice, s);
        churn<<<1, n, 0, s>>>(x, y, 900000000);
    }
    cudaMemcpyAsync(held, y, n * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    printf(held[1] == 4 ? "FAIL\n" : "PASS\n");
    return 0;
}
