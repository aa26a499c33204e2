// Loads A (16 × 16) and B (16 × 8, row-major) with ldmatrix, multiplies, stores C.
extern "C" __global__ void k(const TYPE* A, const TYPE* B, float* C) {
    __shared__ __align__(16) TYPE As[16][16];
    __shared__ __align__(16) TYPE Bs[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) As[i / 16][i % 16] = A[i];
    for (int i = lane; i < 128; i += 32) Bs[i / 8][i % 8] = B[i];
    __syncthreads();
    unsigned a[4], b[2];
    unsigned from = (unsigned)__cvta_generic_to_shared(&As[lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
    from = (unsigned)__cvta_generic_to_shared(&Bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(from));
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) C[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
