#include <stdio.h>
#include <assert.h>
#include <math.h>
#define SOFTENING 1e-9f

struct Image { int width, height; unsigned char *pixels; };
struct Params { float scale; int shift; float2 range; };

__device__ float g_table[8] = {1.f, 2.f, 4.f, 8.f, 16.f, 32.f, 64.f, 128.f};
__device__ int g_hits;
__constant__ unsigned char c_key[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

__global__ void mandelbrot(int *out, int w, int h, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
    float x0 = px * (3.5f / w) - 2.5f, y0 = py * (2.0f / h) - 1.0f, x = 0, y = 0;
    int i = 0;
    while (x * x + y * y <= 4.0f && i < limit) {
        float t = x * x - y * y + x0;
        y = 2 * x * y + y0;
        x = t;
        ++i;
    }
    out[py * w + px] = i;
}

__global__ void bodyForce(const float4 *p, float4 *v, float dt, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        for (int tile = 0; tile < gridDim.x; tile++) {
            __shared__ float3 spos[64];
            float4 tpos = p[tile * blockDim.x + threadIdx.x];
            spos[threadIdx.x] = make_float3(tpos.x, tpos.y, tpos.z);
            __syncthreads();
            for (int j = 0; j < 64; j++) {
                float dx = spos[j].x - p[i].x, dy = spos[j].y - p[i].y, dz = spos[j].z - p[i].z;
                float distSqr = dx * dx + dy * dy + dz * dz + 1.0f;
                float inv = 1.0f / sqrtf(distSqr);
                float inv3 = inv * inv * inv;
                Fx += dx * inv3;
                Fy += dy * inv3;
                Fz += dz * inv3;
            }
            __syncthreads();
        }
        v[i].x += dt * Fx;
        v[i].y += dt * Fy;
        v[i].z += dt * Fz;
    }
}

__device__ __noinline__ float polynomial(float x, const float *c, int n) {
    float r = 0;
    for (int i = n - 1; i >= 0; --i) r = r * x + c[i];
    return r;
}

__global__ void evaluate(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = polynomial(x[i], g_table, 8);
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void fibonaccis(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 7); }

__device__ unsigned gcd(unsigned a, unsigned b) { return b == 0 ? a : gcd(b, a % b); }

__global__ void gcds(const unsigned *a, const unsigned *b, unsigned *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = gcd(a[i] + 1, b[i] + 1);
}

__global__ void invert(Image image) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < image.width && y < image.height)
        image.pixels[y * image.width + x] = 255 - image.pixels[y * image.width + x];
}

__global__ void adjust(const float *in, float *out, Params p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i] * p.scale + p.shift;
    out[i] = fminf(fmaxf(v, p.range.x), p.range.y);
}

__global__ void monte_carlo(unsigned *hits, int tries) {
    unsigned s = blockIdx.x * blockDim.x + threadIdx.x + 1, inside = 0;
    for (int i = 0; i < tries; ++i) {
        s = s * 1664525u + 1013904223u;
        float x = (s >> 8) * (1.0f / 16777216.0f);
        s = s * 1664525u + 1013904223u;
        float y = (s >> 8) * (1.0f / 16777216.0f);
        inside += x * x + y * y < 1.0f;
    }
    atomicAdd(hits, inside);
}

__global__ void encrypt(unsigned char *text, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) text[i] ^= c_key[i & 15];
}

__global__ void sieve(unsigned char *composite, int n) {
    int p = blockIdx.x * blockDim.x + threadIdx.x + 2;
    for (int m = 2 * p; m < n && p * p <= n; m += p) composite[m] = 1;
}

__global__ void count_hits(const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int mine = i < n && x[i] > 3;
    int all = __syncthreads_count(mine);
    if (threadIdx.x == 0) atomicAdd(&g_hits, all);
    if (i == 0) printf("first block has %d\n", all);
    assert(n > 0);
}

__global__ void bfs_step(const int *row, const int *next, int *level, int now, int *changed, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = row[v]; e < row[v + 1]; ++e)
        if (atomicCAS(&level[next[e]], -1, now + 1) == -1) *changed = 1;
}

__global__ void lock_sum(const int *x, volatile int *sum, int *lock, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *sum = *sum + x[i];
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void bit_tricks(const unsigned *x, unsigned *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i] * 2654435761u;
    y[i] = __brev(v) ^ __popc(v) ^ (__clz(v) << 8) ^ (__ffs(v) << 16) ^ __byte_perm(v, ~v, 0x5140) ^
           __funnelshift_r(v, v, 11) ^ __umulhi(v, 0x12345678u) ^ __reduce_xor_sync(__activemask(), v);
}

__global__ void fft_radix2(float2 *data) {
    extern __shared__ float2 s[];
    int t = threadIdx.x, n = 2 * blockDim.x;
    int bits = __ffs(n) - 1;
    s[__brev(t) >> (32 - bits)] = data[t];
    s[__brev(t + n / 2) >> (32 - bits)] = data[t + n / 2];
    __syncthreads();
    for (int len = 2; len <= n; len *= 2) {
        int half_len = len / 2, group = t / half_len, k = t % half_len;
        int i = group * len + k, j = i + half_len;
        float sn, cs;
        sincospif(-2.0f * k / len, &sn, &cs);
        float2 a = s[i], b = s[j];
        float2 w = make_float2(b.x * cs - b.y * sn, b.x * sn + b.y * cs);
        s[i] = make_float2(a.x + w.x, a.y + w.y);
        s[j] = make_float2(a.x - w.x, a.y - w.y);
        __syncthreads();
    }
    data[t] = s[t];
    data[t + n / 2] = s[t + n / 2];
}

__global__ void knn_distances(const float *points, const float *query, float *out, int n, int dim) {
    __shared__ float q[32];
    if (threadIdx.x < dim) q[threadIdx.x] = query[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = 0;
    for (int k = 0; k < dim; ++k) {
        float t = points[i * dim + k] - q[k];
        d += t * t;
    }
    out[i] = sqrtf(d);
}

__global__ void levels(const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 20.0 * log10(fabs(x[i]) + 1.0) + sqrt(fabs(x[i])) / 3.0;
}

int main() {
    count_hits<<<4, 128>>>(nullptr, 500);
    return 0;
}
