#ifndef SGEMM_LAB_CUDA_RUNTIME
#define SGEMM_LAB_CUDA_RUNTIME
#include <stdint.h>
#include <math.h>
#include <utility>
#include <assert.h>
#include <stdio.h>
#endif
