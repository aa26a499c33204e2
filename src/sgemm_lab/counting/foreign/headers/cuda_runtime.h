#ifndef SGEMM_LAB_CUDA_RUNTIME
#define SGEMM_LAB_CUDA_RUNTIME
#include <stdint.h>
#include <math.h>
#include <utility>
#include <assert.h>
#include <stdio.h>
// Functions of a warp as they were before CUDA 9: a warp then always went as one.
#define __shfl(...) __shfl_sync(0xffffffffu, __VA_ARGS__)
#define __shfl_up(...) __shfl_up_sync(0xffffffffu, __VA_ARGS__)
#define __shfl_down(...) __shfl_down_sync(0xffffffffu, __VA_ARGS__)
#define __shfl_xor(...) __shfl_xor_sync(0xffffffffu, __VA_ARGS__)
#define __all(x) __all_sync(0xffffffffu, x)
#define __any(x) __any_sync(0xffffffffu, x)
#define __ballot(x) __ballot_sync(0xffffffffu, x)
#ifndef __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#if __CUDACC_VER_MAJOR__ < 13
struct __align__(16) double4_16a { double x, y, z, w; };
struct __align__(32) double4_32a { double x, y, z, w; };
#endif
#endif
#endif
