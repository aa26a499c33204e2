// example: Transpose
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define TILE 32

__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[TILE][TILE];  // one column more would avoid the bank conflicts
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
    const int width = 100, height = 70, n = width * height;
    std::vector<float> before(n), after(n);
    for (int i = 0; i < n; ++i) before[i] = i;

    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, before.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(in, out, width, height);
    cudaMemcpy(after.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) wrong += after[x * height + y] != before[y * width + x];
    }
    printf("%d of %d elements are wrong\n", wrong, n);
    return wrong != 0;
}
// fault replaces:     if (x < height && y < width) out[y
// by:     out[y
