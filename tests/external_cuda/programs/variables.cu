#include <cstdio>
struct Window { int first, last; };
__constant__ Window window;
static __constant__ float gain;
__constant__ float bias[4] = {};
__device__ float scale[2], off = 0;
__device__ unsigned total, most;
__global__ void moved(const float *x, float *y) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    y[t] = tile[t % window.last] * gain + bias[t % 4] + tile[window.first - 1] * scale[t % 2] + off;
    atomicAdd(x[t] > 90 ? &most : &total, 1 + most);
}
int main() {
    Window w = {1, 64};
    float h[64], *x, *y, *at;
    for (int i = 0; i < 64; i++) h[i] = i;
    cudaMalloc(&x, sizeof(h));
    cudaMalloc(&y, sizeof(h));
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(window, &w, sizeof(w));
    cudaMemcpyToSymbol(gain, h + 2, sizeof(float));
    cudaGetSymbolAddress((void**)&at, scale);
    cudaMemset(at, 0, 2 * sizeof(float));
    moved<<<1, 64>>>(x, y);
    cudaMemcpy(h, y, sizeof(h), cudaMemcpyDeviceToHost);
    printf("%f\n", h[5]);
}
