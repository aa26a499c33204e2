// title: One column
// parent: one_row
// chapter: 10
// grid: SPLIT * ceil(M / TM), ceil(N / TN)
// block: 32 * WARPS, 1
// needs: sm_90
// variants: SPLIT=4
//
// The same for one column, or a few: now the reading of A is all the work. A lane walks along the
// rows of A, four elements at a time, and the lanes' sums are added at the end.

constexpr int TM = 4;      // rows of C per block: they share what is read of B
constexpr int TN = 1;      // columns of C per block
constexpr int WARPS = 4;   // warps of a block: each takes every WARPS-th piece of 128 k
constexpr int SPLIT = 1;   // blocks of a cluster: each takes a part of K
constexpr int THREADS = 32 * WARPS;

static_assert(SPLIT <= 8, "A cluster has at most 8 blocks.");
static_assert(TM * TN <= 32, "The sums of a block are stored by one warp: TM * TN is 32 at most.");
static_assert(THREADS <= 1024, "A block has at most 1024 threads: WARPS is 32 at most.");

// Where in shared memory x is, as PTX counts it.
__device__ unsigned sharedAddress(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }

// Wait for all threads of the cluster; what they stored in shared memory before can then be read.
__device__ void syncCluster()
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Read a float that stands where x is, but in the shared memory of another block of the cluster.
__device__ float loadFrom(int block, const float* x)
{
    float v;
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %1, %2; "
                 "ld.shared::cluster.f32 %0, [there]; }"
                 : "=f"(v) : "r"(sharedAddress(x)), "r"(block) : "memory");
    return v;
}

extern "C" __global__ void __cluster_dims__(SPLIT, 1, 1) __launch_bounds__(THREADS)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sums[WARPS][TM * TN];

    const int tid = threadIdx.x;
    const int warp = tid / 32;
    const int lane = tid % 32;
    const int row = blockIdx.x / SPLIT * TM;
    const int col = blockIdx.y * TN;
    const int block = blockIdx.x % SPLIT;
    const int pieces = (K + 127) / 128;
    const int kBegin = int((long long)pieces * block / SPLIT) * 128;
    const int kEnd = min((long long)K, (long long)pieces * (block + 1) / SPLIT * 128);
    const bool wideA = K % 4 == 0 && size_t(A) % 16 == 0;
    const bool wideB = N == 1 && size_t(B) % 16 == 0;

    float acc[TM][TN] = {};
#pragma unroll 2
    for (int k0 = kBegin + warp * 128; k0 < kEnd; k0 += WARPS * 128) {
        // Four neighbouring k per lane as one float4, or else k that are 32 apart.
        const int step = wideA ? 1 : 32;
        const int k = k0 + (wideA ? lane * 4 : lane);
        float b[TN][4] = {};
        if (wideA && wideB) {
            if (k < kEnd) *reinterpret_cast<float4*>(b[0]) = *reinterpret_cast<const float4*>(B + k);
        } else {
#pragma unroll
            for (int j = 0; j < TN; ++j) {
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const size_t at = size_t(k + step * q) * N + min(col + j, N - 1);
                    if (k + step * q < kEnd) b[j][q] = B[at];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
            const float* from = A + size_t(min(row + i, M - 1)) * K + k;
            float a[4] = {};
            if (wideA) {
                if (k < kEnd) *reinterpret_cast<float4*>(a) = *reinterpret_cast<const float4*>(from);
            } else {
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    if (k + step * q < kEnd) a[q] = from[step * q];
                }
            }
#pragma unroll
            for (int j = 0; j < TN; ++j) {
#pragma unroll
                for (int q = 0; q < 4; ++q) acc[i][j] += a[q] * b[j][q];
            }
        }
    }

    // The lanes' sums in a tree, then the warps', then the blocks': the same order on every run.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            for (int far = 16; far > 0; far /= 2) {
                acc[i][j] += __shfl_xor_sync(0xffffffff, acc[i][j], far);
            }
            if (lane == 0) sums[warp][i * TN + j] = acc[i][j];
        }
    }
    __syncthreads();
    if (tid < TM * TN) {
        float v = 0.0f;
        for (int w = 0; w < WARPS; ++w) v += sums[w][tid];
        sums[0][tid] = v;
    }
    syncCluster();
    if (block == 0 && tid < TM * TN) {
        float v = 0.0f;
        for (int other = 0; other < SPLIT; ++other) v += loadFrom(other, &sums[0][tid]);
        const int r = row + tid / TN;
        const int c = col + tid % TN;
        if (r < M && c < N) C[size_t(r) * N + c] = v;
    }
    syncCluster();  // no block leaves while others read its shared memory
}
