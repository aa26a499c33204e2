#define NUM_BINS 64
#include <stdint.h>

__global__ void histogram_global(const unsigned int *data, unsigned int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i] % NUM_BINS], 1);
}

__global__ void histogram_shared(const unsigned int *data, unsigned int *bins, int n) {
    __shared__ unsigned int local[NUM_BINS];
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i] % NUM_BINS], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

__global__ void histogram_bytes(const uint8_t *text, unsigned int *bins, int length) {
    __shared__ unsigned int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < length) {
        atomicAdd(&s[text[i]], 1);
        i += stride;
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

__global__ void histogram_aggregated(const int *data, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = data[i] & 15;
    unsigned same = __match_any_sync(__activemask(), bin);
    int leader = __ffs(same) - 1;
    if ((threadIdx.x & 31) == leader) atomicAdd(&bins[bin], __popc(same));
}

__global__ void minmax(const int *x, int *lo, int *hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMin(lo, x[i]);
        atomicMax(hi, x[i]);
    }
}
