#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
const int WMMA_M = 16, WMMA_N = 16, WMMA_K = 16;

// One warp makes one tile of C; matrices by columns.
__global__ void wmma_example(half *a, half *b, float *c, int M, int N, int K, float alpha,
                             float beta) {
    int lda = M, ldb = K, ldc = M;
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int warpN = (blockIdx.y * blockDim.y + threadIdx.y);
    wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::col_major> b_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> acc_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> c_frag;
    wmma::fill_fragment(acc_frag, 0.0f);
    for (int i = 0; i < K; i += WMMA_K) {
        int aRow = warpM * WMMA_M, aCol = i, bRow = i, bCol = warpN * WMMA_N;
        if (aRow < M && aCol < K && bRow < K && bCol < N) {
            wmma::load_matrix_sync(a_frag, a + aRow + aCol * lda, lda);
            wmma::load_matrix_sync(b_frag, b + bRow + bCol * ldb, ldb);
            wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
        }
    }
    int cRow = warpM * WMMA_M, cCol = warpN * WMMA_N;
    if (cRow < M && cCol < N) {
        wmma::load_matrix_sync(c_frag, c + cRow + cCol * ldc, ldc, wmma::mem_col_major);
        for (int i = 0; i < c_frag.num_elements; i++)
            c_frag.x[i] = alpha * acc_frag.x[i] + beta * c_frag.x[i];
        wmma::store_matrix_sync(c + cRow + cCol * ldc, c_frag, ldc, wmma::mem_col_major);
    }
}

template <typename ACC>
__global__ void hgemm_wmma_naive(half *A, half *B, ACC *C, int M, int N, int K) {
    const int load_gmem_a_m = blockIdx.y * WMMA_M, load_gmem_b_n = blockIdx.x * WMMA_N;
    if (load_gmem_a_m >= M && load_gmem_b_n >= N) return;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, ACC> C_frag;
    wmma::fill_fragment(C_frag, (ACC)0.0f);
    for (int k = 0; k < K / WMMA_K; ++k) {
        wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> A_frag;
        wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> B_frag;
        wmma::load_matrix_sync(A_frag, A + load_gmem_a_m * K + k * WMMA_K, K);
        wmma::load_matrix_sync(B_frag, B + (k * WMMA_K) * N + load_gmem_b_n, N);
        wmma::mma_sync(C_frag, A_frag, B_frag, C_frag);
    }
    wmma::store_matrix_sync(C + load_gmem_a_m * N + load_gmem_b_n, C_frag, N, wmma::mem_row_major);
}

// 64×64 of C by four warps; A and B through padded shared memory.
__global__ void wmma_shared(const half *A, const half *B, float *C, int M, int N, int K) {
    __shared__ half As[64][16 + 8];
    __shared__ half Bs[16][64 + 8];
    int warp = threadIdx.x / 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    for (int j = 0; j < 4; ++j) wmma::fill_fragment(c[j], 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) {
            As[i / 16][i % 16] = A[(row0 + i / 16) * K + k0 + i % 16];
            Bs[i / 64][i % 64] = B[(k0 + i / 64) * N + col0 + i % 64];
        }
        __syncthreads();
        wmma::load_matrix_sync(a, &As[warp * 16][0], 24);
        for (int j = 0; j < 4; ++j) {
            wmma::load_matrix_sync(b, &Bs[0][j * 16], 72);
            wmma::mma_sync(c[j], a, b, c[j]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        wmma::store_matrix_sync(&C[(row0 + warp * 16) * N + col0 + j * 16], c[j], N,
                                wmma::mem_row_major);
}

__global__ void wmma_tf32(const float *A, const float *B, float *C, int M, int N, int K) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
    wmma::fill_fragment(c, 0.0f);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < K; k += 8) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        for (int t = 0; t < a.num_elements; t++) a.x[t] = wmma::__float_to_tf32(a.x[t]);
        for (int t = 0; t < b.num_elements; t++) b.x[t] = wmma::__float_to_tf32(b.x[t]);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}

__global__ void wmma_bf16(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N,
                          int K) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + col * K + k, K);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}

__global__ void wmma_int8(const signed char *A, const signed char *B, int *C, int M, int N, int K) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
    wmma::fill_fragment(c, 0);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}

template <int M0, int N0>
__global__ void wmma_shape(const half *A, const half *B, float *C, int M, int N, int K) {
    wmma::fragment<wmma::matrix_a, M0, N0, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M0, N0, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, M0, N0, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    int row = blockIdx.y * M0, col = blockIdx.x * N0;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}

// mma.sync with fragments by ldmatrix, one warp to a block.
#define LDMATRIX_X4(R0, R1, R2, R3, addr)                                                        \
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"            \
                 : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3) : "r"(addr))
#define LDMATRIX_X2_T(R0, R1, addr)                                                              \
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];\n"              \
                 : "=r"(R0), "=r"(R1) : "r"(addr))
#define HMMA16816(RD0, RD1, RA0, RA1, RA2, RA3, RB0, RB1, RC0, RC1)                              \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}," \
                 " {%6, %7}, {%8, %9};\n" : "=r"(RD0), "=r"(RD1)                                 \
                 : "r"(RA0), "r"(RA1), "r"(RA2), "r"(RA3), "r"(RB0), "r"(RB1), "r"(RC0), "r"(RC1))

__global__ void hgemm_mma_m16n8k16(const half *A, const half *B, half *C, int M, int N, int K) {
    __shared__ half s_a[16][16];
    __shared__ half s_b[16][8];
    __shared__ half s_c[16][8];
    int lane = threadIdx.x % 32, row = blockIdx.y * 16, col = blockIdx.x * 8;
    unsigned RC[2] = {0, 0};
    for (int k = 0; k < K; k += 16) {
        for (int i = lane; i < 256; i += 32) s_a[i / 16][i % 16] = A[(row + i / 16) * K + k + i % 16];
        for (int i = lane; i < 128; i += 32) s_b[i / 8][i % 8] = B[(k + i / 8) * N + col + i % 8];
        __syncthreads();
        unsigned RA[4], RB[2];
        unsigned at = __cvta_generic_to_shared(&s_a[lane % 16][(lane / 16) * 8]);
        LDMATRIX_X4(RA[0], RA[1], RA[2], RA[3], at);
        LDMATRIX_X2_T(RB[0], RB[1], (unsigned)__cvta_generic_to_shared(&s_b[lane % 16][0]));
        HMMA16816(RC[0], RC[1], RA[0], RA[1], RA[2], RA[3], RB[0], RB[1], RC[0], RC[1]);
        __syncthreads();
    }
    *(unsigned *)&s_c[lane / 4][(lane % 4) * 2] = RC[0];
    *(unsigned *)&s_c[lane / 4 + 8][(lane % 4) * 2] = RC[1];
    __syncthreads();
    for (int i = lane; i < 128; i += 32) C[(row + i / 8) * N + col + i % 8] = s_c[i / 8][i % 8];
}
