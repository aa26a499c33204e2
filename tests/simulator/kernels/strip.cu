// A strip of rows of A and of columns of B in dynamic shared memory.
constexpr int T = 8;
extern "C" __global__ void strip(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ float strips[];
    float* As = strips;
    float* Bs = strips + T * K;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    for (int k = tx; k < K; k += T) As[ty * K + k] = row < M ? A[row * K + k] : 0.0f;
    for (int k = ty; k < K; k += T) Bs[k * T + tx] = col < N ? B[k * N + col] : 0.0f;
    __syncthreads();
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += As[ty * K + k] * Bs[k * T + tx];
    if (row < M && col < N) C[row * N + col] = acc;
}
