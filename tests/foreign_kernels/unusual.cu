// Right kernels with unusual means, launched by main as their authors would.
#include <cuda_runtime.h>
#include <cstdint>
#define FULL 0xffffffffu
#define N 1024

__device__ unsigned arrived, tickets;
__device__ int mutex, ready[8];
__device__ float partial[8];
__constant__ float taps[5];

__device__ __forceinline__ uint32_t shared_address(const void* p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
__device__ __forceinline__ void arrive(uint64_t* bar) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_address(bar)) : "memory");
}
__device__ __forceinline__ void init(uint64_t* bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
__device__ __forceinline__ void await(uint64_t* bar, int parity) {
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(bar)), "r"(parity) : "memory");
}

// A pipeline of three stages.
__global__ void three_stages(const float4* x, float4* y, int steps) {
    __shared__ float4 ring[3][32];
    int t = threadIdx.x;
    for (int s = 0; s < 2; ++s) { copy16(&ring[s][t], x + s * 32 + t); COMMIT; }
    for (int s = 0; s < steps; ++s) {
        WAIT(1);
        __syncwarp();
        if (s + 2 < steps) copy16(&ring[(s + 2) % 3][t], x + (s + 2) * 32 + t);
        COMMIT;
        y[s * 32 + t] = ring[s % 3][31 - t];
    }
}

// Full and empty barriers between a producer warp and a consumer warp.
__global__ void producer_consumer(const float* x, float* y, int rounds) {
    __shared__ alignas(8) uint64_t full[2], empty[2];
    __shared__ float slot[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) for (int i = 0; i < 2; ++i) { init(full + i, 32); init(empty + i, 32); }
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        int i = r & 1, turn = r / 2 & 1;
        if (threadIdx.x < 32) {
            await(empty + i, turn ^ 1);
            slot[i][lane] = x[r * 32 + lane];
            arrive(full + i);
        } else {
            await(full + i, turn);
            y[r * 32 + lane] = slot[i][31 - lane];
            arrive(empty + i);
        }
    }
}

// Two pairs of warps, each with a barrier of its own.
__global__ void named_barriers(const float* x, float* y) {
    __shared__ float s[128];
    int team = threadIdx.x / 64 + 1;
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync %0, 64;" ::"r"(team) : "memory");
    y[threadIdx.x] = s[threadIdx.x ^ 63];
}

// Sums within a warp, by shared memory.
__global__ void warp_tree(const float* x, float* y) {
    __shared__ volatile float s[64];
    int t = threadIdx.x, lane = t % 32;
    s[t] = x[t];
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        if (lane < d) s[t] = s[t] + s[t + d];
        __syncwarp();
    }
    if (lane == 0) y[t / 32] = s[t];
}

// Each block hands its sum to the next one.
__global__ void chained_scan(const float* x, float* y) {
    __shared__ float before;
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 1; d < 32; d <<= 1) {
        float o = __shfl_up_sync(FULL, v, d);
        if (threadIdx.x >= d) v += o;
    }
    if (threadIdx.x == 31) {
        before = 0;
        if (blockIdx.x) {
            while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) { }
            __threadfence();
            before = __ldcg(&partial[blockIdx.x - 1]);
        }
        __stcg(&partial[blockIdx.x], before + v);
        __threadfence();
        atomicExch(&ready[blockIdx.x], 1);
    }
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = before + v;
}

__global__ void last_block(const float* x, float* y, int n) {
    __shared__ int last;
    float v = 0;
    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) v += x[i];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncwarp();
    if (last && threadIdx.x == 0) {
        v = 0;
        for (int b = 0; b < gridDim.x; ++b) v += ((volatile float*)partial)[b];
        *y = v;
    }
}

__global__ void locked_sum(const float* x, float* y) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&mutex, 0, 1)) __nanosleep(20);
        __threadfence();
        *(volatile float*)y += x[blockIdx.x];
        __threadfence();
        atomicExch(&mutex, 0);
    }
}

// Blocks take rows as they get ready.
__global__ void dynamic_rows(const float* x, float* y, int rows) {
    __shared__ int row;
    while (true) {
        if (threadIdx.x == 0) row = atomicAdd(&tickets, 1);
        __syncthreads();
        int mine = row;
        __syncthreads();
        if (mine >= rows) break;
        y[mine * 32 + threadIdx.x] = 2 * x[mine * 32 + threadIdx.x];
    }
}

// Any thread of any warp may raise the flag.
__global__ void any_above(const float* x, int* c, float limit) {
    __shared__ bool found;
    found = false;
    __syncthreads();
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > limit) found = true;
    __syncthreads();
    if (threadIdx.x == 0) c[blockIdx.x] = found;
}

__global__ void counted(const float* x, int* c) {
    int n = __syncthreads_count(x[blockIdx.x * blockDim.x + threadIdx.x] > 0);
    if (threadIdx.x == 0) c[blockIdx.x] = n;
}

__global__ void groups_of_equal(const int* k, int* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned in = __ballot_sync(FULL, i < n);
    if (i >= n) return;
    int key = k[i] & 15;
    unsigned peers = __match_any_sync(in, key);
    if (__ffs(peers) - 1 == (threadIdx.x & 31)) atomicAdd(c + key, __popc(peers));
}

__global__ void reduce_in_hardware(const int* k, int* c) {
    int v = k[blockIdx.x * 32 + threadIdx.x];
    int sum = __reduce_add_sync(FULL, v), most = __reduce_max_sync(FULL, v);
    if (threadIdx.x == 0) { c[2 * blockIdx.x] = sum; c[2 * blockIdx.x + 1] = most; }
}

// The kept elements, in order.
__global__ void compact(const int* k, int* c, int n) {
    __shared__ int offset[4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, base = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        int v = k[start + threadIdx.x];
        unsigned votes = __ballot_sync(FULL, v > 0);
        if (lane == 0) offset[warp] = __popc(votes);
        __syncthreads();
        int to = base + __popc(votes & ((1u << lane) - 1));
        for (int w = 0; w < 4; ++w) { if (w < warp) to += offset[w]; base += offset[w]; }
        if (v > 0) c[to] = v;
        __syncthreads();
    }
}

void top_cpu(const float* x, float* y, int n) {
    float last = 1e30f;
    for (int j = 0; j < 4; ++j) {
        float best = -1e30f;
        for (int i = 0; i < n; ++i) if (x[i] < last && x[i] > best) best = x[i];
        y[j] = last = best;
    }
}
// The four largest distinct values.
__global__ void top_kernel(const float* x, float* y, int n) {
    float last = 1e30f;
    for (int j = 0; j < 4; ++j) {
        float best = -1e30f;
        for (int i = threadIdx.x; i < n; i += 32) if (x[i] < last) best = fmaxf(best, x[i]);
        for (int d = 16; d; d /= 2) best = fmaxf(best, __shfl_xor_sync(FULL, best, d));
        last = best;
        if (threadIdx.x == j) y[j] = best;
    }
}

// Attention with the running maximum; a warp per query.
__global__ void attention(const float* q, const float* k, const float* v, float* o, int keys) {
    __shared__ float own[32];
    int t = threadIdx.x;
    own[t] = q[blockIdx.x * 32 + t];
    __syncwarp();
    float most = -1e30f, sum = 0, out = 0;
    for (int j = 0; j < keys; ++j) {
        float s = own[t] * k[j * 32 + t];
        for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(FULL, s, d);
        float now = fmaxf(most, s), keep = __expf(most - now), p = __expf(s - now);
        sum = sum * keep + p;
        out = out * keep + p * v[j * 32 + t];
        most = now;
    }
    o[blockIdx.x * 32 + t] = out / sum;
}

// A warp transposes 32 × 32 in registers.
__global__ void register_transpose(const float* x, float* y) {
    float r[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) r[i] = x[i * 32 + threadIdx.x];
    #pragma unroll
    for (int bit = 1; bit < 32; bit *= 2)
        #pragma unroll
        for (int i = 0; i < 32; ++i)
            if (!(i & bit)) {
                bool up = threadIdx.x & bit;
                float give = up ? r[i] : r[i | bit];
                give = __shfl_xor_sync(FULL, give, bit);
                if (up) r[i] = give; else r[i | bit] = give;
            }
    #pragma unroll
    for (int i = 0; i < 32; ++i) y[i * 32 + threadIdx.x] = r[i];
}

__global__ void swizzled_transpose(const float* x, float* y) {
    __shared__ float tile[32 * 32];
    for (int r = threadIdx.y; r < 32; r += 8) tile[r * 32 + (threadIdx.x ^ r)] = x[r * 32 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) y[r * 32 + threadIdx.x] = tile[threadIdx.x * 32 + (r ^ threadIdx.x)];
}

// One plane after another, the neighbours in registers.
__global__ void plane_queue(const float* x, float* y, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, plane = gridDim.x * blockDim.x;
    float below = 0, here = x[i];
    for (int z = 0; z < depth; ++z) {
        float above = z + 1 < depth ? x[(z + 1) * plane + i] : 0;
        y[z * plane + i] = below + above - 2 * here;
        below = here;
        here = above;
    }
}

__global__ void five_taps(const float* x, float* y, int n) {
    extern __shared__ float line[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    line[t + 2] = i < n ? x[i] : 0;
    if (t < 2) {
        line[t] = i >= 2 ? x[i - 2] : 0;
        int right = i + blockDim.x;
        line[t + 2 + blockDim.x] = right < n ? x[right] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    float s = 0;
    for (int j = 0; j < 5; ++j) s += taps[j] * line[t + j];
    y[i] = s;
}

// A histogram per warp.
__global__ void warp_histograms(const unsigned char* b, int* c, int n) {
    __shared__ int own[4][16];
    int warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 64; i += blockDim.x) own[i / 16][i % 16] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[warp][b[i] >> 4], 1);
    __syncthreads();
    if (threadIdx.x < 16) {
        int sum = 0;
        for (int w = 0; w < 4; ++w) sum += own[w][threadIdx.x];
        atomicAdd(&c[threadIdx.x], sum);
    }
}

__global__ void csr_rows(const int* k, const float* x, float* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    int begin = row * 17, end = begin + 17;
    float sum = 0;
    for (int j = begin + lane; j < end; j += 32) sum += x[j] * x[k[j] & 511];
    #pragma unroll
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(FULL, sum, d);
    if (lane == 0) y[row] = sum;
}

void softmax_rows_cpu(const float* x, float* y, int cols) {
    for (int r = 0; r < 8; ++r) {
        float most = -1e30f, sum = 0;
        for (int i = 0; i < cols; ++i) most = fmaxf(most, x[r * cols + i]);
        for (int i = 0; i < cols; ++i) sum += expf(x[r * cols + i] - most);
        for (int i = 0; i < cols; ++i) y[r * cols + i] = expf(x[r * cols + i] - most) / sum;
    }
}
__global__ void softmax_rows(const float* x, float* y, int cols) {
    __shared__ float most, sum;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    if (threadIdx.x < 32) {
        float m = -1e30f, s = 0;
        for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, x[i]);
        for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(FULL, m, d));
        for (int i = threadIdx.x; i < cols; i += 32) s += expf(x[i] - m);
        for (int d = 16; d; d /= 2) s += __shfl_xor_sync(FULL, s, d);
        if (threadIdx.x == 0) { most = m; sum = s; }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - most) / sum;
}

// One bit of a radix sort, stable.
__global__ void split_bit(const int* k, int* c, int bit) {
    __shared__ int zeros[8], from[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, v = k[t];
    unsigned low = __ballot_sync(FULL, !(v >> bit & 1));
    if (lane == 0) zeros[warp] = __popc(low);
    __syncthreads();
    if (t == 0) for (int w = 0, s = 0; w < 8; ++w) { from[w] = s; s += zeros[w]; }
    __syncthreads();
    int rank = from[warp] + __popc(low & ((1u << lane) - 1)), all = from[7] + zeros[7];
    c[v >> bit & 1 ? all + t - rank : rank] = v;
}

__global__ void odd_even_sort(int* k) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = k[t];
    for (int round = 0; round < 128; ++round) {
        __syncthreads();
        if (t + 1 < 128 && (t & 1) == (round & 1) && s[t] > s[t + 1]) {
            int o = s[t]; s[t] = s[t + 1]; s[t + 1] = o;
        }
    }
    __syncthreads();
    k[t] = s[t];
}

__global__ void bitset(const int* k, unsigned* c, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicOr(&c[(k[i] & 255) / 32], 1u << (k[i] & 31));
}

__global__ void atomic_float_max(const float* x, int* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int seen = atomicAdd(c, 0);
    while (__int_as_float(seen) < x[i]) {
        int was = atomicCAS(c, seen, __float_as_int(x[i]));
        if (was == seen) break;
        seen = was;
    }
}

__global__ void packed_dots(const int* k, int* c) {
    int i = threadIdx.x, s = 0;
    for (int j = 0; j < 8; ++j) s = __dp4a(k[i * 8 + j], 0x01020304, s);
    c[i] = s + __byte_perm(s, 0, 0x0123);
}

// Both halves of a warp exchange in branches of their own.
__global__ void half_warps(const float* x, float* y) {
    int lane = threadIdx.x;
    float v = x[lane];
    if (lane < 16) v += __shfl_xor_sync(0x0000ffff, v, 8);
    else v -= __shfl_xor_sync(0xffff0000, v, 8);
    y[lane] = v;
}

union Words { float f[128]; int i[128]; };
__global__ void reused(const float* x, int* c) {
    __shared__ Words w;
    int t = threadIdx.x;
    w.f[t] = x[t];
    __syncthreads();
    float v = w.f[127 - t];
    __syncthreads();
    w.i[t] = v > 0;
    __syncthreads();
    c[t] = w.i[(t + 1) % 128];
}

// A prefix sum with two elements per thread, the upper sums in one warp.
__global__ void wide_scan(const int* k, int* c) {
    __shared__ int sums[4];
    int t = threadIdx.x, lane = t & 31, a = k[2 * t], b = k[2 * t + 1], v = a + b;
    for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(FULL, v, d); if (lane >= d) v += o; }
    if (lane == 31) sums[t >> 5] = v;
    __syncthreads();
    int before = v - a - b;
    for (int w = 0; w < t >> 5; ++w) before += sums[w];
    c[2 * t] = before + a;
    c[2 * t + 1] = before + a + b;
}

// Whole tiles by ldmatrix and mma.
__global__ void mma_tile(const unsigned* a, const unsigned* b, float* y) {
    __shared__ alignas(16) unsigned s[16 * 8];
    int t = threadIdx.x;
    for (int i = t; i < 128; i += 32) s[i] = a[i] & 0x3c003c00;
    __syncwarp();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(&s[t % 16 * 8 + t / 16 * 4])));
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(b[t] & 0x3c003c00), "r"(b[t + 32] & 0x3c003c00));
    for (int i = 0; i < 4; ++i) y[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
}

// Waits for a moment that the clock shows.
__global__ void delayed(const float* x, float* y, long long ticks) {
    const long long start = clock64();
    while (clock64() - start < ticks) {
    }
    y[threadIdx.x] = x[threadIdx.x];
}

int main() {
    float *x, *y;
    int *k, *c;
    unsigned char* b;
    cudaMalloc(&x, N * sizeof(float));
    cudaMalloc(&y, N * sizeof(float));
    cudaMalloc(&k, N * sizeof(int));
    cudaMalloc(&c, N * sizeof(int));
    cudaMalloc(&b, N);
    three_stages<<<1, 32>>>((float4*)x, (float4*)y, 8);
    producer_consumer<<<1, 64>>>(x, y, 6);
    named_barriers<<<1, 128>>>(x, y);
    warp_tree<<<1, 64>>>(x, y);
    chained_scan<<<8, 32>>>(x, y);
    last_block<<<8, 32>>>(x, y, N);
    locked_sum<<<8, 32>>>(x, y);
    dynamic_rows<<<4, 32>>>(x, y, 20);
    any_above<<<4, 128>>>(x, c, 2.0f);
    counted<<<4, 128>>>(x, c);
    groups_of_equal<<<4, 128>>>(k, c, 500);
    reduce_in_hardware<<<4, 32>>>(k, c);
    compact<<<1, 128>>>(k, c, 512);
    top_kernel<<<1, 32>>>(x, y, 200);
    attention<<<4, 32>>>(x, x + 128, x + 512, y, 12);
    register_transpose<<<1, 32>>>(x, y);
    swizzled_transpose<<<1, dim3(32, 8)>>>(x, y);
    plane_queue<<<2, 64>>>(x, y, 8);
    five_taps<<<4, 128, 132 * sizeof(float)>>>(x, y, 500);
    warp_histograms<<<2, 128>>>(b, c, N);
    csr_rows<<<8, 128>>>(k, x, y, 30);
    softmax_rows<<<8, 128>>>(x, y, 100);
    split_bit<<<1, 256>>>(k, c, 1);
    odd_even_sort<<<1, 128>>>(k);
    bitset<<<1, 64>>>(k, (unsigned*)c, 500);
    atomic_float_max<<<4, 128>>>(x, c, 500);
    packed_dots<<<1, 128>>>(k, c);
    half_warps<<<1, 32>>>(x, y);
    reused<<<1, 128>>>(x, c);
    wide_scan<<<1, 128>>>(k, c);
    mma_tile<<<1, 32>>>((unsigned*)k, (unsigned*)c, y);
    delayed<<<1, 64>>>(x, y, 20000000);
}
