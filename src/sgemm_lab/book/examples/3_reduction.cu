// example: Reduction
#include <cstdio>
#include <vector>
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
    const int n = 10000, threads = 256, blocks = (n + threads - 1) / threads;
    std::vector<float> numbers(n), sums(blocks);
    double expected = 0.0, found = 0.0;
    for (int i = 0; i < n; ++i) {
        numbers[i] = i % 10;
        expected += numbers[i];
    }

    float *x, *partial;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMemcpy(x, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    sum<<<blocks, threads, threads * sizeof(float)>>>(x, partial, n);
    cudaMemcpy(sums.data(), partial, blocks * sizeof(float), cudaMemcpyDeviceToHost);

    for (float one : sums) found += one;
    printf("the sum is %.0f, expected %.0f\n", found, expected);
    return found != expected;
}
// fault replaces:         if (t < half) s[t] += s[t + half];
// by:         if (t < half) { s[t] += s[t + half]; __syncthreads(); }
