#ifndef SGEMM_LAB_CUDA_RUNTIME
#define SGEMM_LAB_CUDA_RUNTIME
#include <stdint.h>
#include <math.h>
#include <utility>
#include <assert.h>
#include <stdio.h>
#ifndef __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#if __CUDACC_VER_MAJOR__ < 13
struct __align__(16) double4_16a { double x, y, z, w; };
struct __align__(32) double4_32a { double x, y, z, w; };
#endif
#endif
#endif
