#include <cstdio>
__device__ unsigned ticket;
__global__ void total(const int *x, int *part, int *y, int n) {
    __shared__ int s[192];
    __shared__ bool isLast;
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * 192 + t; i < n; i += gridDim.x * 192) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (t < k && t + k < 192) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        isLast = atomicAdd(&ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (isLast && t == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; b++) all += ((volatile int *)part)[b];
        *y = all;
        ticket = 0;
    }
}
__global__ void count(const int *x, int *y, int n) {
    __shared__ unsigned char seen[32 * 8];
    for (int k = 0; k < 8; k++) seen[k * 32 + threadIdx.x] = 0;
    for (int i = threadIdx.x; i < n; i += 32) seen[(x[i] & 7) * 32 + threadIdx.x]++;
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += k * seen[k * 32 + threadIdx.x];
    y[threadIdx.x] = sum;
}
int main() {
    static int h[9000];
    for (int i = 0; i < 9000; i++) h[i] = 1;
    int *x, *part, *y;
    cudaMalloc(&x, sizeof h), cudaMalloc(&part, 16), cudaMalloc(&y, 128);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    for (int i = 0; i < 2; i++) {
        total<<<4, 192>>>(x, part, y, 9000);
        cudaMemcpy(h, y, 4, cudaMemcpyDeviceToHost);
    }
    count<<<1, 32>>>(x, y, 8000);
    cudaMemcpy(h, y, 128, cudaMemcpyDeviceToHost);
    printf("%d\n", h[0]);
}
