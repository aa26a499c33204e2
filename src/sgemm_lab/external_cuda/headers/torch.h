#ifndef SGEMM_LAB_TORCH
#define SGEMM_LAB_TORCH
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace c10 {
typedef __half Half;
typedef __nv_bfloat16 BFloat16;
}  // namespace c10
namespace at = c10;
#endif
#endif
