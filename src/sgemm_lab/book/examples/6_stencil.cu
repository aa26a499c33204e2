// example: Stencil
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
    int n = 1000;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    blur<<<(n + THREADS - 1) / THREADS, THREADS>>>(in, out, n);
}
// fault replaces:     if (threadIdx.x < RADIUS) {
// by:     if (threadIdx.x <= RADIUS) {
