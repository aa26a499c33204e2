// title: One column
// parent: naive
// change: A warp walks along the rows of A, and its lanes' sums are added in the end.
// chapter: 11
// grid: ceil(M / TM) * N, 1
// block: 32 * WARPS, 1
// variants: TM=1
//
// Where C has one column, to read A once is all the work. Each lane takes four neighbours of a row,
// so a warp reads 512 bytes at once; a row's sum is spread over lanes and warps until the end.

constexpr int TM = 4;      // rows of C per block: they share what is read of B
constexpr int WARPS = 4;   // warps of a block: each takes every WARPS-th piece of 128 k
constexpr int THREADS = 32 * WARPS;

static_assert(THREADS <= 1024, "A block has at most 1024 threads: WARPS is 32 at most.");

// Four floats, `step` apart; zeros where they are `left` k away or more.
__device__ float4 load4(const float* x, size_t step, int left, bool aligned)
{
    if (aligned) return *reinterpret_cast<const float4*>(x);
    return make_float4(x[0], left > 32 ? x[step] : 0.0f, left > 64 ? x[2 * step] : 0.0f,
                       left > 96 ? x[3 * step] : 0.0f);
}

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sums[WARPS][TM];

    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int blockRow = blockIdx.x / N * TM, col = blockIdx.x % N;
    const bool alignedA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool alignedB = alignedA && N == 1 && size_t(B) % 16 == 0;
    const int step = alignedA ? 1 : 32;

    float acc[TM] = {};
#pragma unroll 2
    for (int k = warp * 128 + (alignedA ? lane * 4 : lane); k < K; k += THREADS * 4) {
        // Four neighbouring k as one float4; or k 32 apart, so that lanes are neighbours.
        const int left = alignedA ? 128 : K - k;
        const float4 b = load4(B + size_t(k) * N + col, size_t(step) * N, left, alignedB);
        for (int i = 0; i < TM; ++i) {
            const float* from = A + size_t(min(blockRow + i, M - 1)) * K + k;
            const float4 a = load4(from, step, left, alignedA);
            acc[i] += a.x * b.x + a.y * b.y;
            acc[i] += a.z * b.z + a.w * b.w;
        }
    }

    // The lanes' sums in a tree, then the warps': always in the same order, the same bits.
    for (int i = 0; i < TM; ++i) {
        for (int far = 16; far > 0; far /= 2) acc[i] += __shfl_xor_sync(~0u, acc[i], far);
        if (lane == 0) sums[warp][i] = acc[i];
    }
    __syncthreads();
    if (tid < TM && blockRow + tid < M) {
        float sum = 0.0f;
        for (int w = 0; w < WARPS; ++w) sum += sums[w][tid];
        C[size_t(blockRow + tid) * N + col] = sum;
    }
}
