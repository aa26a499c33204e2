// What host code finds declared before its first line, in place of NVIDIA's headers: the CUDA
// runtime, types of vectors and of 16-bit floats. `runtime.ts` provides the functions.
//
// Each function takes the line of its call as a last argument that no caller writes.

#pragma clang system_header
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device, used))
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __inline__ inline
#define CUDART_CB
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __linux__ 1
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cstdio>
#include <stdint.h>
#include <limits.h>
#include <float.h>
#include <time.h>
typedef unsigned long long lab_size_t;
namespace std { using ::lab_size_t; }
#define LAB_LINE int line = __builtin_LINE()
#define LAB_IN static inline __attribute__((host, device))
extern "C" void lab_tick();
extern "C" __attribute__((no_sanitize("coverage"))) void __sanitizer_cov_trace_pc_guard(unsigned*) {
  static int left = 1 << 20;
  if (--left < 0) {
    left = 1 << 20;
    lab_tick();
  }
}
extern "C" void __sanitizer_cov_trace_pc_guard_init(unsigned*, unsigned*) {}
// The heap is that of heap.ts, which knows the size of each block.
extern "C" {
void* lab_allocate(unsigned long bytes, unsigned long alignment);
void lab_free(void*);
unsigned long lab_bytes(void*);
void* malloc(unsigned long bytes) { return lab_allocate(bytes, 16); }
void free(void* block) { lab_free(block); }
void* calloc(unsigned long count, unsigned long bytes) {
  void* block = lab_allocate(count * bytes, 16);
  return memset(block, 0, count * bytes);
}
void* realloc(void* block, unsigned long bytes) {
  void* other = lab_allocate(bytes, 16);
  if (block) {
    unsigned long held = lab_bytes(block);
    memcpy(other, block, held < bytes ? held : bytes);
    lab_free(block);
  }
  return other;
}
void* aligned_alloc(unsigned long alignment, unsigned long bytes) {
  return lab_allocate(bytes, alignment);
}
int posix_memalign(void** block, unsigned long alignment, unsigned long bytes) {
  *block = lab_allocate(bytes, alignment);
  return 0;
}
unsigned long malloc_usable_size(void* block) { return lab_bytes(block); }
void* __libc_malloc(unsigned long bytes) { return malloc(bytes); }
void* __libc_calloc(unsigned long count, unsigned long bytes) { return calloc(count, bytes); }
void __libc_free(void* block) { free(block); }
}

// printf takes each whole number by its own width, as `long` has 8 bytes here and in CUDA.
static const char* lab_format(const char* format, const unsigned char* bytes) {
  static char made[1 << 16];
  char* to = made;
  char* last = made + sizeof(made) - 4;
  while (*format && to < last) {
    if ((*to++ = *format++) != '%') continue;
    if (*format == '%') {
      *to++ = *format++;
      continue;
    }
    while (*format && strchr("-+ #0123456789.*'", *format)) {
      if (*format == '*') bytes++;
      *to++ = *format++;
    }
    const char* own = format;
    while (*format && strchr("hlLqjzt", *format)) format++;
    if (*format && strchr("diouxX", *format)) {
      if (*bytes == 8) *to++ = 'l', *to++ = 'l';
      else while (own < format && *own == 'h') *to++ = *own++;
    } else while (own < format) *to++ = *own++;
    bytes++;
  }
  *to = 0;
  return made;
}
#define LAB_SIZES const unsigned char sizes[] = {sizeof(A)..., 0}
template <class... A> int lab_printf(const char* format, A... a) {
  LAB_SIZES;
  return printf(lab_format(format, sizes), a...);
}
template <class... A> int lab_fprintf(FILE* file, const char* format, A... a) {
  LAB_SIZES;
  return fprintf(file, lab_format(format, sizes), a...);
}
template <class... A> int lab_sprintf(char* to, const char* format, A... a) {
  LAB_SIZES;
  return sprintf(to, lab_format(format, sizes), a...);
}
template <class... A>
int lab_snprintf(char* to, unsigned long count, const char* format, A... a) {
  LAB_SIZES;
  return snprintf(to, count, lab_format(format, sizes), a...);
}
namespace std { using ::lab_printf; using ::lab_fprintf; using ::lab_sprintf; using ::lab_snprintf; }

#define LAB_LEAST(T)                                         \
  LAB_IN constexpr T min(T a, T b) { return b < a ? b : a; } \
  LAB_IN constexpr T max(T a, T b) { return a < b ? b : a; }
LAB_LEAST(int)
LAB_LEAST(unsigned)
LAB_LEAST(long long)
LAB_LEAST(unsigned long long)
LAB_LEAST(float)
LAB_LEAST(double)
LAB_IN constexpr unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
LAB_IN constexpr unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
LAB_IN constexpr unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
LAB_IN constexpr unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
LAB_IN constexpr double min(float a, double b) { return min((double)a, b); }
LAB_IN constexpr double min(double a, float b) { return min(a, (double)b); }
LAB_IN constexpr double max(float a, double b) { return max((double)a, b); }
LAB_IN constexpr double max(double a, float b) { return max(a, (double)b); }
namespace std {
#define LAB_WIDE(name, sign, order)                                              \
  constexpr sign long long name(sign long a, sign long long b) { return order; } \
  constexpr sign long long name(sign long long a, sign long b) { return order; }
LAB_WIDE(min, , b < a ? b : a)
LAB_WIDE(min, unsigned, b < a ? b : a)
LAB_WIDE(max, , a < b ? b : a)
LAB_WIDE(max, unsigned, a < b ? b : a)
}
LAB_IN float rsqrtf(float a) { return 1.0f / sqrtf(a); }
LAB_IN double rsqrt(double a) { return 1.0 / sqrt(a); }
LAB_IN float rcbrtf(float a) { return 1.0f / cbrtf(a); }
LAB_IN float normcdff(float a) { return 0.5f * erfcf(-a * 0.70710678f); }
LAB_IN double normcdf(double a) { return 0.5 * erfc(-a * 0.70710678118654752); }
LAB_IN float sinpif(float a) { return sinf(a * 3.14159265358979f); }
LAB_IN float cospif(float a) { return cosf(a * 3.14159265358979f); }
LAB_IN void sincospif(float a, float* s, float* c) { *s = sinpif(a), *c = cospif(a); }
LAB_IN float __saturatef(float a) { return a < 0 ? 0 : a > 1 ? 1 : a; }
LAB_IN float __expf(float a) { return expf(a); }
LAB_IN float __logf(float a) { return logf(a); }
LAB_IN float __sinf(float a) { return sinf(a); }
LAB_IN float __cosf(float a) { return cosf(a); }
LAB_IN float __powf(float a, float b) { return powf(a, b); }
LAB_IN float __fdividef(float a, float b) { return a / b; }
LAB_IN float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
LAB_IN int __popc(unsigned a) { return __builtin_popcount(a); }
LAB_IN int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
LAB_IN int __clz(int a) { return a ? __builtin_clz(a) : 32; }
LAB_IN int __ffs(int a) { return __builtin_ffs(a); }
LAB_IN unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
LAB_IN int __mul24(int a, int b) { return a * b; }
LAB_IN int __umul24(unsigned a, unsigned b) { return a * b; }
LAB_IN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
LAB_IN int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
LAB_IN unsigned __float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
LAB_IN float __int_as_float(int a) { return __builtin_bit_cast(float, a); }
LAB_IN float __uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }
template <class T> LAB_IN T __ldg(const T* from) { return *from; }

#define LAB_VECTORS(T, name, of1, of2, of3, of4)                     \
  struct __attribute__((aligned(of1))) name##1 { T x; };             \
  LAB_IN name##1 make_##name##1(T x) { return {x}; }                 \
  struct __attribute__((aligned(of2))) name##2 { T x, y; };          \
  LAB_IN name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  struct __attribute__((aligned(of3))) name##3 { T x, y, z; };       \
  LAB_IN name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  struct __attribute__((aligned(of4))) name##4 { T x, y, z, w; };    \
  LAB_IN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
LAB_VECTORS(char, char, 1, 2, 1, 4)
LAB_VECTORS(unsigned char, uchar, 1, 2, 1, 4)
LAB_VECTORS(short, short, 2, 4, 2, 8)
LAB_VECTORS(unsigned short, ushort, 2, 4, 2, 8)
LAB_VECTORS(int, int, 4, 8, 4, 16)
LAB_VECTORS(unsigned int, uint, 4, 8, 4, 16)
LAB_VECTORS(float, float, 4, 8, 4, 16)
LAB_VECTORS(long long, long, 8, 16, 8, 16)
LAB_VECTORS(unsigned long long, ulong, 8, 16, 8, 16)
LAB_VECTORS(long long, longlong, 8, 16, 8, 16)
LAB_VECTORS(unsigned long long, ulonglong, 8, 16, 8, 16)
LAB_VECTORS(double, double, 8, 16, 8, 16)

struct __attribute__((aligned(2))) __half {
  unsigned short bits;
  __half() = default;
  __host__ __device__ __half(float a) {
    unsigned all = __builtin_bit_cast(unsigned, a), size = all & 0x7fffffffu;
    bits = all >> 16 & 0x8000u;
    if (size > 0x7f800000u) bits |= 0x7fff;
    else if (size >= 0x477ff000u) bits |= 0x7c00;
    else if (size < 0x38800000u) bits |= (unsigned)rintf(__builtin_bit_cast(float, size) * 0x1p24f);
    else bits |= (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
  }
  template <class T> __host__ __device__ __half(T a) : __half((float)a) {}
  __host__ __device__ operator float() const {
    unsigned sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    float size = rest < 0x400u ? rest * 0x1p-24f
                               : __builtin_bit_cast(float, (rest << 13) + 0x38000000u);
    return sign ? -size : size;
  }
};
struct __attribute__((aligned(2))) __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __host__ __device__ __nv_bfloat16(float a) {
    unsigned all = __builtin_bit_cast(unsigned, a);
    bits = a != a ? 0x7fff : (all + 0x7fffu + (all >> 16 & 1)) >> 16;
  }
  template <class T> __host__ __device__ __nv_bfloat16(T a) : __nv_bfloat16((float)a) {}
  __host__ __device__ operator float() const { return __builtin_bit_cast(float, (unsigned)bits << 16); }
};
struct __attribute__((aligned(4))) __half2 { __half x, y; };
struct __attribute__((aligned(4))) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#define LAB_SMALL(T, name, back, pair)                                   \
  LAB_IN float back(T a) { return a; }                                   \
  LAB_IN T __float2##name(float a) { return a; }                         \
  LAB_IN T __float2##name##_rn(float a) { return a; }                    \
  LAB_IN T __float2##name##_rz(float a) { return a; }                    \
  LAB_IN T __float2##name##_ru(float a) { return a; }                    \
  LAB_IN T __float2##name##_rd(float a) { return a; }                    \
  LAB_IN T __double2##name(double a) { return a; }                       \
  LAB_IN T __int2##name##_rn(int a) { return a; }                        \
  LAB_IN T##2 __float2##name##2_rn(float a) { return {a, a}; }           \
  LAB_IN T##2 __floats2##name##2_rn(float a, float b) { return {a, b}; } \
  LAB_IN T##2 pair(T a, T b) { return {a, b}; }                          \
  LAB_IN float __low2float(T##2 a) { return a.x; }                       \
  LAB_IN float __high2float(T##2 a) { return a.y; }
LAB_SMALL(__half, half, __half2float, make_half2)
LAB_SMALL(__nv_bfloat16, bfloat16, __bfloat162float, make_nv_bfloat162)
LAB_IN __half2 __halves2half2(__half a, __half b) { return {a, b}; }
LAB_IN float2 __half22float2(__half2 a) { return {a.x, a.y}; }
LAB_IN unsigned short __half_as_ushort(__half a) { return a.bits; }
LAB_IN __half __ushort_as_half(unsigned short a) { __half b; b.bits = a; return b; }
LAB_IN unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
typedef float2 cuFloatComplex, cuComplex;
typedef double2 cuDoubleComplex;
LAB_IN cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
LAB_IN cuFloatComplex make_cuComplex(float x, float y) { return {x, y}; }
LAB_IN cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
LAB_IN float cuCrealf(cuFloatComplex a) { return a.x; }
LAB_IN float cuCimagf(cuFloatComplex a) { return a.y; }
LAB_IN float cuCabsf(cuFloatComplex a) { return hypotf(a.x, a.y); }
LAB_IN cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return {a.x + b.x, a.y + b.y}; }
LAB_IN cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return {a.x - b.x, a.y - b.y}; }
LAB_IN cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

#define LAB_ERRORS(error)                                                             \
  error(Success, 0, "no error") error(ErrorInvalidValue, 1, "invalid argument")       \
  error(ErrorMemoryAllocation, 2, "out of memory")                                    \
  error(ErrorInitializationError, 3, "initialization error")                          \
  error(ErrorInvalidConfiguration, 9, "invalid configuration argument")               \
  error(ErrorInvalidSymbol, 13, "invalid device symbol")                              \
  error(ErrorInvalidDevicePointer, 17, "invalid device pointer")                      \
  error(ErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")         \
  error(ErrorNoDevice, 100, "no CUDA-capable device is detected")                     \
  error(ErrorInvalidDevice, 101, "invalid device ordinal")                            \
  error(ErrorInvalidResourceHandle, 400, "invalid resource handle")                   \
  error(ErrorNotReady, 600, "device not ready")                                       \
  error(ErrorIllegalAddress, 700, "an illegal memory access was encountered")         \
  error(ErrorLaunchOutOfResources, 701, "too many resources requested for launch")    \
  error(ErrorLaunchTimeout, 702, "the launch timed out and was terminated")           \
  error(ErrorLaunchFailure, 719, "unspecified launch failure")                        \
  error(ErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
  error(ErrorNotSupported, 801, "operation not supported")                            \
  error(ErrorUnknown, 999, "unknown error")
// What cudaGetDeviceProperties and cudaDeviceGetAttribute say: an H200.
#define LAB_COUNTS(value)                                                                       \
  value(MultiProcessorCount, multiProcessorCount, 132) value(Major, major, 9)                   \
  value(Minor, minor, 0) value(MaxThreadsPerBlock, maxThreadsPerBlock, 1024)                    \
  value(WarpSize, warpSize, 32)                                                                 \
  value(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor, 2048)                         \
  value(CooperativeLaunch, cooperativeLaunch, 1) value(L2CacheSize, l2CacheSize, 62914560)      \
  value(ClockRate, clockRate, 1980000) value(MemoryClockRate, memoryClockRate, 3201000)         \
  value(MemoryBusWidth, memoryBusWidth, 6144) value(ManagedMemory, managedMemory, 1)            \
  value(ConcurrentKernels, concurrentKernels, 1) value(RegsPerBlock, regsPerBlock, 65536)       \
  value(MaxBlocksPerMultiProcessor, maxBlocksPerMultiProcessor, 32)                             \
  value(ConcurrentManagedAccess, concurrentManagedAccess, 1)                                    \
  value(UnifiedAddressing, unifiedAddressing, 1) value(AsyncEngineCount, asyncEngineCount, 3)   \
  value(Integrated, integrated, 0) value(CanMapHostMemory, canMapHostMemory, 1)                 \
  value(RegsPerMultiprocessor, regsPerMultiprocessor, 65536) value(ComputeMode, computeMode, 0) \
  value(ECCEnabled, ECCEnabled, 1) value(PageableMemoryAccess, pageableMemoryAccess, 0)         \
  value(DeviceOverlap, deviceOverlap, 1) value(MemoryPoolsSupported, memoryPoolsSupported, 1)   \
  value(ClusterLaunch, clusterLaunch, 1)                                                        \
  value(PersistingL2CacheMaxSize, persistingL2CacheMaxSize, 0)                                  \
  value(AccessPolicyMaxWindowSize, accessPolicyMaxWindowSize, 0) value(PciBusID, pciBusID, 0)   \
  value(PciDeviceID, pciDeviceID, 0) value(PciDomainID, pciDomainID, 0)                         \
  value(KernelExecTimeoutEnabled, kernelExecTimeoutEnabled, 0) value(TccDriver, tccDriver, 0)   \
  value(IsMultiGpuBoard, isMultiGpuBoard, 0)
#define LAB_BYTES(value)                                                           \
  value(TotalGlobalMem, totalGlobalMem, 150000000000)                              \
  value(SharedMemPerBlock, sharedMemPerBlock, 49152)                               \
  value(SharedMemPerMultiprocessor, sharedMemPerMultiprocessor, 233472)            \
  value(SharedMemPerBlockOptin, sharedMemPerBlockOptin, 232448)                    \
  value(TotalConstMem, totalConstMem, 65536) value(MemPitch, memPitch, 2147483647) \
  value(TextureAlignment, textureAlignment, 512)                                   \
  value(ReservedSharedMemPerBlock, reservedSharedMemPerBlock, 1024)
// Attributes that have another name than the property.
#define LAB_SAME(value)                                                           \
  value(ComputeCapabilityMajor, major, 9) value(ComputeCapabilityMinor, minor, 0) \
  value(MaxSharedMemoryPerBlock, sharedMemPerBlock, 49152)                        \
  value(GlobalMemoryBusWidth, memoryBusWidth, 6144)                               \
  value(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin, 232448)             \
  value(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor, 233472)     \
  value(MaxRegistersPerBlock, regsPerBlock, 65536) value(MaxBlockDimX, maxThreadsPerBlock, 1024)

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
constexpr int warpSize = 32;
#define LAB_NUMBER(name, number, text) cuda##name = number,
enum cudaError { LAB_ERRORS(LAB_NUMBER) };
typedef cudaError cudaError_t;
#define LAB_TEXT(name, number, text) case number: return text;
static inline const char* cudaGetErrorString(cudaError_t e) {
  switch ((int)e) { LAB_ERRORS(LAB_TEXT) }
  return "unrecognized error code";
}
#define LAB_NAME(name, number, text) case number: return "cuda" #name;
static inline const char* cudaGetErrorName(cudaError_t e) {
  switch ((int)e) { LAB_ERRORS(LAB_NAME) }
  return "unrecognized error code";
}
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUpool_st* cudaMemPool_t;
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
enum {
  cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2, cudaEventRecordDefault = 0, cudaEventWaitDefault = 0,
  cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
  cudaHostAllocWriteCombined = 4, cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
  cudaHostRegisterMapped = 2, cudaMemAttachGlobal = 1, cudaMemAttachHost = 2,
  cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceMapHost = 8, cudaCpuDeviceId = -1,
  cudaDeviceScheduleBlockingSync = 4, cudaOccupancyDefault = 0
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13
};
enum cudaFuncCache {
  cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxShared = 100,
  cudaSharedmemCarveoutMaxL1 = 0
};
enum cudaLimit {
  cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitPersistingL2CacheSize
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
#define LAB_ATTRIBUTE(name, field, value) cudaDevAttr##name,
enum cudaDeviceAttr {
  LAB_COUNTS(LAB_ATTRIBUTE) LAB_BYTES(LAB_ATTRIBUTE) LAB_SAME(LAB_ATTRIBUTE)
};
#define LAB_COUNT(name, field, value) int field;
#define LAB_BYTE_COUNT(name, field, value) lab_size_t field;
struct cudaUUID_t { char bytes[16]; };
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  LAB_COUNTS(LAB_COUNT)
  LAB_BYTES(LAB_BYTE_COUNT)
  int maxThreadsDim[3], maxGridSize[3];
};
struct cudaFuncAttributes {
  lab_size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};
typedef void (*cudaHostFn_t)(void*);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
struct alignas(8) curandStateXORWOW { unsigned words[12]; };
struct alignas(8) curandStateMRG32k3a { unsigned words[12]; };
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStateXORWOW curandState, curandState_t, curandStateXORWOW_t;
struct alignas(16) curandStatePhilox4_32_10 { unsigned words[16]; };
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct CUtensorMap;
namespace cooperative_groups {
struct thread_block {};
struct grid_group {};
struct coalesced_group {};
template <unsigned, class = void> struct thread_block_tile {};
}
namespace nvcuda { namespace wmma {} namespace experimental {} }
namespace cuda {
namespace std { using namespace ::std; }
template <class> struct pipeline_shared_state;
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
template <class T, thread_scope = thread_scope_system> struct atomic_ref { T& held; };
template <class T, thread_scope = thread_scope_system> struct atomic {
  T held;
  atomic() = default;
  __host__ __device__ constexpr atomic(T a) : held(a) {}
  T load(memory_order = memory_order_seq_cst) const { return *(volatile const T*)&held; }
  void store(T a, memory_order = memory_order_seq_cst) { *(volatile T*)&held = a; }
};
}

// Functions of runtime.ts.
extern "C" {
cudaError_t cudaFree(void*, LAB_LINE);
cudaError_t cudaFreeHost(void*, LAB_LINE);
cudaError_t cudaFreeAsync(void*, cudaStream_t, LAB_LINE);
cudaError_t cudaHostRegister(void*, lab_size_t, unsigned, LAB_LINE);
cudaError_t cudaHostUnregister(void*, LAB_LINE);
cudaError_t cudaMemcpy(void*, const void*, lab_size_t, cudaMemcpyKind, LAB_LINE);
cudaError_t cudaMemcpyAsync(void*, const void*, lab_size_t, cudaMemcpyKind, cudaStream_t = 0, LAB_LINE);
cudaError_t cudaMemcpy2DAsync(void*, lab_size_t, const void*, lab_size_t, lab_size_t, lab_size_t, cudaMemcpyKind, cudaStream_t = 0, LAB_LINE);
cudaError_t cudaMemcpy2D(void*, lab_size_t, const void*, lab_size_t, lab_size_t, lab_size_t, cudaMemcpyKind, LAB_LINE);
cudaError_t cudaMemset(void*, int, lab_size_t, LAB_LINE);
cudaError_t cudaMemsetAsync(void*, int, lab_size_t, cudaStream_t = 0, LAB_LINE);
cudaError_t cudaMemset2D(void*, lab_size_t, int, lab_size_t, lab_size_t, LAB_LINE);
cudaError_t cudaMemset2DAsync(void*, lab_size_t, int, lab_size_t, lab_size_t, cudaStream_t = 0, LAB_LINE);
cudaError_t cudaStreamCreate(cudaStream_t*, LAB_LINE);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned, LAB_LINE);
cudaError_t cudaStreamDestroy(cudaStream_t, LAB_LINE);
cudaError_t cudaStreamSynchronize(cudaStream_t, LAB_LINE);
cudaError_t cudaStreamQuery(cudaStream_t, LAB_LINE);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0, LAB_LINE);
cudaError_t cudaEventCreate(cudaEvent_t*, LAB_LINE);
cudaError_t cudaEventDestroy(cudaEvent_t, LAB_LINE);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0, LAB_LINE);
cudaError_t cudaEventSynchronize(cudaEvent_t, LAB_LINE);
cudaError_t cudaEventQuery(cudaEvent_t, LAB_LINE);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t, LAB_LINE);
cudaError_t cudaDeviceSynchronize(LAB_LINE);
cudaError_t cudaGetLastError(LAB_LINE);
cudaError_t cudaPeekAtLastError(LAB_LINE);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*, LAB_LINE);
int __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = 0, LAB_LINE);
int __cudaPopCallConfiguration(dim3*, dim3*, unsigned long*, void*);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, unsigned long, cudaStream_t);
cudaError_t lab_allocate_device(void**, lab_size_t, int kind, int line);
cudaError_t lab_raise_shared(const void*, int attribute, int bytes, int line);
int lab_static_shared(const void*);
int lab_most_threads(const void*);
void lab_launch_at(int line);
void* lab_symbol(const void*);
lab_size_t lab_symbol_bytes(const void*);
// What the elements of a copy are on both sides, where those are numbers with a fraction.
void lab_copies(int to, int from);
}
template <class T> struct lab_real { enum { code = 0 }; };
template <class T> struct lab_real<const T> : lab_real<T> {};
// Their codes are their places in the REALS of runtime.ts.
template <> struct lab_real<float> { enum { code = 1 }; };
template <> struct lab_real<double> { enum { code = 2 }; };
template <> struct lab_real<__half> { enum { code = 3 }; };
template <> struct lab_real<__nv_bfloat16> { enum { code = 4 }; };
template <class T, class U>
cudaError_t cudaMemcpy(T* to, const U* from, lab_size_t bytes, cudaMemcpyKind kind, LAB_LINE) {
  lab_copies(lab_real<T>::code, lab_real<U>::code);
  return cudaMemcpy((void*)to, (const void*)from, bytes, kind, line);
}
template <class T, class U>
cudaError_t cudaMemcpyAsync(T* to, const U* from, lab_size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = 0, LAB_LINE) {
  lab_copies(lab_real<T>::code, lab_real<U>::code);
  return cudaMemcpyAsync((void*)to, (const void*)from, bytes, kind, stream, line);
}
#define LAB_OK { return cudaSuccess; }
#define LAB_ALLOCATES(name, kind, ...)                                  \
  template <class T>                                                    \
  cudaError_t name(T** to, lab_size_t bytes, ##__VA_ARGS__, LAB_LINE) { \
    return lab_allocate_device((void**)to, bytes, kind, line);          \
  }
LAB_ALLOCATES(cudaMalloc, 0)
LAB_ALLOCATES(cudaMallocManaged, 1, unsigned flags = 1)
LAB_ALLOCATES(cudaMallocHost, 2, unsigned flags = 0)
LAB_ALLOCATES(cudaHostAlloc, 2, unsigned flags = 0)
template <class T> cudaError_t cudaMallocAsync(T** to, lab_size_t bytes, cudaStream_t, LAB_LINE) {
  return lab_allocate_device((void**)to, bytes, 0, line);
}
template <class T, class S>
cudaError_t cudaMallocPitch(T** to, S* pitch, lab_size_t width, lab_size_t height, LAB_LINE) {
  *pitch = (width + 511) / 512 * 512;
  return lab_allocate_device((void**)to, *pitch * height, 0, line);
}
struct cudaExtent { lab_size_t width, height, depth; };
struct cudaPos { lab_size_t x, y, z; };
struct cudaPitchedPtr { void* ptr; lab_size_t pitch, xsize, ysize; };
struct cudaMemcpy3DParms {
  void* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  void* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
inline cudaExtent make_cudaExtent(lab_size_t width, lab_size_t height, lab_size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(lab_size_t x, lab_size_t y, lab_size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* at, lab_size_t pitch, lab_size_t x, lab_size_t y) { return {at, pitch, x, y}; }
inline cudaError_t cudaMalloc3D(cudaPitchedPtr* to, cudaExtent all, LAB_LINE) {
  to->xsize = all.width;
  to->ysize = all.height;
  return cudaMallocPitch(&to->ptr, &to->pitch, all.width, all.height * all.depth, line);
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent all, LAB_LINE) {
  for (lab_size_t z = 0; z < all.depth; z++) {
    cudaError_t found = cudaMemset2D((char*)to.ptr + z * to.ysize * to.pitch, to.pitch, value, all.width, all.height, line);
    if (found != cudaSuccess) return found;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* asked, LAB_LINE) {
  const auto& [_, from, source, _to, at, target, all, kind] = *asked;
  for (lab_size_t z = 0; z < all.depth; z++) {
    char* to = (char*)target.ptr + ((at.z + z) * target.ysize + at.y) * target.pitch + at.x;
    const char* start = (const char*)source.ptr + ((from.z + z) * source.ysize + from.y) * source.pitch + from.x;
    cudaError_t found = cudaMemcpy2D(to, target.pitch, start, source.pitch, all.width, all.height, kind, line);
    if (found != cudaSuccess) return found;
  }
  return cudaSuccess;
}
template <class T> cudaError_t cudaHostGetDevicePointer(T** to, void* from, unsigned) {
  *to = (T*)from;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, lab_size_t bytes, lab_size_t at = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, LAB_LINE) {
  return cudaMemcpy((char*)lab_symbol(&symbol) + at, from, bytes, kind, line);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, lab_size_t bytes, lab_size_t at,
                                    cudaMemcpyKind kind, cudaStream_t stream = 0, LAB_LINE) {
  return cudaMemcpyAsync((char*)lab_symbol(&symbol) + at, from, bytes, kind, stream, line);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, lab_size_t bytes, lab_size_t at = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, LAB_LINE) {
  return cudaMemcpy(to, (char*)lab_symbol(&symbol) + at, bytes, kind, line);
}
template <class T, class P> cudaError_t cudaGetSymbolAddress(P** to, const T& symbol) {
  *to = (P*)lab_symbol(&symbol);
  return cudaSuccess;
}
template <class T, class S> cudaError_t cudaGetSymbolSize(S* to, const T& symbol) {
  *to = lab_symbol_bytes(&symbol);
  return cudaSuccess;
}
template <class F> cudaError_t cudaFuncSetAttribute(F* function, cudaFuncAttribute name, int value, LAB_LINE) {
  return lab_raise_shared((const void*)function, name, value, line);
}
template <class F> cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) LAB_OK
template <class F> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, F* function) {
  const void* own = (const void*)function;
  *to = {(lab_size_t)lab_static_shared(own), 0, 0, lab_most_threads(own), 32, 90, 90, 232448};
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* to, F* function, int threads, lab_size_t shared) {
  int of_shared = 233472 / (1024 + (int)shared + lab_static_shared((const void*)function));
  int of_threads = 2048 / ((threads + 31) / 32 * 32);
  *to = of_threads < of_shared ? of_threads : of_shared;
  if (*to > 32) *to = 32;
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* to, F* f, int threads, lab_size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, f, threads, shared);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F* function, lab_size_t = 0, int most = 0) {
  *block = lab_most_threads((const void*)function);
  if (most && most < *block) *block = most;
  *grid = 132 * (2048 / *block);
  return cudaSuccess;
}
static inline cudaError_t lab_launch(const void* f, dim3 grid, dim3 block, void** args, lab_size_t shared = 0,
                                     cudaStream_t stream = 0, LAB_LINE) {
  lab_launch_at(line);
  return cudaLaunchKernel(f, grid, block, args, shared, stream);
}
template <class F>
cudaError_t lab_launch(F* f, dim3 grid, dim3 block, void** args, lab_size_t shared = 0,
                       cudaStream_t stream = 0, LAB_LINE) {
  return lab_launch((const void*)f, grid, block, args, shared, stream, line);
}
// Its line is below 0.
template <class F>
cudaError_t lab_cooperative(F* f, dim3 grid, dim3 block, void** args, lab_size_t shared = 0,
                            cudaStream_t stream = 0, LAB_LINE) {
  return lab_launch((const void*)f, grid, block, args, shared, stream, -line);
}
#define cudaLaunchKernel lab_launch
#define cudaLaunchCooperativeKernel lab_cooperative
struct cudaLaunchAttribute { int id; union { int cooperative; unsigned clusterDim[3]; struct { int x; } priority; } val; };
enum { cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4 };
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  lab_size_t dynamicSmemBytes = 0;
  cudaStream_t stream = 0;
  cudaLaunchAttribute* attrs = 0;
  unsigned numAttrs = 0;
};
static inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* f, void** args, LAB_LINE) {
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == cudaLaunchAttributeCooperative && c->attrs[i].val.cooperative && line > 0) line = -line;
  return lab_launch(f, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, line);
}
struct lab_launch_ex {
  int line;
  template <class... P, class... A>
  cudaError_t operator()(const cudaLaunchConfig_t* c, void (*f)(P...), A... a) const {
    return [=](P... given) {
      void* args[] = {(void*)&given...};
      return cudaLaunchKernelExC(c, (const void*)f, args, line);
    }(a...);
  }
};
#define cudaLaunchKernelEx lab_launch_ex{__LINE__}
#undef LAB_IN
#define LAB_IN static inline
LAB_IN cudaError_t cudaThreadSynchronize(LAB_LINE) { return cudaDeviceSynchronize(line); }
LAB_IN cudaError_t cudaStreamCreateWithPriority(cudaStream_t* to, unsigned flags, int) {
  return cudaStreamCreateWithFlags(to, flags);
}
LAB_IN cudaError_t cudaEventCreateWithFlags(cudaEvent_t* to, unsigned) { return cudaEventCreate(to); }
LAB_IN cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned) {
  return cudaEventRecord(e, s);
}
LAB_IN cudaError_t cudaSetDevice(int number) { return number ? cudaErrorInvalidDevice : cudaSuccess; }
LAB_IN cudaError_t cudaGetDevice(int* to) { *to = 0; return cudaSuccess; }
LAB_IN cudaError_t cudaGetDeviceCount(int* to) { *to = 1; return cudaSuccess; }
LAB_IN cudaError_t cudaDeviceReset(LAB_LINE) { return cudaDeviceSynchronize(line); }
LAB_IN cudaError_t cudaSetDeviceFlags(unsigned) LAB_OK
LAB_IN cudaError_t cudaDeviceSetLimit(cudaLimit, lab_size_t) LAB_OK
LAB_IN cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) LAB_OK
LAB_IN cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) LAB_OK
LAB_IN cudaError_t cudaProfilerStart() LAB_OK
LAB_IN cudaError_t cudaProfilerStop() LAB_OK
LAB_IN cudaError_t cudaMemPrefetchAsync(const void*, lab_size_t, int, cudaStream_t = 0) LAB_OK
LAB_IN cudaError_t cudaMemAdvise(const void*, lab_size_t, cudaMemoryAdvise, int) LAB_OK
LAB_IN cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, lab_size_t = 0, unsigned = 0) LAB_OK
LAB_IN cudaError_t cudaRuntimeGetVersion(int* to) { *to = CUDART_VERSION; return cudaSuccess; }
LAB_IN cudaError_t cudaDriverGetVersion(int* to) { *to = CUDART_VERSION; return cudaSuccess; }
LAB_IN cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) {
  *least = 0, *most = -5;
  return cudaSuccess;
}
template <class S> cudaError_t cudaMemGetInfo(S* free, S* total) {
  *free = *total = (S)150000000000;
  return cudaSuccess;
}
#define LAB_VALUE(name, field, value) value,
#define LAB_BYTES_VALUE(name, field, value) value##ull,
LAB_IN cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int) {
  *to = {"NVIDIA H200", {}, LAB_COUNTS(LAB_VALUE) LAB_BYTES(LAB_BYTES_VALUE)
         {1024, 1024, 64}, {2147483647, 65535, 65535}};
  return cudaSuccess;
}
LAB_IN cudaError_t cudaDeviceGetAttribute(int* to, cudaDeviceAttr which, int) {
  const long long all[] = {LAB_COUNTS(LAB_VALUE) LAB_BYTES(LAB_VALUE) LAB_SAME(LAB_VALUE)};
  *to = all[which];
  return cudaSuccess;
}
#define checkCudaErrors(call) lab_check((int)(call), #call, __FILE__, __LINE__)
#define getLastCudaError(text) lab_check((int)cudaGetLastError(), text, __FILE__, __LINE__)
LAB_IN void lab_check(int error, const char* call, const char* file, int line) {
  if (!error) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line, error, call);
  exit(EXIT_FAILURE);
}
LAB_IN int findCudaDevice(int, const char**) { return 0; }
LAB_IN int gpuGetMaxGflopsDeviceId() { return 0; }

// Calls a function of the host with values that are made up: made_values.ts has the numbers and the
// arrays; all else is as its type makes it.
extern "C" void lab_calls();
extern "C" double lab_number(int function, int place);
extern "C" void* lab_array(int function, int place);
template <class T> struct LabPlain { typedef T type; };
template <class T> struct LabPlain<const T> : LabPlain<T> {};
template <class T> struct LabPlain<T&> : LabPlain<T> {};
template <class T> struct LabPlain<T&&> : LabPlain<T> {};
template <class T, lab_size_t = sizeof(T)> constexpr bool lab_is_whole(T*) { return true; }
template <class T> constexpr bool lab_is_whole(T**) { return false; }
constexpr bool lab_is_whole(void*) { return true; }
constexpr bool lab_is_whole(const void*) { return true; }
constexpr bool lab_is_whole(...) { return false; }
template <class T> struct LabMade {
  static T made(int function, int place) {
    if constexpr (__is_arithmetic(T)) return (T)lab_number(function, place);
    else if constexpr (__is_constructible(T)) return T();
    else return *(T*)calloc(1, sizeof(T));
  }
};
template <class T> struct LabMade<T*> {
  static T* made(int function, int place) {
    return lab_is_whole((T*)0) ? (T*)lab_array(function, place) : 0;
  }
};
template <class...> struct LabValues {
  template <class F, class... V> static void call(F f, int, int, V&&... v) { f((V&&)v...); }
};
template <class T, class... R> struct LabValues<T, R...> {
  template <class F, class... V> static void call(F f, int function, int place, V&&... v) {
    typename LabPlain<T>::type value = LabMade<typename LabPlain<T>::type>::made(function, place);
    LabValues<R...>::call(f, function, place + 1, (V&&)v..., (T&&)value);
  }
};
template <class R, class... P> void lab_call(R (*f)(P...), int function) {
  LabValues<P...>::call(f, function, 0);
}
