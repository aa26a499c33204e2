// What host code finds of cuBLAS and cuRAND: products of matrices, and random numbers.
// `library_calls.ts` provides the functions.

#pragma once
#pragma clang system_header
#define LAB_STATUSES(status)                                                             \
  status(SUCCESS, 0) status(NOT_INITIALIZED, 1) status(ALLOC_FAILED, 3)                  \
  status(INVALID_VALUE, 7) status(ARCH_MISMATCH, 8) status(MAPPING_ERROR, 11)            \
  status(EXECUTION_FAILED, 13) status(INTERNAL_ERROR, 14) status(NOT_SUPPORTED, 15)      \
  status(LICENSE_ERROR, 16)
#define LAB_STATUS(name, number) CUBLAS_STATUS_##name = number,
enum cublasStatus_t { LAB_STATUSES(LAB_STATUS) };
#define LAB_STATUS_NAME(name, number) case number: return "CUBLAS_STATUS_" #name;
LAB_IN const char* cublasGetStatusName(cublasStatus_t status) {
  switch ((int)status) { LAB_STATUSES(LAB_STATUS_NAME) }
  return "";
}
LAB_IN const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
// Their numbers are the codes of lab_real.
enum cudaDataType_t { CUDA_R_32F = 1, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF };
typedef cudaDataType_t cudaDataType;
// The type of alpha and beta: its code is the remainder by 16.
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 1, CUBLAS_COMPUTE_64F = 2, CUBLAS_COMPUTE_16F = 3,
  CUBLAS_COMPUTE_32F_PEDANTIC = 17, CUBLAS_COMPUTE_64F_PEDANTIC = 18, CUBLAS_COMPUTE_16F_PEDANTIC = 19,
  CUBLAS_COMPUTE_32F_FAST_16F = 33, CUBLAS_COMPUTE_32F_FAST_16BF = 49, CUBLAS_COMPUTE_32F_FAST_TF32 = 65
};
struct cublasContext { cudaStream_t stream; };
typedef cublasContext* cublasHandle_t;
#define LAB_FINE { return CUBLAS_STATUS_SUCCESS; }
LAB_IN cublasStatus_t cublasCreate(cublasHandle_t* to) { *to = new cublasContext{}; LAB_FINE }
LAB_IN cublasStatus_t cublasDestroy(cublasHandle_t) LAB_FINE
LAB_IN cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s) { h->stream = s; LAB_FINE }
LAB_IN cublasStatus_t cublasGetStream(cublasHandle_t h, cudaStream_t* to) { *to = h->stream; LAB_FINE }
LAB_IN cublasStatus_t cublasSetMathMode(cublasHandle_t, int) LAB_FINE
LAB_IN cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) LAB_FINE
LAB_IN cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, lab_size_t) LAB_FINE
LAB_IN cublasStatus_t cublasGetVersion(cublasHandle_t, int* to) { *to = CUDART_VERSION; LAB_FINE }
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm

LAB_IN cublasStatus_t lab_copied(cudaError_t error) {
  return error ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
LAB_IN cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* from, int by, void* to,
                                      int other, LAB_LINE) {
  return lab_copied(cudaMemcpy2D(to, other * bytes, from, by * bytes, rows * bytes, columns,
                                 cudaMemcpyHostToDevice, line));
}
LAB_IN cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* from, int by, void* to,
                                      int other, LAB_LINE) {
  return lab_copied(cudaMemcpy2D(to, other * bytes, from, by * bytes, rows * bytes, columns,
                                 cudaMemcpyDeviceToHost, line));
}
LAB_IN cublasStatus_t cublasSetVector(int count, int bytes, const void* from, int by, void* to, int other,
                                      LAB_LINE) {
  return cublasSetMatrix(1, count, bytes, from, by, to, other, line);
}
LAB_IN cublasStatus_t cublasGetVector(int count, int bytes, const void* from, int by, void* to, int other,
                                      LAB_LINE) {
  return cublasGetMatrix(1, count, bytes, from, by, to, other, line);
}

extern "C" {
cublasStatus_t lab_gemm(int a_turned, int b_turned, int m, int n, int k, int scale_type,
                        const void* alpha, const void* a, int a_type, int lda, const void* b, int b_type,
                        int ldb, const void* beta, void* c, int c_type, int ldc, cudaStream_t, int line);
void* lab_pointer(const void* at);
int lab_random(void* to, lab_size_t count, int type, int is_normal, double mean, double deviation, int line);
}
#define LAB_SHAPE cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k
#define LAB_GEMM(name, T)                                                                             \
  LAB_IN cublasStatus_t cublas##name##gemm(LAB_SHAPE, const T* alpha, const T* a, int lda,            \
                                           const T* b, int ldb, const T* beta, T* c, int ldc, LAB_LINE) { \
    const int type = lab_real<T>::code;                                                               \
    return lab_gemm(ta, tb, m, n, k, type, alpha, a, type, lda, b, type, ldb, beta, c, type, ldc,     \
                    h->stream, line);                                                                 \
  }                                                                                                   \
  LAB_IN cublasStatus_t cublas##name##gemmStridedBatched(                                             \
      LAB_SHAPE, const T* alpha, const T* a, int lda, long long to_a, const T* b, int ldb,            \
      long long to_b, const T* beta, T* c, int ldc, long long to_c, int count, LAB_LINE) {            \
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;                                                    \
    for (int i = 0; i < count && !status; i++)                                                        \
      status = cublas##name##gemm(h, ta, tb, m, n, k, alpha, a + i * to_a, lda, b + i * to_b, ldb,    \
                                  beta, c + i * to_c, ldc, line);                                     \
    return status;                                                                                    \
  }                                                                                                   \
  LAB_IN cublasStatus_t cublas##name##gemmBatched(                                                    \
      LAB_SHAPE, const T* alpha, const T* const a[], int lda, const T* const b[], int ldb,            \
      const T* beta, T* const c[], int ldc, int count, LAB_LINE) {                                    \
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;                                                    \
    for (int i = 0; i < count && !status; i++)                                                        \
      status = cublas##name##gemm(h, ta, tb, m, n, k, alpha, (T*)lab_pointer(a + i), lda,             \
                                  (T*)lab_pointer(b + i), ldb, beta, (T*)lab_pointer(c + i), ldc, line); \
    return status;                                                                                    \
  }                                                                                                   \
  /* y = A x: a product of x as a row. */                                                             \
  LAB_IN cublasStatus_t cublas##name##gemv(cublasHandle_t h, cublasOperation_t ta, int m, int n,      \
                                           const T* alpha, const T* a, int lda, const T* x, int by_x, \
                                           const T* beta, T* y, int by_y, LAB_LINE) {                 \
    return cublas##name##gemm(h, CUBLAS_OP_N, ta ? CUBLAS_OP_N : CUBLAS_OP_T, 1, ta ? n : m,          \
                              ta ? m : n, alpha, x, by_x, a, lda, beta, y, by_y, line);               \
  }
LAB_GEMM(S, float)
LAB_GEMM(D, double)
LAB_GEMM(H, __half)
LAB_IN cublasStatus_t cublasGemmEx(LAB_SHAPE, const void* alpha, const void* a, cudaDataType_t of_a, int lda,
                                   const void* b, cudaDataType_t of_b, int ldb, const void* beta, void* c,
                                   cudaDataType_t of_c, int ldc, cublasComputeType_t type, int, LAB_LINE) {
  return lab_gemm(ta, tb, m, n, k, type % 16, alpha, a, of_a, lda, b, of_b, ldb, beta, c, of_c, ldc,
                  h->stream, line);
}
LAB_IN cublasStatus_t cublasGemmEx(LAB_SHAPE, const void* alpha, const void* a, cudaDataType_t of_a, int lda,
                                   const void* b, cudaDataType_t of_b, int ldb, const void* beta, void* c,
                                   cudaDataType_t of_c, int ldc, cudaDataType_t type, int way, LAB_LINE) {
  return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, of_a, lda, b, of_b, ldb, beta, c, of_c, ldc,
                      (cublasComputeType_t)type, way, line);
}

enum curandStatus_t { CURAND_STATUS_SUCCESS };
typedef curandStatus_t curandStatus;
enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161
};
typedef curandRngType_t curandRngType;
typedef struct curandGenerator_st* curandGenerator_t;
#define LAB_DONE { return CURAND_STATUS_SUCCESS; }
LAB_IN curandStatus_t curandCreateGenerator(curandGenerator_t*, curandRngType_t) LAB_DONE
LAB_IN curandStatus_t curandDestroyGenerator(curandGenerator_t) LAB_DONE
LAB_IN curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t, unsigned long long) LAB_DONE
LAB_IN curandStatus_t curandSetGeneratorOffset(curandGenerator_t, unsigned long long) LAB_DONE
LAB_IN curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t) LAB_DONE
#define LAB_RANDOM(name, T)                                                                             \
  LAB_IN curandStatus_t curandGenerateUniform##name(curandGenerator_t, T* to, lab_size_t count, LAB_LINE) { \
    return (curandStatus_t)lab_random(to, count, lab_real<T>::code, 0, 0, 1, line);                     \
  }                                                                                                     \
  LAB_IN curandStatus_t curandGenerateNormal##name(curandGenerator_t, T* to, lab_size_t count, T mean,  \
                                                   T deviation, LAB_LINE) {                             \
    return (curandStatus_t)lab_random(to, count, lab_real<T>::code, 1, mean, deviation, line);          \
  }
LAB_RANDOM(, float)
LAB_RANDOM(Double, double)
