// Softmax, layer norm and what else works row by row.
#include <math.h>
#include <cfloat>
#include <cuda_runtime.h>

__global__ void softmax_naive(const float *x, float *y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = -INFINITY;
    for (int c = 0; c < cols; c++) m = fmaxf(m, x[r * cols + c]);
    float sum = 0.f;
    for (int c = 0; c < cols; c++) sum += expf(x[r * cols + c] - m);
    for (int c = 0; c < cols; c++) y[r * cols + c] = expf(x[r * cols + c] - m) / sum;
}

template <int THREADS>
__global__ void softmax_block(const float *input, float *output, int N) {
    __shared__ float red[THREADS];
    const float *x = input + blockIdx.x * N;
    float *y = output + blockIdx.x * N;
    float m = -FLT_MAX;
    for (int i = threadIdx.x; i < N; i += THREADS) m = fmaxf(m, x[i]);
    red[threadIdx.x] = m;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += THREADS) {
        float e = __expf(x[i] - m);
        y[i] = e;
        sum += e;
    }
    red[threadIdx.x] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
        __syncthreads();
    }
    float inv = 1.0f / red[0];
    for (int i = threadIdx.x; i < N; i += THREADS) y[i] *= inv;
}

__global__ void softmax_online(const float *__restrict__ in, float *__restrict__ out, int cols) {
    int lane = threadIdx.x;
    const float *row = in + (size_t)blockIdx.x * cols;
    float m = -INFINITY, d = 0.f;
    for (int i = lane; i < cols; i += 32) {
        float v = row[i], n = fmaxf(m, v);
        d = d * expf(m - n) + expf(v - n);
        m = n;
    }
    for (int o = 16; o > 0; o >>= 1) {
        float m2 = __shfl_xor_sync(0xffffffffu, m, o), d2 = __shfl_xor_sync(0xffffffffu, d, o);
        float n = fmaxf(m, m2);
        d = d * expf(m - n) + d2 * expf(m2 - n);
        m = n;
    }
    for (int i = lane; i < cols; i += 32) out[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) / d;
}

__global__ void layernorm_forward(float *out, const float *inp, const float *weight,
                                  const float *bias, int N, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float eps = 1e-5f;
    if (idx < N) {
        const float *x = inp + idx * C;
        float m = 0.0f;
        for (int i = 0; i < C; i++) m += x[i];
        m = m / C;
        float v = 0.0f;
        for (int i = 0; i < C; i++) {
            float xshift = x[i] - m;
            v += xshift * xshift;
        }
        v = v / C;
        float s = 1.0f / sqrtf(v + eps);
        for (int i = 0; i < C; i++) out[idx * C + i] = (s * (x[i] - m)) * weight[i] + bias[i];
    }
}

__global__ void layernorm_warp(const float *x, float *y, float gamma, float beta, int K) {
    const float *row = x + blockIdx.x * K;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < K; i += 32) { s += row[i]; q += row[i] * row[i]; }
#pragma unroll
    for (int o = 16; o; o >>= 1) {
        s += __shfl_down_sync(0xffffffff, s, o);
        q += __shfl_down_sync(0xffffffff, q, o);
    }
    s = __shfl_sync(0xffffffff, s, 0);
    q = __shfl_sync(0xffffffff, q, 0);
    float mean = s / K, inv = rsqrtf(q / K - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < K; i += 32)
        y[blockIdx.x * K + i] = (row[i] - mean) * inv * gamma + beta;
}

__global__ void rmsnorm(const float *x, const float *w, float *y, int K) {
    __shared__ float partial[8];
    const float *row = x + blockIdx.x * K;
    float q = 0.f;
    for (int i = threadIdx.x; i < K; i += blockDim.x) q += row[i] * row[i];
    for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(0xffffffff, q, o);
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = q;
    __syncthreads();
    q = 0.f;
    for (int i = 0; i < blockDim.x / 32; ++i) q += partial[i];
    float scale = rsqrtf(q / K + 1e-6f);
    for (int i = threadIdx.x; i < K; i += blockDim.x) y[blockIdx.x * K + i] = row[i] * scale * w[i];
}

__global__ void matvec(const float *A, const float *x, float *y, int rows, int cols) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= rows) return;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += A[warp * cols + c] * x[c];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (lane == 0) y[warp] = sum;
}

__global__ void spmv_csr(int rows, const int *ptr, const int *cols, const float *vals,
                         const float *x, float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float dot = 0;
        for (int j = ptr[row]; j < ptr[row + 1]; ++j) dot += vals[j] * x[cols[j]];
        y[row] = dot;
    }
}

__global__ void column_sums(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float s = 0;
    for (int r = 0; r < rows; ++r) s += in[r * cols + c];
    out[c] = s;
}

__global__ void embedding(const int *tokens, const float *table, float *out, int C) {
    int t = tokens[blockIdx.x];
    for (int c = threadIdx.x; c < C; c += blockDim.x) out[blockIdx.x * C + c] = table[t * C + c];
}

__global__ void rope(float *x, int heads, int head_dim) {
    int pair = threadIdx.x, pos = blockIdx.x, head = blockIdx.y;
    float *row = x + (pos * heads + head) * head_dim;
    float angle = pos * powf(10000.0f, -2.0f * pair / head_dim);
    float s, c;
    sincosf(angle, &s, &c);
    float a = row[2 * pair], b = row[2 * pair + 1];
    row[2 * pair] = a * c - b * s;
    row[2 * pair + 1] = a * s + b * c;
}
