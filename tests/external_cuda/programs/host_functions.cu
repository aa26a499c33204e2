// == window: columns of the tile that only a wide image needs
__global__ void smooth(const float* in, float* out, int cols, int rows, int inPitch, int outPitch) {
    __shared__ float line[2][50]; int y = blockIdx.y * 2 + threadIdx.y, x = blockIdx.x * 48 + threadIdx.x;
    for (int t = threadIdx.x; t < 50; t += 48)
        line[threadIdx.y][t] = in[min(y, rows - 1) * inPitch + min(max(blockIdx.x * 48 + t - 1, 0u), cols - 1u)];
    __syncthreads(); const float* near = &line[threadIdx.y][threadIdx.x];
    if (x < cols && y < rows) out[y * outPitch + x] = near[0] + near[1] + near[2];
}
void blur(const float* in, float* out, int cols, int rows, int inPitch, int outPitch) {
    smooth<<<dim3((cols + 47) / 48, (rows + 1) / 2), dim3(48, 2)>>>(in, out, cols, rows, inPitch, outPitch);
}
// == warps: more of them for long rows
__global__ void largest(const float* x, float* y, int rows, int cols) {
    __shared__ float of[8]; float most = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) most = fmaxf(most, x[blockIdx.x * cols + i]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) of[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; w++) most = fmaxf(most, of[w]);
    if (threadIdx.x == 0) y[blockIdx.x] = most;
}
void maxima(const float* x, float* y, int rows, int cols) { largest<<<rows, cols > 200 ? 256 : 64>>>(x, y, rows, cols); }
// == tail: fewer elements than threads
__global__ void turn(const float* x, float* y, int n) {
    __shared__ float s[64]; int i = blockIdx.x * 64 + threadIdx.x; s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads(); if (i < n) y[i] = s[63 - threadIdx.x];
}
void turned(const float* x, float* y, int n) { turn<<<(n + 63) / 64, 64>>>(x, y, n); }
// == spin
__global__ void wait(int* flag, float* y, int n) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) atomicExch(flag, 1); else while (atomicAdd(&flag[0], 0) == 0) { }
    }
    __syncthreads(); if (threadIdx.x < n) y[blockIdx.x * n + threadIdx.x] = 1;
}
// == pairs
// Any number of rows; n % 8 == 0.
__global__ void twice(float2* x, const float* y, int n) {
    for (int i = threadIdx.x; i < n / 2; i += 64)
        x[blockIdx.x * (n / 2) + i] = *(const float2*)(y + blockIdx.x * n + 2 * i);
}
// == batch
__global__ void gemms(int m, int n, int k, const float* A, const float* B, float* C, int ld, long long stride) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y, b = blockIdx.z;
    float sum = 0;
    if (i >= m || j >= n) return;
    for (int p = 0; p < k; p++) sum += A[b * stride + p * ld + i] * B[b * stride + j * ld + p];
    C[b * stride + j * ld + i] = sum;
}
void multiply(int m, int n, int k, const float* A, const float* B, float* C, int ld, long long stride, int batch) {
    gemms<<<dim3((m + 15) / 16, (n + 15) / 16, batch), dim3(16, 16)>>>(m, n, k, A, B, C, ld, stride);
}
// == cases
template <int N> __global__ void reversed(float* x) { x[blockIdx.x * N + threadIdx.x] *= N; }
void reverse(float* x, int parts, int width) {
    switch (width) { case 96: reversed<96><<<parts, 96>>>(x); }
}
// == enumeration
enum Part { LOWER, UPPER };
template <Part part, int N> __global__ void halves(float* x) {
    if (threadIdx.x < N / 2) x[blockIdx.x * N + part * N / 2 + threadIdx.x] = 0;
}
template <Part part> void clear(float* x, int n) { halves<part, 64><<<n / 64, 64>>>(x); }
void lower(float* x, int n) { clear<LOWER>(x, n); }
// == macro
template <int N> __global__ void negated(float* x) { x[blockIdx.x * N + threadIdx.x] *= -1; }
void negate(float* x, int n) {
#define ONE(N) negated<N><<<n / N, N>>>(x);
    ONE(32)
}
// == tiles
__global__ void tiles(float* x, int n, int m) { x[blockIdx.x * 256 + threadIdx.x] += n + m; }
void whole(float* x, int n, int m) { tiles<<<n / 256, 256>>>(x, n, m); }
// == instance
template <typename Index> __global__ void chosen(const Index* at, const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 64) y[i] = x[at[i]];
}
template <typename Index> void choose(const Index* at, const float* x, float* y, int n) { chosen<Index><<<1, 64>>>(at, x, y, n); }
template void choose<unsigned>(const unsigned*, const float*, float*, int);
