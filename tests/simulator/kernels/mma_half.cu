// One warp rounds to half precision and multiplies 16 × 8 by 8 × 8 with mma.
__device__ unsigned halves(float low, float high) {
    unsigned word;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(word) : "f"(low), "f"(high));
    return word;
}
extern "C" __global__ void k(const float* A, const float* B, float* C) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[2], b;
    for (int i = 0; i < 2; ++i) {
        const float* row = A + (g + i * 8) * 8;
        a[i] = halves(row[2 * t], row[2 * t + 1]);
    }
    b = halves(B[2 * t * 8 + g], B[(2 * t + 1) * 8 + g]);
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
    for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}
