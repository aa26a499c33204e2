// How many bytes pass per second, from each level of memory?
//
// All SMs read at once, 16 bytes per thread and load, several loads in flight. The sum keeps the
// compiler from dropping the reads; it is stored only if it has a value that it never has.

__device__ void keep(float4 sum, float* sink)
{
    if (sum.x + sum.y + sum.z + sum.w == 1234.5f) *sink = sum.x;
}

__device__ void add(float4& sum, float4 v)
{
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
}

// Past the L1 cache: __ldcg reads through L2 alone. What does not fit into L2 comes from DRAM.
extern "C" __global__ void read_past_l1(const float4* data, long long count, int rounds, float* sink)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
        for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
            add(sum, __ldcg(&data[i]));
        }
    }
    keep(sum, sink);
}

// Every block reads its own small slice again and again: after the first round it is in L1.
extern "C" __global__ void read_l1(const float4* data, int slice, int rounds, float* sink)
{
    const float4* mine = data + (long long)blockIdx.x * slice;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
        for (int i = threadIdx.x; i < slice; i += blockDim.x) add(sum, __ldca(&mine[i]));
    }
    keep(sum, sink);
}

extern "C" __global__ void read_shared(int rounds, float* sink)
{
    __shared__ float4 tile[1024];  // 16 KB
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = make_float4(i, 0, 0, 0);
    __syncthreads();

    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 8
        for (int i = 0; i < 8; ++i) add(sum, tile[(threadIdx.x + 32 * (i + 8 * round)) % 1024]);
    }
    keep(sum, sink);
}

// __restrict__ promises that `to` and `from` do not overlap, so loads need not wait for stores.
extern "C" __global__ void copy(const float4* __restrict__ from, float4* __restrict__ to,
                                long long count)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
#pragma unroll 4
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        to[i] = from[i];
    }
}

// Neighbouring threads read elements that lie `stride` apart: one float of every stride is used.
extern "C" __global__ void read_strided(const float* data, long long count, int stride, float* sink)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
    float sum = 0;
#pragma unroll 16
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        sum += __ldcg(&data[i * stride]);
    }
    if (sum == 1234.5f) *sink = sum;
}
