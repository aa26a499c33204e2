// example: Histogram
#include <cuda_runtime.h>

#define BINS 256

__global__ void histogram(const unsigned char* data, int* bins, int n) {
    __shared__ int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&local[data[i]], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

int main() {
    int n = 10000;
    unsigned char* data;
    int* bins;
    cudaMalloc(&data, n);
    cudaMalloc(&bins, BINS * sizeof(int));
    cudaMemset(bins, 0, BINS * sizeof(int));
    histogram<<<4, 128>>>(data, bins, n);
}
// fault replaces:     for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
// by:     local[threadIdx.x] = 0;
