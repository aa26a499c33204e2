#ifndef SGEMM_LAB_CUDA_RUNTIME
#define SGEMM_LAB_CUDA_RUNTIME
#include <stdint.h>
#include <math.h>
#include <utility>
#include <assert.h>
#include <stdio.h>
typedef unsigned long long CUtexObject, CUsurfObject;
// Functions of a warp as they were before CUDA 9: a warp then always went as one.
#define SGEMM_LAB_OLD_SHUFFLE(name) \
template <class T> __device__ __forceinline__ T name(T value, int lane, int width = 32) \
{ return name##_sync(0xffffffffu, value, lane, width); }
SGEMM_LAB_OLD_SHUFFLE(__shfl)
SGEMM_LAB_OLD_SHUFFLE(__shfl_up)
SGEMM_LAB_OLD_SHUFFLE(__shfl_down)
SGEMM_LAB_OLD_SHUFFLE(__shfl_xor)
__device__ __forceinline__ int __all(int x) { return __all_sync(0xffffffffu, x); }
__device__ __forceinline__ int __any(int x) { return __any_sync(0xffffffffu, x); }
__device__ __forceinline__ unsigned __ballot(int x) { return __ballot_sync(0xffffffffu, x); }
#ifndef __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#if __CUDACC_VER_MAJOR__ < 13
struct __align__(16) double4_16a { double x, y, z, w; };
struct __align__(32) double4_32a { double x, y, z, w; };
#endif
#endif
#endif
