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

__device__ float total(float v) { return v; }
__device__ float total(float2 v) { return v.x + v.y; }
__device__ float total(float4 v) { return v.x + v.y + v.z + v.w; }

// Each thread asks for LOADS elements of type T, waits for all of them, and goes on. So LOADS times
// the width of T is what a thread has on its way at a time.
template <typename T, int LOADS>
__device__ void read_wide(const T* data, long long count, float* sink)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
    float sum = 0;
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += LOADS * threads) {
        T v[LOADS];
#pragma unroll
        for (int l = 0; l < LOADS; ++l) v[l] = __ldcg(&data[min(i + l * threads, count - 1)]);
#pragma unroll
        for (int l = 0; l < LOADS; ++l) sum += total(v[l]);
    }
    if (sum == 1234.5f) *sink = sum;
}

extern "C" __global__ void read_4(const float* data, long long count, float* sink)
{
    read_wide<float, 1>(data, count, sink);
}
extern "C" __global__ void read_8(const float2* data, long long count, float* sink)
{
    read_wide<float2, 1>(data, count, sink);
}
extern "C" __global__ void read_16(const float4* data, long long count, float* sink)
{
    read_wide<float4, 1>(data, count, sink);
}
extern "C" __global__ void read_4_by_four(const float* data, long long count, float* sink)
{
    read_wide<float, 4>(data, count, sink);
}
extern "C" __global__ void read_8_by_four(const float2* data, long long count, float* sink)
{
    read_wide<float2, 4>(data, count, sink);
}
extern "C" __global__ void read_16_by_four(const float4* data, long long count, float* sink)
{
    read_wide<float4, 4>(data, count, sink);
}
