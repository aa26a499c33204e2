// example: Reduction
#include <cuda_runtime.h>

__global__ void sum(const float* x, float* partial, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = s[0];
}

int main() {
    const int n = 1 << 20, threads = 256;
    int blocks = (n + threads - 1) / threads;
    float *x, *partial;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    sum<<<blocks, threads, threads * sizeof(float)>>>(x, partial, n);
}
// fault replaces:         if (t < half) s[t] += s[t + half];
// by:         if (t < half) { s[t] += s[t + half]; __syncthreads(); }
