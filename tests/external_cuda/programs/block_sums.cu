#include <cstdio>
#include <cub/cub.cuh>
#include <cub/block/block_reduce.cuh>
__global__ void sums(const int *x, int *out) {
    typedef cub::BlockReduce<int, 64> Reduce;
    __shared__ typename Reduce::TempStorage held;
    int one = Reduce(held).Sum(x[threadIdx.x]);
    __syncthreads();
    int two = Reduce(held).Sum(x[threadIdx.x] + 1);
    if (threadIdx.x == 0) out[0] = one, out[1] = two;
}
int main() {
    int h[64], *x, *out;
    for (int i = 0; i < 64; i++) h[i] = i;
    cudaMalloc(&x, sizeof(h)); cudaMalloc(&out, 2 * sizeof(int));
    cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice);
    sums<<<1, 64>>>(x, out);
    cudaMemcpy(h, out, 2 * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d\n", h[0], h[1]);
    return h[0] != 2016 || h[1] != 2080;
}
