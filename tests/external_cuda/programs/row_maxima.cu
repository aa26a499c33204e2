#include <cfloat>
#include <cstdio>
__global__ void maxima(const float *x, float *y, int n) {
    __shared__ float s[64];
    float most = START;
    for (int i = threadIdx.x; i < n; i += 64) most = fmaxf(most, x[blockIdx.x * n + i]);
    s[threadIdx.x] = most;
    for (int k = 32; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
    }
    if (threadIdx.x == 0) y[blockIdx.x] = END;
}
int main() {
    float h[600], *x, *y;
    for (int i = 0; i < 600; i++) h[i] = -1.f - i * 37 % 101;
    cudaMalloc(&x, sizeof h), cudaMalloc(&y, 12);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    maxima<<<3, 64>>>(x, y, 200);
    cudaMemcpy(h, y, 12, cudaMemcpyDeviceToHost);
    printf("%g\n", h[0]);
}
