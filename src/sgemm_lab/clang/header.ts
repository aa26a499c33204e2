// What CUDA sources find defined before their first line, in place of NVIDIA's headers.
//
// It is included ahead of the source, so that no line of the reader moves. Functions have no debug
// information: what they do counts for the line that calls them. A vector such as float4 is one of
// clang's, because only those are loaded and stored whole; arithmetic on whole vectors, which CUDA
// does not have, is refused when the kernel is translated.

function forEach(names: string[], write: (name: string) => string): string {
  return names.map(write).join("\n");
}

const WORDS = `
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
`;

const VECTORS = forEach(
  ["char", "uchar", "short", "ushort", "int", "uint", "float"],
  (name) => `
typedef ${name.replace(/^u/, "unsigned ")} ${name}2 __attribute__((ext_vector_type(2)));
typedef ${name.replace(/^u/, "unsigned ")} ${name}4 __attribute__((ext_vector_type(4)));
struct ${name}3 { ${name.replace(/^u/, "unsigned ")} x, y, z; };
#define T ${name.replace(/^u/, "unsigned ")}
__lab ${name}2 make_${name}2(T x, T y) { ${name}2 v = {x, y}; return v; }
__lab ${name}3 make_${name}3(T x, T y, T z) { return {x, y, z}; }
__lab ${name}4 make_${name}4(T x, T y, T z, T w) { ${name}4 v = {x, y, z, w}; return v; }
#undef T`,
);

const PLACES = `
struct dim3 {
  unsigned x, y, z;
  __attribute__((device)) constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
${forEach(["tid threadIdx", "ctaid blockIdx", "ntid blockDim", "nctaid gridDim"], (pair) => {
  const [register, name] = pair.split(" ");
  const axes = forEach(
    ["x", "y", "z"],
    (axis) => `
  __lab unsigned __${axis}() { return __nvvm_read_ptx_sreg_${register}_${axis}(); }
  __declspec(property(get = __${axis})) unsigned ${axis};`,
  );
  const whole = (type: string) =>
    `__attribute__((device, always_inline, nodebug)) operator ${type}() const` +
    " { return {__x(), __y(), __z()}; }";
  return `struct __lab_${register} {${axes}
  ${whole("uint3")}
  ${whole("dim3")}
};
extern const __attribute__((device, weak)) __lab_${register} ${name};`;
})}
`;

const MEETING = `
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
#define __lab_vote(name, mode)                                                           \\
  __lab int name(unsigned mask, int holds) {                                             \\
    int result;                                                                          \\
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync." mode              \\
                 ".pred q, p, %2; selp.s32 %0, 1, 0, q; }"                               \\
                 : "=r"(result) : "r"(holds), "r"(mask) : "memory");                     \\
    return result;                                                                       \\
  }
__lab_vote(__any_sync, "any")
__lab_vote(__all_sync, "all")
__lab unsigned __ballot_sync(unsigned mask, int holds) {
  unsigned result;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(result) : "r"(holds), "r"(mask) : "memory");
  return result;
}
${forEach(
  [
    "_sync idx int 31",
    "_up_sync up unsigned 0",
    "_down_sync down unsigned 31",
    "_xor_sync bfly int 31",
  ],
  (line) => {
    const [name, mode, type, clamp] = line.split(" ");
    return forEach(
      ["int r", "unsigned r", "float f"],
      (pair) => `
__lab ${pair.split(" ")[0]} __shfl${name}(unsigned mask, ${pair.split(" ")[0]} value, ${type} lane,
                                          int width = 32) {
  ${pair.split(" ")[0]} result;
  asm volatile("shfl.sync.${mode}.b32 %0, %1, %2, %3, %4;"
               : "=${pair.split(" ")[1]}"(result)
               : "${pair.split(" ")[1]}"(value), "r"(lane), "r"((32 - width) << 8 | ${clamp}), "r"(mask));
  return result;
}`,
    );
  },
)}
`;

const MATHEMATICS = `
${forEach(
  ["int", "unsigned", "long", "unsigned long", "long long", "unsigned long long"],
  (type) => `
__lab ${type} min(${type} a, ${type} b) { return a < b ? a : b; }
__lab ${type} max(${type} a, ${type} b) { return a < b ? b : a; }`,
)}
__lab float min(float a, float b) { return __builtin_fminf(a, b); }
__lab float max(float a, float b) { return __builtin_fmaxf(a, b); }
__lab unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
__lab unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
__lab unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
__lab unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
__lab int abs(int a) { return a < 0 ? -a : a; }
${forEach(
  ["fma 3", "fmin 2", "fmax 2", "fabs 1", "sqrt 1", "floor 1", "ceil 1", "trunc 1", "rint 1"],
  (pair) => {
    const [name, count] = pair.split(" ");
    const names = ["a", "b", "c"].slice(0, Number(count));
    const taken = names.map((each) => `float ${each}`).join(", ");
    return `__lab float ${name}f(${taken}) { return __builtin_${name}f(${names.join(", ")}); }`;
  },
)}
${forEach(["__exp2f ex2", "__log2f lg2", "rsqrtf rsqrt", "__sinf sin", "__cosf cos"], (pair) => {
  const [name, word] = pair.split(" ");
  return `
__lab float ${name}(float a) {
  float b;
  asm("${word}.approx.f32 %0, %1;" : "=f"(b) : "f"(a));
  return b;
}`;
})}
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
`;

/** Loads past a cache, and stores that leave it early: name, PTX's word. */
const CACHED = `
${forEach(["__ldg nc", "__ldca ca", "__ldcg cg", "__ldcs cs", "__ldlu lu", "__ldcv cv"], (pair) => {
  const [name, word] = pair.split(" ");
  // What does not change may be read once for several uses; the others are read as written.
  const kept = word === "nc" ? "asm" : "asm volatile";
  const end = word === "nc" ? "" : ' : "memory"';
  return `
__lab float ${name}(const float* p) {
  float v;
  ${kept}("ld.global.${word}.f32 %0, [%1];" : "=f"(v) : "l"(p)${end});
  return v;
}
__lab int ${name}(const int* p) {
  int v;
  ${kept}("ld.global.${word}.u32 %0, [%1];" : "=r"(v) : "l"(p)${end});
  return v;
}
__lab float2 ${name}(const float2* p) {
  float x, y;
  ${kept}("ld.global.${word}.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "l"(p)${end});
  return make_float2(x, y);
}
__lab float4 ${name}(const float4* p) {
  float x, y, z, w;
  ${kept}("ld.global.${word}.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(p)${end});
  return make_float4(x, y, z, w);
}`;
})}
${forEach(["__stcg cg", "__stcs cs", "__stwb wb", "__stwt wt"], (pair) => {
  const [name, word] = pair.split(" ");
  return `
__lab void ${name}(float* p, float v) {
  asm volatile("st.global.${word}.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}
__lab void ${name}(float4* p, float4 v) {
  asm volatile("st.global.${word}.v4.f32 [%0], {%1, %2, %3, %4};"
      ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}`;
})}
`;

const ATOMICS = forEach(
  ["Add add", "Exch exchange", "Min min", "Max max", "And and", "Or or", "Xor xor", "Sub sub"],
  (pair) => {
    const [name, word] = pair.split(" ");
    const call = word === "exchange" ? "__atomic_exchange_n" : `__atomic_fetch_${word}`;
    return forEach(
      ["int", "unsigned", "unsigned long long"],
      (type) =>
        `__lab ${type} atomic${name}(${type}* p, ${type} v) { return ${call}(p, v, __ATOMIC_RELAXED); }`,
    );
  },
);
const FLOAT_ATOMICS = `
__lab float atomicAdd(float* p, float v) { return __nvvm_atom_add_gen_f(p, v); }
__lab float atomicExch(float* p, float v) {
  return __builtin_bit_cast(float, __nvvm_atom_xchg_gen_i((int*)p, __builtin_bit_cast(int, v)));
}
`;

/** The whole text, as clang includes it ahead of a source. */
export function cudaHeader(): string {
  const parts = [WORDS, VECTORS, PLACES, MEETING, MATHEMATICS, CACHED, ATOMICS, FLOAT_ATOMICS];
  return `${parts.join("\n")}\n`;
}
