// A tile for each thread, two buffers and loads as float4.
constexpr int BM = 32, BN = 64, BK = 8, TM = 4, TN = 8, THREADS = BM * BN / (TM * TN);
__device__ float4 load4(const float* row, int index, int count) {
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (index + 3 < count && count % 4 == 0) {
        v = *reinterpret_cast<const float4*>(row + index);
    } else {
        if (index < count) v.x = row[index];
        if (index + 1 < count) v.y = row[index + 1];
        if (index + 2 < count) v.z = row[index + 2];
        if (index + 3 < count) v.w = row[index + 3];
    }
    return v;
}
extern "C" __global__ void __launch_bounds__(THREADS)
thread_tile(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[2][BK][BM];
    __shared__ __align__(16) float Bs[2][BK][BN];
    int tid = threadIdx.x, tm = tid / (BN / TN) * TM, tn = tid % (BN / TN) * TN;
    int blockRow = blockIdx.y * BM, blockCol = blockIdx.x * BN;
    float acc[TM][TN] = {};
    int buffer = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        int r = tid / 2, k = tid % 2 * 4;
        float4 a = make_float4(0.f, 0.f, 0.f, 0.f);
        if (blockRow + r < M && r < BM) a = load4(A + size_t(blockRow + r) * K, k0 + k, K);
        if (r < BM) {
            As[buffer][k][r] = a.x; As[buffer][k + 1][r] = a.y;
            As[buffer][k + 2][r] = a.z; As[buffer][k + 3][r] = a.w;
        }
        for (int i = tid * 4; i < BK * BN; i += THREADS * 4) {
            float4 b = make_float4(0.f, 0.f, 0.f, 0.f);
            if (k0 + i / BN < K) b = load4(B + size_t(k0 + i / BN) * N, blockCol + i % BN, N);
            *reinterpret_cast<float4*>(&Bs[buffer][i / BN][i % BN]) = b;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += As[buffer][kk][tm + i] * Bs[buffer][kk][tn + j];
        buffer ^= 1;
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (blockRow + tm + i < M && blockCol + tn + j < N)
                C[size_t(blockRow + tm + i) * N + blockCol + tn + j] = acc[i][j];
}
