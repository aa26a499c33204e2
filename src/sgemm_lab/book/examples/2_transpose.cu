// example: Transpose
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
    int width = 100, height = 70;
    float *in, *out;
    cudaMalloc(&in, width * height * sizeof(float));
    cudaMalloc(&out, width * height * sizeof(float));
    dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(in, out, width, height);
}
// fault replaces:     if (x < height && y < width) out[y
// by:     out[y
