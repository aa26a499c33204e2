#include <cstdio>
__global__ void fill(int *x) { x[threadIdx.x] = threadIdx.x; }
__global__ void twice(const int *x, int *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
int main() {
    int *x, *y, *h, bad = 0;
    cudaStream_t one, other;
    cudaEvent_t filled;
    cudaStreamCreate(&one);
    cudaStreamCreate(&other);
    cudaEventCreate(&filled);
    cudaMalloc(&x, 256);
    cudaMalloc(&y, 256);
    cudaMallocHost(&h, 256);
    fill<<<1, 64, 0, one>>>(x);
    cudaEventRecord(filled, one);
    cudaStreamWaitEvent(other, filled, 0);
    twice<<<1, 64, 0, other>>>(x, y);
    cudaMemcpyAsync(h, y, 256, cudaMemcpyDeviceToHost, other);
    cudaStreamSynchronize(other);
    for (int i = 0; i < 64; i++) bad += h[i] != 2 * i;
    printf("%d bad\n", bad);
    return bad != 0;
}
