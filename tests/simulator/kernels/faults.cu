// Accesses outside arrays and at odd addresses, and a barrier that some threads reach.
extern "C" __global__ void k(const int* A, const float* B, int* C, long long by) {
    __shared__ int tile[96];
    int i = blockIdx.x * 32 + threadIdx.x;
    C[i] = A[i] + 1;
    C[i + 64] = A[i + by];
    float4 v = *reinterpret_cast<const float4*>(B + threadIdx.x * (2 + blockIdx.x));
    tile[2 * threadIdx.x + blockIdx.x] = v.x + v.w;
    __syncthreads();
    C[i] += tile[3 * threadIdx.x];
    reinterpret_cast<short*>(tile)[threadIdx.x ^ 3] = 5;
    if (threadIdx.x < by) {
        __syncthreads();
        C[i] = tile[threadIdx.x / 2];
    }
}
