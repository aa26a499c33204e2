// With "by" above 0 a warp writes past the end of its shared array.
extern "C" __global__ void k(int* C, int by) {
    __shared__ int tile[32];
    tile[threadIdx.x + by] = threadIdx.x;
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}
