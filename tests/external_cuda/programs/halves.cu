#include <cuda_fp16.h>
#include <cstdio>
#include <vector>
__global__ void twice(__half *x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);
}
int main() {
    std::vector<__half> h(64);
    for (int i = 0; i < 64; i++) h[i] = (float)i;
    __half *x;
    cudaMalloc(&x, 128);
    cudaMemcpy(x, h.data(), 128, cudaMemcpyHostToDevice);
    twice << <1, 64 >> > (x, 64);
    cudaMemcpy(h.data(), x, 128, cudaMemcpyDeviceToHost);
    printf("%f\n", (float)h[5]);
}
