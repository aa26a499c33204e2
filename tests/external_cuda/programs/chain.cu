__global__ void chain(volatile int *flag, int *x) {
    if (threadIdx.x == 0 && blockIdx.x > 0) while (flag[blockIdx.x - 1] == 0) {}
    __syncthreads();
    x[blockIdx.x * 32 + threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flag[blockIdx.x] = 1;
}
int main() {
    int *flag, *x;
    cudaMalloc((void **)&flag, 16);
    cudaMalloc((void **)&x, 512);
    cudaMemset(flag, 0, 16);
    chain<<<4, 32>>>(flag, x);
    return cudaDeviceSynchronize();
}
