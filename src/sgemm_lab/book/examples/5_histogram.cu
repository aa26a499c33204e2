// example: Histogram
#include <cstdio>
#include <vector>
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
    const int n = 10000;
    std::vector<unsigned char> bytes(n);
    std::vector<int> expected(BINS), found(BINS);
    for (int i = 0; i < n; ++i) {
        bytes[i] = i * i % BINS;
        ++expected[bytes[i]];
    }

    unsigned char* data;
    int* bins;
    cudaMalloc(&data, n);
    cudaMalloc(&bins, BINS * sizeof(int));
    cudaMemcpy(data, bytes.data(), n, cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, BINS * sizeof(int));
    histogram<<<4, 128>>>(data, bins, n);
    cudaMemcpy(found.data(), bins, BINS * sizeof(int), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int b = 0; b < BINS; ++b) wrong += found[b] != expected[b];
    printf("%d of %d bins are wrong\n", wrong, BINS);
    return wrong != 0;
}
// fault replaces:     for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
// by:     local[threadIdx.x] = 0;
