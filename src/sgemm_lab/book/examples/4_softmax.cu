// example: Softmax
#include <cuda_runtime.h>

constexpr int THREADS = 128;

// One block per row.
__global__ void softmax(const float* in, float* out, int columns) {
    __shared__ float s[THREADS];
    const float* row = in + blockIdx.x * columns;
    int t = threadIdx.x;

    float largest = -INFINITY;
    for (int c = t; c < columns; c += THREADS) largest = fmaxf(largest, row[c]);
    s[t] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) s[t] = fmaxf(s[t], s[t + half]);
        __syncthreads();
    }
    largest = s[0];
    __syncthreads();  // all have read the largest before s holds sums

    float sum = 0.0f;
    for (int c = t; c < columns; c += THREADS) sum += expf(row[c] - largest);
    s[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    for (int c = t; c < columns; c += THREADS) {
        out[blockIdx.x * columns + c] = expf(row[c] - largest) / s[0];
    }
}

int main() {
    int rows = 8, columns = 300;
    float *in, *out;
    cudaMalloc(&in, rows * columns * sizeof(float));
    cudaMalloc(&out, rows * columns * sizeof(float));
    softmax<<<rows, THREADS>>>(in, out, columns);
}
// fault replaces:     __syncthreads();  // all have read the largest before s holds sums
// by: 
