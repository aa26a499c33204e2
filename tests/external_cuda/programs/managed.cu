#include <cstdio>
__managed__ int total;
__global__ void add(int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, 1);
}
int main() {
    total = 5;
    add<<<2, 64>>>(100);
    cudaDeviceSynchronize();
    printf("%d\n", total);
}
