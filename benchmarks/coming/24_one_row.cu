// title: One row
// parent: cluster_split
// chapter: 10
// grid: SPLIT * ceil(N / BN), ceil(M / TM)
// block: 32 * WARPS, 1
// needs: sm_90
// variants: SPLIT=4
//
// With one row, or a few, every element of B serves only TM products: the reading of B is all the
// work. So B goes straight from global memory to the registers, and all warps and the blocks of a
// cluster share K.

constexpr int TM = 1;       // rows of C per thread
constexpr int BN = 128;     // columns of C per block: 4 per lane
constexpr int WARPS = 8;    // warps of a block: each takes every WARPS-th k
constexpr int UNROLL = 16;  // loads of B that a thread has on the way
constexpr int SPLIT = 8;    // blocks of a cluster: each takes a part of K
constexpr int THREADS = 32 * WARPS;

static_assert(BN == 128, "A lane has 4 columns: BN is 128.");
static_assert(SPLIT <= 8, "A cluster has at most 8 blocks.");
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
    __shared__ float sums[WARPS][TM][BN];

    const int tid = threadIdx.x;
    const int warp = tid / 32;
    const int lane = tid % 32;
    const int row = blockIdx.y * TM;
    const int col = blockIdx.x / SPLIT * BN;
    const int block = blockIdx.x % SPLIT;
    const int kBegin = int((long long)K * block / SPLIT);
    const int kEnd = int((long long)K * (block + 1) / SPLIT);
    // Four neighbours per lane as one float4, or else columns 32 apart, so that lanes are neighbours.
    const bool wide = N % 4 == 0 && size_t(B) % 16 == 0;
    const int first = wide ? lane * 4 : lane;
    const int step = wide ? 1 : 32;

    float acc[TM][4] = {};
    const float* from = B + size_t(kBegin + warp) * N + col + first;
#pragma unroll UNROLL
    for (int k = kBegin + warp; k < kEnd; k += WARPS) {
        float b[4] = {};
        if (wide) {
            if (col + first < N) *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(from);
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (col + first + 32 * j < N) b[j] = from[32 * j];
            }
        }
        from += size_t(WARPS) * N;
#pragma unroll
        for (int i = 0; i < TM; ++i) {
            const float a = A[size_t(min(row + i, M - 1)) * K + k];  // the same for all lanes
#pragma unroll
            for (int j = 0; j < 4; ++j) acc[i][j] += a * b[j];
        }
    }

    // First the warps' sums, then the blocks', always in the same order: the same bits on every run.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[warp][i][first + step * j] = acc[i][j];
    }
    __syncthreads();
    for (int p = tid; p < TM * BN; p += THREADS) {
        float v = 0.0f;
        for (int w = 0; w < WARPS; ++w) v += sums[w][p / BN][p % BN];
        sums[0][p / BN][p % BN] = v;
    }
    syncCluster();
    for (int p = block * THREADS + tid; p < TM * BN; p += SPLIT * THREADS) {
        float v = 0.0f;
        for (int other = 0; other < SPLIT; ++other) v += loadFrom(other, &sums[0][p / BN][p % BN]);
        const int r = row + p / BN;
        const int c = col + p % BN;
        if (r < M && c < N) C[size_t(r) * N + c] = v;
    }
    syncCluster();  // no block leaves while others read its shared memory
}
