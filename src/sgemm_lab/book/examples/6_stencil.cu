// example: Stencil
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define RADIUS 3
#define THREADS 128

__global__ void blur(const float* in, float* out, int n) {
    __shared__ float s[THREADS + 2 * RADIUS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    int place = threadIdx.x + RADIUS;
    s[place] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        s[place - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        s[place + THREADS] = i + THREADS < n ? in[i + THREADS] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += s[place + offset];
    if (i < n) out[i] = sum / (2 * RADIUS + 1);
}

int main() {
    const int n = 1000;
    std::vector<float> before(n), after(n);
    for (int i = 0; i < n; ++i) before[i] = i % 13;

    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, before.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    blur<<<(n + THREADS - 1) / THREADS, THREADS>>>(in, out, n);
    cudaMemcpy(after.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        float sum = 0.0f;
        for (int k = i - RADIUS; k <= i + RADIUS; ++k) sum += k >= 0 && k < n ? before[k] : 0.0f;
        if (fabsf(after[i] - sum / (2 * RADIUS + 1)) > 1e-4f) ++wrong;
    }
    printf("%d of %d elements are wrong\n", wrong, n);
    return wrong != 0;
}
// fault replaces:     if (threadIdx.x < RADIUS) {
// by:     if (threadIdx.x <= RADIUS) {
