#include <cstdio>
#define ROWS 600000
#define DIM 4096
__global__ void gather(const signed char *table, const int *ids, float *out) {
    size_t base = (size_t)ids[blockIdx.x] * DIM;
    for (int d = threadIdx.x; d < DIM; d += blockDim.x)
        out[blockIdx.x * DIM + d] = table[base + d];
}
int main() {
    int h[4] = {0, 7, 524999, 599999}, *ids;
    signed char *table; float *out;
    cudaMalloc(&table, (size_t)ROWS * DIM);
    cudaMalloc(&ids, sizeof(h));
    cudaMalloc(&out, 4 * DIM * sizeof(float));
    cudaMemset(table, 3, (size_t)ROWS * DIM);
    cudaMemcpy(ids, h, sizeof(h), cudaMemcpyHostToDevice);
    gather<<<4, 256>>>(table, ids, out);
    cudaDeviceSynchronize();
}
