#include <cuda_runtime.h>
#define RADIUS 3
#define BLOCK_SIZE 128
#define MASK_WIDTH 5
#define TILE 16

__constant__ float c_coef[RADIUS + 1];
__constant__ float c_mask[MASK_WIDTH][MASK_WIDTH];
__constant__ float c_taps[7] = {0.25f, 0.5f, 1.0f, 2.0f, 1.0f, 0.5f, 0.25f};
__constant__ int c_width;

__global__ void stencil_1d(const int *in, int *out) {
    __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
    int lindex = threadIdx.x + RADIUS;
    temp[lindex] = in[gindex];
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = in[gindex - RADIUS];
        temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];
    }
    __syncthreads();
    int result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
    out[gindex - RADIUS] = result;
}

__global__ void stencil_coefficients(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < RADIUS || i >= n - RADIUS) return;
    float sum = c_coef[0] * in[i];
    for (int r = 1; r <= RADIUS; r++) sum += c_coef[r] * (in[i - r] + in[i + r]);
    out[i] = sum;
}

__global__ void jacobi(const float *__restrict__ u, float *__restrict__ v, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int at = y * nx + x;
    if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1) { v[at] = u[at]; return; }
    v[at] = 0.25f * (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx]);
}

__global__ void jacobi_shared(const float *u, float *v, int nx, int ny) {
    __shared__ float s[TILE + 2][TILE + 2];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    s[ty][tx] = u[y * nx + x];
    if (threadIdx.x == 0) s[ty][0] = x > 0 ? u[y * nx + x - 1] : 0.0f;
    if (threadIdx.x == TILE - 1) s[ty][TILE + 1] = x < nx - 1 ? u[y * nx + x + 1] : 0.0f;
    if (threadIdx.y == 0) s[0][tx] = y > 0 ? u[(y - 1) * nx + x] : 0.0f;
    if (threadIdx.y == TILE - 1) s[TILE + 1][tx] = y < ny - 1 ? u[(y + 1) * nx + x] : 0.0f;
    __syncthreads();
    v[y * nx + x] = 0.25f * (s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx]);
}

__global__ void heat_3d(const float *in, float *out, int nx, int ny, int nz, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    for (int z = 1; z < nz - 1; ++z) {
        int c = (z * ny + j) * nx + i;
        out[c] = in[c] + k * (in[c - 1] + in[c + 1] + in[c - nx] + in[c + nx] +
                              in[c - nx * ny] + in[c + nx * ny] - 6.0f * in[c]);
    }
}

__global__ void convolution_1d(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float acc = 0.0f;
    for (int j = 0; j < 7; ++j) {
        int at = i + j - 3;
        if (at >= 0 && at < n) acc += in[at] * c_taps[j];
    }
    out[i] = acc;
}

__global__ void convolution_2d(const float *in, float *out, int height, int width) {
    __shared__ float tile[TILE + MASK_WIDTH - 1][TILE + MASK_WIDTH - 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row_o = blockIdx.y * TILE + ty, col_o = blockIdx.x * TILE + tx;
    int row_i = row_o - MASK_WIDTH / 2, col_i = col_o - MASK_WIDTH / 2;
    if (row_i >= 0 && row_i < height && col_i >= 0 && col_i < width)
        tile[ty][tx] = in[row_i * width + col_i];
    else
        tile[ty][tx] = 0.0f;
    __syncthreads();
    if (ty < TILE && tx < TILE && row_o < height && col_o < width) {
        float sum = 0.0f;
        for (int i = 0; i < MASK_WIDTH; ++i)
            for (int j = 0; j < MASK_WIDTH; ++j) sum += c_mask[i][j] * tile[ty + i][tx + j];
        out[row_o * width + col_o] = sum;
    }
}

__global__ void row_sums_by_constant(const int *in, int *out, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int sum = 0;
    for (int c = 0; c < c_width; ++c) sum += in[r * c_width + c];
    out[r] = sum;
}

__global__ void sobel(const unsigned char *in, unsigned char *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int gx = in[(y - 1) * w + x + 1] + 2 * in[y * w + x + 1] + in[(y + 1) * w + x + 1] -
             in[(y - 1) * w + x - 1] - 2 * in[y * w + x - 1] - in[(y + 1) * w + x - 1];
    int gy = in[(y + 1) * w + x - 1] + 2 * in[(y + 1) * w + x] + in[(y + 1) * w + x + 1] -
             in[(y - 1) * w + x - 1] - 2 * in[(y - 1) * w + x] - in[(y - 1) * w + x + 1];
    int g = abs(gx) + abs(gy);
    out[y * w + x] = g > 255 ? 255 : g;
}

__global__ void game_of_life(const int *now, int *next, int dim) {
    int ix = blockDim.x * blockIdx.x + threadIdx.x, iy = blockDim.y * blockIdx.y + threadIdx.y;
    if (ix >= dim || iy >= dim) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) alive += now[((iy + dy + dim) % dim) * dim + (ix + dx + dim) % dim];
    int cell = now[iy * dim + ix];
    next[iy * dim + ix] = alive == 3 || (cell && alive == 2);
}
