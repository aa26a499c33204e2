// What CUDA sources find defined before their first line, in place of NVIDIA's headers.
//
// It is included ahead of the source, so that no line of the reader moves. Functions have no debug
// information: what they do counts for the line that calls them. A vector such as float4 is one of
// clang's, because only those are loaded and stored whole; arithmetic on whole vectors, which CUDA
// does not have, is refused when the kernel is translated.

#pragma clang system_header
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)
#define __grid_constant__
#define __lab static __attribute__((device, always_inline, nodebug)) inline
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned char uchar, uint8_t;
typedef signed char int8_t;
typedef unsigned short ushort, uint16_t;
typedef short int16_t;
typedef unsigned uint, uint32_t;
typedef int int32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
enum { warpSize = 32 };

#define __lab_vectors(T, name)                                                           \
  typedef T name##2 __attribute__((ext_vector_type(2)));                                 \
  typedef T name##4 __attribute__((ext_vector_type(4)));                                 \
  struct name##3 { T x, y, z; };                                                         \
  __lab name##2 make_##name##2(T x, T y) { name##2 v = {x, y}; return v; }               \
  __lab name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                      \
  __lab name##4 make_##name##4(T x, T y, T z, T w) { name##4 v = {x, y, z, w}; return v; }
__lab_vectors(char, char)
__lab_vectors(unsigned char, uchar)
__lab_vectors(short, short)
__lab_vectors(unsigned short, ushort)
__lab_vectors(int, int)
__lab_vectors(unsigned int, uint)
__lab_vectors(float, float)

struct dim3 {
  unsigned x, y, z;
  __attribute__((device)) constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
#define __lab_axis(register, axis)                                                       \
  __lab unsigned __##axis() { return __nvvm_read_ptx_sreg_##register##_##axis(); }       \
  __declspec(property(get = __##axis)) unsigned axis;
#define __lab_whole(type)                                                                \
  __attribute__((device, always_inline, nodebug)) operator type() const {                \
    return {__x(), __y(), __z()};                                                        \
  }
#define __lab_place(register, name)                                                      \
  struct __lab_##register {                                                              \
    __lab_axis(register, x) __lab_axis(register, y) __lab_axis(register, z)              \
    __lab_whole(uint3) __lab_whole(dim3)                                                 \
  };                                                                                     \
  extern const __attribute__((device, weak)) __lab_##register name;
__lab_place(tid, threadIdx)
__lab_place(ctaid, blockIdx)
__lab_place(ntid, blockDim)
__lab_place(nctaid, gridDim)

__lab void __lab_syncthreads() { asm volatile("bar.sync 0;" ::: "memory"); }
#define __syncthreads __lab_syncthreads
__lab void __syncwarp(unsigned mask = 0xffffffff) {
  asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
__lab void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
__lab void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
__lab void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
__lab size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(const __attribute__((address_space(3))) void*)p;
}
__lab size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
__lab unsigned __activemask() {
  unsigned mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
#define __lab_vote(name, mode)                                                           \
  __lab int name(unsigned mask, int holds) {                                             \
    int result;                                                                          \
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync." mode              \
                 ".pred q, p, %2; selp.s32 %0, 1, 0, q; }"                               \
                 : "=r"(result) : "r"(holds), "r"(mask) : "memory");                     \
    return result;                                                                       \
  }
__lab_vote(__any_sync, "any")
__lab_vote(__all_sync, "all")
__lab unsigned __ballot_sync(unsigned mask, int holds) {
  unsigned result;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(result) : "r"(holds), "r"(mask) : "memory");
  return result;
}
#define __lab_shuffle(name, mode, T, as, L, last)                                        \
  __lab T name(unsigned mask, T value, L lane, int width = 32) {                         \
    T result;                                                                            \
    asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                            \
                 : "=" as(result)                                                        \
                 : as(value), "r"(lane), "r"((32 - width) << 8 | last), "r"(mask));      \
    return result;                                                                       \
  }
#define __lab_shuffles(name, mode, L, last)                                              \
  __lab_shuffle(name, mode, int, "r", L, last)                                           \
  __lab_shuffle(name, mode, unsigned, "r", L, last)                                      \
  __lab_shuffle(name, mode, float, "f", L, last)
__lab_shuffles(__shfl_sync, "idx", int, 31)
__lab_shuffles(__shfl_up_sync, "up", unsigned, 0)
__lab_shuffles(__shfl_down_sync, "down", unsigned, 31)
__lab_shuffles(__shfl_xor_sync, "bfly", int, 31)

#define __lab_least(T)                                                                   \
  __lab T min(T a, T b) { return a < b ? a : b; }                                        \
  __lab T max(T a, T b) { return a < b ? b : a; }
__lab_least(int)
__lab_least(unsigned)
__lab_least(long)
__lab_least(unsigned long)
__lab_least(long long)
__lab_least(unsigned long long)
__lab float min(float a, float b) { return __builtin_fminf(a, b); }
__lab float max(float a, float b) { return __builtin_fmaxf(a, b); }
__lab unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
__lab unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
__lab unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
__lab unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
__lab int abs(int a) { return a < 0 ? -a : a; }
#define __lab_unary(name) __lab float name##f(float a) { return __builtin_##name##f(a); }
#define __lab_binary(name)                                                               \
  __lab float name##f(float a, float b) { return __builtin_##name##f(a, b); }
__lab float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__lab_binary(fmin)
__lab_binary(fmax)
__lab_unary(fabs)
__lab_unary(sqrt)
__lab_unary(floor)
__lab_unary(ceil)
__lab_unary(trunc)
__lab_unary(rint)
#define __lab_approximate(name, word)                                                    \
  __lab float name(float a) {                                                            \
    float b;                                                                             \
    asm(word ".approx.f32 %0, %1;" : "=f"(b) : "f"(a));                                  \
    return b;                                                                            \
  }
__lab_approximate(__exp2f, "ex2")
__lab_approximate(__log2f, "lg2")
__lab_approximate(rsqrtf, "rsqrt")
__lab_approximate(__sinf, "sin")
__lab_approximate(__cosf, "cos")
// As with -use_fast_math: NVIDIA's own functions add a correction.
__lab float exp2f(float a) { return __exp2f(a); }
__lab float log2f(float a) { return __log2f(a); }
__lab float __expf(float a) { return __exp2f(a * 1.4426950408889634f); }
__lab float expf(float a) { return __expf(a); }
__lab float __logf(float a) { return __log2f(a) * 0.6931471805599453f; }
__lab float logf(float a) { return __logf(a); }
__lab float __powf(float a, float b) { return __exp2f(b * __log2f(a)); }
__lab float powf(float a, float b) { return __powf(a, b); }
__lab float sinf(float a) { return __sinf(a); }
__lab float cosf(float a) { return __cosf(a); }
__lab float tanhf(float a) { return 1.0f - 2.0f / (1.0f + __expf(2.0f * a)); }
__lab float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__lab float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
__lab float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
__lab float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
__lab float __fdividef(float a, float b) { return a / b; }
__lab int __popc(unsigned a) { return __builtin_popcount(a); }
__lab int __clz(int a) { return a ? __builtin_clz(a) : 32; }
__lab int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
__lab unsigned __float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
__lab float __int_as_float(int a) { return __builtin_bit_cast(float, a); }
__lab float __uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }

// Loads past a cache. What does not change may be read once for several uses; the others are read
// as written, by a volatile `read`.
#define __lab_loads(name, word, read, ...)                                               \
  __lab float name(const float* p) {                                                     \
    float v;                                                                             \
    read("ld.global." word ".f32 %0, [%1];" : "=f"(v) : "l"(p) __VA_ARGS__);             \
    return v;                                                                            \
  }                                                                                      \
  __lab int name(const int* p) {                                                         \
    int v;                                                                               \
    read("ld.global." word ".u32 %0, [%1];" : "=r"(v) : "l"(p) __VA_ARGS__);             \
    return v;                                                                            \
  }                                                                                      \
  __lab float2 name(const float2* p) {                                                   \
    float x, y;                                                                          \
    read("ld.global." word ".v2.f32 {%0, %1}, [%2];"                                     \
         : "=f"(x), "=f"(y) : "l"(p) __VA_ARGS__);                                       \
    return make_float2(x, y);                                                            \
  }                                                                                      \
  __lab float4 name(const float4* p) {                                                   \
    float x, y, z, w;                                                                    \
    read("ld.global." word ".v4.f32 {%0, %1, %2, %3}, [%4];"                             \
         : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(p) __VA_ARGS__);                     \
    return make_float4(x, y, z, w);                                                      \
  }
__lab_loads(__ldg, "nc", asm)
__lab_loads(__ldca, "ca", asm volatile, : "memory")
__lab_loads(__ldcg, "cg", asm volatile, : "memory")
__lab_loads(__ldcs, "cs", asm volatile, : "memory")
__lab_loads(__ldlu, "lu", asm volatile, : "memory")
__lab_loads(__ldcv, "cv", asm volatile, : "memory")

// Stores that leave a cache early.
#define __lab_stores(name, word)                                                         \
  __lab void name(float* p, float v) {                                                   \
    asm volatile("st.global." word ".f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");        \
  }                                                                                      \
  __lab void name(float4* p, float4 v) {                                                 \
    asm volatile("st.global." word ".v4.f32 [%0], {%1, %2, %3, %4};"                     \
                 ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");           \
  }
__lab_stores(__stcg, "cg")
__lab_stores(__stcs, "cs")
__lab_stores(__stwb, "wb")
__lab_stores(__stwt, "wt")

#define __lab_atomic(name, call, T)                                                      \
  __lab T name(T* p, T v) { return call(p, v, __ATOMIC_RELAXED); }
#define __lab_atomics(name, call)                                                        \
  __lab_atomic(name, call, int)                                                          \
  __lab_atomic(name, call, unsigned)                                                     \
  __lab_atomic(name, call, unsigned long long)
__lab_atomics(atomicAdd, __atomic_fetch_add)
__lab_atomics(atomicExch, __atomic_exchange_n)
__lab_atomics(atomicMin, __atomic_fetch_min)
__lab_atomics(atomicMax, __atomic_fetch_max)
__lab_atomics(atomicAnd, __atomic_fetch_and)
__lab_atomics(atomicOr, __atomic_fetch_or)
__lab_atomics(atomicXor, __atomic_fetch_xor)
__lab_atomics(atomicSub, __atomic_fetch_sub)
__lab float atomicAdd(float* p, float v) { return __nvvm_atom_add_gen_f(p, v); }
__lab float atomicExch(float* p, float v) {
  return __builtin_bit_cast(float, __nvvm_atom_xchg_gen_i((int*)p, __builtin_bit_cast(int, v)));
}
