// example: Softmax
#include <cmath>
#include <cstdio>
#include <vector>
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
    const int rows = 8, columns = 300, n = rows * columns;
    std::vector<float> scores(n), shares(n);
    for (int i = 0; i < n; ++i) scores[i] = (i * 37 % 101) * 0.05f;

    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, scores.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    softmax<<<rows, THREADS>>>(in, out, columns);
    cudaMemcpy(shares.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int r = 0; r < rows; ++r) {
        float sum = 0.0f;
        for (int c = 0; c < columns; ++c) sum += shares[r * columns + c];
        if (fabsf(sum - 1.0f) > 1e-4f) ++wrong;
    }
    printf("%d of %d rows do not add up to 1\n", wrong, rows);
    return wrong != 0;
}
// fault replaces:     __syncthreads();  // all have read the largest before s holds sums
// by: 
