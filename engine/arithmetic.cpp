// Arithmetic of single lanes: integers, floats, predicates, conversions. This is the one place
// where such an instruction is defined: a line of `arithmetic_of`.

#include <cmath>
#include <limits>
#include <type_traits>

#include "launch.hpp"

#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

#if defined(__clang__)
#define RARELY _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define RARELY
#endif

namespace engine {

namespace {

bool full(const u32* mask) { return (mask[0] & mask[1] & mask[2] & mask[3]) == ~0u; }

/// Writes the active lanes of a row.
template <class T>
void blend(T* out, const T* values, const u32* mask) {
  for (int warp = 0; warp < CHUNK_WARPS; ++warp, out += WARP, values += WARP) {
    u32 bits = mask[warp];
    if (bits == ~0u) {
      for (int lane = 0; lane < WARP; ++lane) out[lane] = values[lane];
    } else {
      for (; bits; bits &= bits - 1) out[std::countr_zero(bits)] = values[std::countr_zero(bits)];
    }
  }
}

/// Fills the first destination with a function of the lane.
template <class T, class F>
inline void fill(const Step& step, u32 chunk, const u32* mask, F&& value) {
  T values[CHUNK];
  for (int lane = 0; lane < CHUNK; ++lane) values[lane] = value(lane);
  blend(reinterpret_cast<T*>(step.out[0].at(chunk)), values, mask);
}

/// The same for instructions that kernels spend no time in: small code.
template <class T, class F>
inline void fill_rarely(const Step& step, u32 chunk, const u32* mask, F&& value) {
  T* out = reinterpret_cast<T*>(step.out[0].at(chunk));
  RARELY for (int lane = 0; lane < CHUNK; ++lane) {
    if (mask[lane / WARP] >> lane % WARP & 1) out[lane] = value(lane);
  }
}

/// Types of 8 and 16 bits, and float64.
template <class... T>
constexpr bool RARE = ((sizeof(T) < 4 || std::is_same_v<T, double>) || ...);

template <class T, bool Rare, class F>
inline void map(const Step& step, u32 chunk, const u32* mask, F&& value) {
  if constexpr (Rare) fill_rarely<T>(step, chunk, mask, value);
  else fill<T>(step, chunk, mask, value);
}

template <class T>
inline const T* in(const Step& step, int at, u32 chunk) {
  return reinterpret_cast<const T*>(step.in[at].at(chunk));
}

template <class A, class R, auto F>
void map1(const Step& step, u32 chunk, const u32* mask) {
  const A* a = in<A>(step, 0, chunk);
  map<R, RARE<A, R>>(step, chunk, mask, [=](int lane) { return R(F(a[lane])); });
}

template <class A, class B, class R, auto F>
void map2(const Step& step, u32 chunk, const u32* mask) {
  const A* a = in<A>(step, 0, chunk);
  const B* b = in<B>(step, 1, chunk);
  map<R, RARE<A, R>>(step, chunk, mask, [=](int lane) { return R(F(a[lane], b[lane])); });
}

template <class A, class C, class R, auto F>
void map3(const Step& step, u32 chunk, const u32* mask) {
  const A *a = in<A>(step, 0, chunk), *b = in<A>(step, 1, chunk);
  const C* c = in<C>(step, 2, chunk);
  map<R, RARE<A, R>>(step, chunk, mask, [=](int lane) { return R(F(a[lane], b[lane], c[lane])); });
}

// Sums of integers wrap around: they are computed as unsigned numbers of at least 32 bits.
template <class T>
using Wrap = std::conditional_t<(sizeof(T) > 4), u64, u32>;

// ---------------------------------------------------------------------------- multiply-add

/// a·b + c in float64, where an inexact sum takes the neighbour with an odd last bit: rounding that
/// to float32 is then right (Boldo and Melquiond, 2008).
double rounded_to_odd(double product, double c) {
  double total = product + c;
  double kept = total - product;
  double error = (product - (total - kept)) + (c - kept);
  if (!std::isfinite(error) || error == 0 || (std::bit_cast<u64>(total) & 1)) return total;
  return std::nextafter(total, error > 0 ? INFINITY : -INFINITY);
}

using Double2 = double __attribute__((vector_size(16)));
using Long2 = i64 __attribute__((vector_size(16)));

/// Whether float64 sums may round to float32 otherwise than exact ones: where they lie halfway
/// between two float32 numbers, or below the normal range.
inline Long2 suspects(Double2 total) {
  Long2 bits;
  std::memcpy(&bits, &total, 16);
  Long2 halfway = (bits & 0x1FFFFFFF) == Long2{0x10000000, 0x10000000};
  Long2 size = bits & 0x7FFFFFFFFFFFFFFF;
  Double2 magnitude;
  std::memcpy(&magnitude, &size, 16);
  Long2 small = (magnitude < Double2{0x1p-126, 0x1p-126}) & (size != Long2{0, 0});
  return halfway | small;
}

/// Rounds what `suspects` names once more, from products and addends.
void repair(Double2* totals, const Double2* products, const Double2* addends) {
  for (int half = 0; half < 2; ++half) {
    Long2 which = suspects(totals[half]);
    for (int i = 0; i < 2; ++i) {
      if (which[i]) totals[half][i] = rounded_to_odd(products[half][i], addends[half][i]);
    }
  }
}

#ifdef __wasm_simd128__
Double2 low_half(v128_t four) { return (Double2)wasm_f64x2_promote_low_f32x4(four); }
Double2 high_half(v128_t four) { return low_half(wasm_i32x4_shuffle(four, four, 2, 3, 2, 3)); }
v128_t to_floats(const Double2* totals) {
  return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero((v128_t)totals[0]), wasm_f32x4_demote_f64x2_zero((v128_t)totals[1]), 0, 2);
}
/// Whether one of four sums may be a suspect: halfway, or small; zeros are among them.
bool may_be_suspect(const Double2* totals, v128_t rounded) {
  v128_t low = wasm_i32x4_shuffle((v128_t)totals[0], (v128_t)totals[1], 0, 2, 4, 6);
  v128_t halfway = wasm_i32x4_eq(low & wasm_i32x4_const_splat(0x1FFFFFFF), wasm_i32x4_const_splat(0x10000000));
  v128_t small = wasm_i32x4_lt(rounded & wasm_i32x4_const_splat(0x7FFFFFFF), wasm_i32x4_const_splat(0x00800001));
  return wasm_v128_any_true(halfway | small);
}
#endif

/// fma.rn.f32: a·b + c, rounded once.
void fused(float* out, const float* a, const float* b, const float* c) {
  for (int lane = 0; lane < CHUNK; lane += 4) {
#ifdef __wasm_simd128__
    v128_t x = wasm_v128_load(a + lane), y = wasm_v128_load(b + lane), z = wasm_v128_load(c + lane);
    Double2 products[2] = {low_half(x) * low_half(y), high_half(x) * high_half(y)}, addends[2] = {low_half(z), high_half(z)};
    Double2 totals[2] = {products[0] + addends[0], products[1] + addends[1]};
    v128_t rounded = to_floats(totals);
    if (__builtin_expect(may_be_suspect(totals, rounded), 0)) {
      repair(totals, products, addends);
      rounded = to_floats(totals);
    }
    wasm_v128_store(out + lane, rounded);
#else
    Double2 products[2], addends[2], totals[2];
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 2; ++i) {
        int at = lane + 2 * half + i;
        products[half][i] = static_cast<double>(a[at]) * b[at];
        addends[half][i] = c[at];
      }
      totals[half] = products[half] + addends[half];
    }
    repair(totals, products, addends);
    for (int i = 0; i < 4; ++i) out[lane + i] = static_cast<float>(totals[i / 2][i % 2]);
#endif
  }
}

void fma32(const Step& step, u32 chunk, const u32* mask) {
  const float *a = in<float>(step, 0, chunk), *b = in<float>(step, 1, chunk), *c = in<float>(step, 2, chunk);
  float* out = reinterpret_cast<float*>(step.out[0].at(chunk));
  if (full(mask)) return fused(out, a, b, c);
  float values[CHUNK];
  fused(values, a, b, c);
  blend(out, values, mask);
}

// ------------------------------------------------------------------------------ predicates

/// A word for each warp from a byte for each lane, 0 or 1.
void pack(u32* words, const u8* flags) {
  for (int warp = 0; warp < CHUNK_WARPS; ++warp) {
    u32 word = 0;
    for (int part = 0; part < 4; ++part) {
      u64 eight;
      std::memcpy(&eight, flags + warp * WARP + 8 * part, 8);
      word |= static_cast<u32>(eight * 0x0102040810204080ull >> 56) << 8 * part;
    }
    words[warp] = word;
  }
}

void write(Row row, u32 chunk, const u32* mask, const u32* words) {
  u32* out = reinterpret_cast<u32*>(row.at(chunk));
  for (int warp = 0; warp < CHUNK_WARPS; ++warp) out[warp] = (out[warp] & ~mask[warp]) | (words[warp] & mask[warp]);
}

enum Combine : u32 { ALONE, AND, OR, XOR, HOW = 3, NEGATED = 4, INVERSE = 8 };

u32 combined(u32 how, u32 a, u32 b) { return how == AND ? a & b : how == OR ? a | b : how == XOR ? a ^ b : a; }

/// setp: compares, combines with a third predicate, and writes the result and its opposite.
template <class T, auto F>
void compare(const Step& step, u32 chunk, const u32* mask) {
  const T *a = in<T>(step, 0, chunk), *b = in<T>(step, 1, chunk);
  u8 flags[CHUNK];
  for (int lane = 0; lane < CHUNK; ++lane) flags[lane] = F(a[lane], b[lane]);
  u32 words[CHUNK_WARPS], opposite[CHUNK_WARPS];
  pack(words, flags);
  for (int warp = 0; warp < CHUNK_WARPS; ++warp) opposite[warp] = ~words[warp];
  if (u32 how = step.detail & HOW) {
    const u32* third = in<u32>(step, 2, chunk);
    for (int warp = 0; warp < CHUNK_WARPS; ++warp) {
      u32 other = step.detail & NEGATED ? ~third[warp] : third[warp];
      words[warp] = combined(how, words[warp], other);
      opposite[warp] = combined(how, opposite[warp], other);
    }
  }
  write(step.out[0], chunk, mask, words);
  if (step.detail & INVERSE) write(step.out[1], chunk, mask, opposite);
}

/// and, or, xor, not, mov of predicates; bits 3 and 4 of the detail negate the operands.
void combine(const Step& step, u32 chunk, const u32* mask) {
  const u32 *a = in<u32>(step, 0, chunk), *b = in<u32>(step, 1, chunk);
  u32 words[CHUNK_WARPS];
  for (int warp = 0; warp < CHUNK_WARPS; ++warp) {
    words[warp] = combined(step.detail & HOW, step.detail & 4 ? ~a[warp] : a[warp], step.detail & 8 ? ~b[warp] : b[warp]);
  }
  write(step.out[0], chunk, mask, words);
}

constexpr std::array<u32, WARP> BIT = [] {
  std::array<u32, WARP> bits{};
  for (int lane = 0; lane < WARP; ++lane) bits[lane] = 1u << lane;
  return bits;
}();

template <class T>
void select(const Step& step, u32 chunk, const u32* mask) {
  const T *a = in<T>(step, 0, chunk), *b = in<T>(step, 1, chunk);
  const u32* holds = in<u32>(step, 2, chunk);
  T values[CHUNK];
  for (int warp = 0; warp < CHUNK_WARPS; ++warp) {
    u32 word = step.detail ? ~holds[warp] : holds[warp];
    const T *one = a + warp * WARP, *other = b + warp * WARP;
    for (int lane = 0; lane < WARP; ++lane) values[warp * WARP + lane] = word & BIT[lane] ? one[lane] : other[lane];
  }
  blend(reinterpret_cast<T*>(step.out[0].at(chunk)), values, mask);
}

// ------------------------------------------------------------------------ moves and widths

/// The low bits of a wider register, in all lanes.
template <class From, class To>
void narrow(const Step& step, u32 chunk, const u32*) {
  const From* a = in<From>(step, 0, chunk);
  To* out = reinterpret_cast<To*>(step.out[0].at(chunk));
  for (int lane = 0; lane < CHUNK; ++lane) out[lane] = static_cast<To>(a[lane]);
}

/// The low bits of a wider register get a value; the others stay.
template <class From, class To>
void insert_low(const Step& step, u32 chunk, const u32* mask) {
  const From* a = in<From>(step, 0, chunk);
  const To* old = reinterpret_cast<const To*>(step.out[0].at(chunk));
  fill_rarely<To>(step, chunk, mask, [=](int lane) { return (old[lane] & ~To(From(~From(0)))) | a[lane]; });
}

/// mov.b64 %rd1, {%r1, %r2}: low bits first. Here parts of `Part`, of which `detail` is the number.
template <class Part, class Whole>
void gather_part(const Step& step, u32 chunk, const u32* mask) {
  const Part* a = in<Part>(step, 0, chunk);
  u8* out = step.out[0].at(chunk);
  for (int lane = 0; lane < CHUNK; ++lane) {
    if (mask[lane / WARP] >> lane % WARP & 1) std::memcpy(out + lane * sizeof(Whole) + step.detail * sizeof(Part), &a[lane], sizeof(Part));
  }
}

template <class Part, class Whole>
void scatter_part(const Step& step, u32 chunk, const u32* mask) {
  const u8* a = step.in[0].at(chunk);
  fill_rarely<Part>(step, chunk, mask, [=](int lane) {
    Part part;
    std::memcpy(&part, a + lane * sizeof(Whole) + step.detail * sizeof(Part), sizeof(Part));
    return part;
  });
}

// ------------------------------------------------------------------------------ bit fields

u32 permute(u32 a, u32 b, u32 selector) {
  u64 both = a | static_cast<u64>(b) << 32;
  u32 result = 0;
  for (int place = 0; place < 4; ++place) {
    u32 chosen = selector >> 4 * place & 15;
    u32 byte = both >> (chosen & 7) * 8 & 0xFF;
    if (chosen & 8) byte = byte & 0x80 ? 0xFF : 0;  // the byte's sign in all eight bits
    result |= byte << 8 * place;
  }
  return result;
}

void logic3(const Step& step, u32 chunk, const u32* mask) {
  const u32 *a = in<u32>(step, 0, chunk), *b = in<u32>(step, 1, chunk), *c = in<u32>(step, 2, chunk);
  u32 table = step.detail;
  fill_rarely<u32>(step, chunk, mask, [=](int lane) {
    u32 result = 0;
    for (int row = 0; row < 8; ++row) {
      if (table >> row & 1) result |= (row & 4 ? a[lane] : ~a[lane]) & (row & 2 ? b[lane] : ~b[lane]) & (row & 1 ? c[lane] : ~c[lane]);
    }
    return result;
  });
}

template <class T>
T extract(T a, u32 start, u32 length) {
  constexpr u32 width = 8 * sizeof(T);
  u32 first = std::min(start & 0xFF, width), count = std::min(length & 0xFF, width);
  if (count == 0) return 0;
  // Signed fields take their sign from their own top bit, or from a's where they pass it.
  u32 left = width - std::min(first + count, width), right = left + first;
  using U = std::make_unsigned_t<T>;
  T moved = left >= width ? T(0) : T(U(a) << left);
  return right >= width ? (moved < 0 ? T(-1) : T(0)) : T(moved >> right);
}

template <class T>
void insert_field(const Step& step, u32 chunk, const u32* mask) {
  const T *field = in<T>(step, 0, chunk), *base = in<T>(step, 1, chunk);
  const u32 *start = in<u32>(step, 2, chunk), *length = in<u32>(step, 3, chunk);
  constexpr u32 width = 8 * sizeof(T);
  fill_rarely<T>(step, chunk, mask, [=](int lane) {
    u32 first = std::min(start[lane] & 0xFF, width), count = std::min(length[lane] & 0xFF, width);
    T ones = count >= width ? ~T(0) : (T(1) << count) - 1;
    T place = first >= width ? T(0) : T(ones << first);
    T moved = first >= width ? T(0) : T(field[lane] << first);
    return (base[lane] & ~place) | (moved & place);
  });
}

template <class T>
void extract_field(const Step& step, u32 chunk, const u32* mask) {
  const T* a = in<T>(step, 0, chunk);
  const u32 *start = in<u32>(step, 1, chunk), *length = in<u32>(step, 2, chunk);
  fill_rarely<T>(step, chunk, mask, [=](int lane) { return extract<T>(a[lane], start[lane], length[lane]); });
}

// ----------------------------------------------------------------------------- conversions


template <class From, class To, int How>
To whole_of(From value) {
  double wide = value;
  wide = How == 0 ? std::rint(wide) : How == 1 ? std::trunc(wide) : How == 2 ? std::floor(wide) : std::ceil(wide);
  if (wide != wide) return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<To>::max());
  if (wide <= low) return std::numeric_limits<To>::min();
  if (wide >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(wide);
}

template <class From, int How>
From to_whole(From value) {
  return How == 0 ? std::rint(value) : How == 1 ? std::trunc(value) : How == 2 ? std::floor(value) : std::ceil(value);
}

// --------------------------------------------------------------------------------- binding

/// Calls `make` with a value of the C++ type that holds a PTX type.
template <class Make>
Elementwise with_type(Type type, Make&& make) {
  switch (type) {
    case Type::s8: return make(i8{});
    case Type::b8: case Type::u8: return make(u8{});
    case Type::s16: return make(i16{});
    case Type::b16: case Type::u16: return make(u16{});
    case Type::s32: return make(i32{});
    case Type::b32: case Type::u32: return make(u32{});
    case Type::s64: return make(i64{});
    case Type::b64: case Type::u64: return make(u64{});
    case Type::f32: return make(float{});
    case Type::f64: return make(double{});
    default: return nullptr;
  }
}

template <class Make>
Elementwise with_width(int width, Make&& make) {
  switch (width) {
    case 1: return make(u8{});
    case 2: return make(u16{});
    case 4: return make(u32{});
    case 8: return make(u64{});
    default: return nullptr;
  }
}

#define MAP1(F) map1<T, T, [](T a) { return (F); }>
#define MAP2(F) map2<T, T, T, []([[maybe_unused]] T a, [[maybe_unused]] T b) { return (F); }>
#define MAP3(F) map3<T, T, T, [](T a, T b, T c) { return (F); }>

template <class T>
Elementwise integer_arithmetic(std::string_view op) {
  using U = Wrap<T>;
  if (op == "add") return MAP2(T(U(a) + U(b)));
  if (op == "sub") return MAP2(T(U(a) - U(b)));
  if (op == "mul.lo") return MAP2(T(U(a) * U(b)));
  if (op == "min") return MAP2(a < b ? a : b);
  if (op == "max") return MAP2(a > b ? a : b);
  // Division by zero gives zero here; PTX leaves it open.
  if (op == "rem") return MAP2(b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b));
  if (op == "div") return MAP2(b == 0 ? T(0) : std::is_signed_v<T> && b == T(-1) ? T(U(0) - U(a)) : T(a / b));
  if (op == "mad.lo") return MAP3(T(U(a) * U(b) + U(c)));
  if (op == "neg") return MAP1(T(U(0) - U(a)));
  if (op == "abs") return MAP1(a < 0 ? T(U(0) - U(a)) : a);
  if constexpr (sizeof(T) < 8) {
    using W = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, i32, u32>,
                                 std::conditional_t<std::is_signed_v<T>, i64, u64>>;
    using V = Wrap<W>;
    if (op == "mul.wide") return map2<T, T, W, [](T a, T b) { return W(V(W(a)) * V(W(b))); }>;
    if (op == "mul.hi") return map2<T, T, T, [](T a, T b) { return T(W(V(W(a)) * V(W(b))) >> 8 * sizeof(T)); }>;
    if (op == "mad.wide") return map3<T, W, W, [](T a, T b, W c) { return W(V(W(a)) * V(W(b)) + V(c)); }>;
  }
  return nullptr;
}

template <class T>
Elementwise bit_logic(std::string_view op) {
  if (op == "and") return MAP2(T(a & b));
  if (op == "or") return MAP2(T(a | b));
  if (op == "xor") return MAP2(T(a ^ b));
  if (op == "not") return MAP1(T(~a));
  return nullptr;
}

template <class T>
Elementwise float_arithmetic(std::string_view op) {
  if (op == "add") return MAP2(a + b);
  if (op == "sub") return MAP2(a - b);
  if (op == "mul") return MAP2(a * b);
  if (op == "div") return MAP2(a / b);
  // Of a number and NaN, the number.
  if (op == "min") return MAP2(a <= b || b != b ? a : b);
  if (op == "max") return MAP2(a >= b || b != b ? a : b);
  if (op == "neg") return MAP1(-a);
  if (op == "abs") return MAP1(std::fabs(a));
  if (op == "sqrt") return MAP1(std::sqrt(a));
  if (op == "rcp") return MAP1(T(1) / a);
  return nullptr;
}

template <class T>
Elementwise comparison(std::string_view op) {
#define COMPARE(F) compare<T, []([[maybe_unused]] T a, [[maybe_unused]] T b) -> bool { return (F); }>
  if (op == "eq") return COMPARE(a == b);
  if (op == "lt" || op == "lo") return COMPARE(a < b);
  if (op == "le" || op == "ls") return COMPARE(a <= b);
  if (op == "gt" || op == "hi") return COMPARE(a > b);
  if (op == "ge" || op == "hs") return COMPARE(a >= b);
  if constexpr (std::is_floating_point_v<T>) {
    // Ordered comparisons with NaN are false, "not equal" included; unordered ones are true.
    if (op == "ne") return COMPARE(a < b || a > b);
    if (op == "equ") return COMPARE(!(a < b || a > b));
    if (op == "neu") return COMPARE(a != b);
    if (op == "ltu") return COMPARE(!(a >= b));
    if (op == "leu") return COMPARE(!(a > b));
    if (op == "gtu") return COMPARE(!(a <= b));
    if (op == "geu") return COMPARE(!(a < b));
    if (op == "num") return COMPARE(a == a && b == b);
    if (op == "nan") return COMPARE(a != a || b != b);
  } else if (op == "ne") {
    return COMPARE(a != b);
  }
  return nullptr;
#undef COMPARE
}

template <class From, class To>
Elementwise float_to_integer(std::string_view how) {
  // `To` is the type; the whole register gets it, extended by its own sign: see `convert`.
  if (how == "rni") return map1<From, To, [](From a) { return whole_of<From, To, 0>(a); }>;
  if (how == "rzi") return map1<From, To, [](From a) { return whole_of<From, To, 1>(a); }>;
  if (how == "rmi") return map1<From, To, [](From a) { return whole_of<From, To, 2>(a); }>;
  if (how == "rpi") return map1<From, To, [](From a) { return whole_of<From, To, 3>(a); }>;
  return nullptr;
}

Elementwise conversion(Type to, Type from, std::string_view how) {
  return with_type(to, [&]<class To>(To) -> Elementwise {
    return with_type(from, [&]<class From>(From) -> Elementwise {
      if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return float_to_integer<From, To>(how);
      } else if constexpr (std::is_floating_point_v<From>) {
        if (how == "rni") return map1<From, To, [](From a) { return to_whole<From, 0>(a); }>;
        if (how == "rzi") return map1<From, To, [](From a) { return to_whole<From, 1>(a); }>;
        if (how == "rmi") return map1<From, To, [](From a) { return to_whole<From, 2>(a); }>;
        if (how == "rpi") return map1<From, To, [](From a) { return to_whole<From, 3>(a); }>;
        return map1<From, To, [](From a) { return To(a); }>;
      } else {
        return map1<From, To, [](From a) { return To(a); }>;
      }
    });
  });
}

struct Opcode {
  std::string_view name, rest;  // "mul" and "lo.s32"
};

/// An elementwise instruction: its function, and the types of what it reads and writes.
struct Arithmetic {
  Elementwise run = nullptr;
  Type result = Type::none;
  std::array<Type, 4> operands{};
  u32 detail = 0;
};

Arithmetic same(Elementwise run, Type type, int operands) {
  Arithmetic found{run, type, {}, 0};
  for (int i = 0; i < operands; ++i) found.operands[i] = type;
  return found;
}

Type wider(Type type) {
  switch (type) {
    case Type::s16: return Type::s32;
    case Type::u16: return Type::u32;
    case Type::s32: return Type::s64;
    case Type::u32: return Type::u64;
    default: return Type::none;
  }
}

/// What an opcode does with its lanes; `run` is empty where it is no such instruction.
Arithmetic arithmetic_of(const Instruction& one) {
  std::string_view name = one.part(0);
  Type type = type_named(one.last());
  std::string_view opcode = one.opcode;
  auto is = [&](auto... names) { return ((name == names) || ...); };
  std::size_t parts = one.parts.size();
  bool integer = type == Type::s16 || type == Type::u16 || type == Type::s32 || type == Type::u32 || type == Type::s64 || type == Type::u64;
  bool bits = type == Type::b16 || type == Type::b32 || type == Type::b64;
  bool real = is_float(type);
  auto of_integer = [&](std::string_view op) {
    return with_type(type, [&]<class T>(T) -> Elementwise {
      if constexpr (std::is_integral_v<T> && sizeof(T) > 1) return integer_arithmetic<T>(op);
      return nullptr;
    });
  };
  auto of_bits = [&](std::string_view op) {
    return with_type(type, [&]<class T>(T) -> Elementwise {
      if constexpr (std::is_integral_v<T>) return bit_logic<T>(op);
      return nullptr;
    });
  };
  auto of_float = [&](std::string_view op) {
    return type == Type::f32 ? float_arithmetic<float>(op) : float_arithmetic<double>(op);
  };
  bool plain = parts == 2, rounded = parts == 3 && one.parts[1] == "rn";

  if (opcode == "fma.rn.f32") return same(fma32, type, 3);
  if (integer && plain && is("add", "sub", "min", "max", "rem", "div")) return same(of_integer(name), type, 2);
  if (integer && plain && is_signed(type) && is("neg", "abs")) return same(of_integer(name), type, 1);
  if (real && (plain || rounded) && is("add", "sub", "mul", "div")) return same(of_float(name), type, 2);
  if (real && plain && is("min", "max")) return same(of_float(name), type, 2);
  if (real && plain && is("neg", "abs")) return same(of_float(name), type, 1);
  if (real && rounded && is("sqrt", "rcp")) return same(of_float(name), type, 1);
  if (bits && plain && is("and", "or", "xor")) return same(of_bits(name), type, 2);
  if (bits && plain && is("not")) return same(of_bits(name), type, 1);
  if (integer && parts == 3 && is("mul", "mad")) {
    std::string op = std::string(name) + "." + std::string(one.parts[1]);
    Arithmetic found = same(of_integer(op), type, is("mul") ? 2 : 3);
    if (one.parts[1] == "wide") {
      found.result = wider(type);
      if (is("mad")) found.operands[2] = found.result;
    }
    return found;
  }
  if (plain && is("shl", "shr") && (integer || bits)) {
    Elementwise run = with_type(type, [&]<class T>(T) -> Elementwise {
      if constexpr (std::is_integral_v<T>) {
        constexpr u32 width = 8 * sizeof(T);
        using U = Wrap<T>;
        if (name == "shl") return map2<T, u32, T, [](T a, u32 by) { return by >= width ? T(0) : T(U(a) << by); }>;
        return map2<T, u32, T, [](T a, u32 by) { return T(a >> (by >= width ? width - 1 : by)) & (by >= width && std::is_unsigned_v<T> ? T(0) : T(-1)); }>;
      }
      return nullptr;
    });
    return {run, type, {type, Type::u32}, 0};
  }
  if (is("setp") && (parts == 3 || parts == 4) && (integer || bits || real)) {
    Elementwise run = with_type(type, [&]<class T>(T) -> Elementwise { return comparison<T>(one.parts[1]); });
    Arithmetic found{run, Type::pred, {type, type}, 0};
    if (parts == 4) {
      std::string_view how = one.parts[2];
      found.detail = how == "and" ? AND : how == "or" ? OR : how == "xor" ? XOR : 0u;
      if (found.detail == 0) found.run = nullptr;
      found.operands[2] = Type::pred;
    }
    return found;
  }
  if (plain && type == Type::pred) {
    if (is("and")) return {combine, type, {type, type}, AND};
    if (is("or")) return {combine, type, {type, type}, OR};
    if (is("xor")) return {combine, type, {type, type}, XOR};
    if (is("not")) return {combine, type, {type}, ALONE | 4};
    if (is("mov")) return {combine, type, {type}, ALONE};
  }
  if (plain && is("selp") && (integer || bits || real)) {
    Elementwise run = with_width(bytes_of(type), []<class T>(T) -> Elementwise { return select<T>; });
    return {run, type, {type, type, Type::pred}, 0};
  }
  if (plain && is("mov") && (integer || bits || real)) {
    Elementwise run = with_width(bytes_of(type), []<class T>(T) -> Elementwise { return MAP1(a); });
    return same(run, type, 1);
  }
  if (is("cvta") && one.last() == "u64" && (parts == 3 || (parts == 4 && one.parts[1] == "to"))) {
    using T = u64;
    std::string_view space = one.parts[parts - 2];
    i64 window = space == "shared" ? SHARED_WINDOW : space == "local" ? LOCAL_WINDOW : 0;
    bool known = window || space == "global" || space == "const" || space == "param";
    Elementwise run = !known ? nullptr : !window ? MAP1(a)
        : parts == 4 ? (window == SHARED_WINDOW ? MAP1(a - SHARED_WINDOW) : MAP1(a - LOCAL_WINDOW))
                     : (window == SHARED_WINDOW ? MAP1(a + SHARED_WINDOW) : MAP1(a + LOCAL_WINDOW));
    return same(run, type, 1);
  }
  if (is("cvt") && (parts == 3 || parts == 4)) {
    std::string_view how = parts == 4 ? one.parts[1] : "";
    Type to = type_named(one.parts[parts - 2]);
    if (how != "" && how != "rn" && how != "rni" && how != "rzi" && how != "rmi" && how != "rpi") return {};
    return {conversion(to, type, how), to, {type}, 0};
  }
  if (plain && is("popc") && type == Type::b32) return {map1<u32, u32, [](u32 a) { return std::popcount(a); }>, Type::u32, {type}, 0};
  if (plain && is("popc") && type == Type::b64) return {map1<u64, u32, [](u64 a) { return std::popcount(a); }>, Type::u32, {type}, 0};
  if (plain && is("clz") && type == Type::b32) return {map1<u32, u32, [](u32 a) { return std::countl_zero(a); }>, Type::u32, {type}, 0};
  if (plain && is("clz") && type == Type::b64) return {map1<u64, u32, [](u64 a) { return std::countl_zero(a); }>, Type::u32, {type}, 0};
  if (plain && is("bfe") && integer && bytes_of(type) >= 4) {
    Elementwise run = with_type(type, []<class T>(T) -> Elementwise {
      if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) return extract_field<T>;
      return nullptr;
    });
    return {run, type, {type, Type::u32, Type::u32}, 0};
  }
  if (plain && is("bfi") && bits && bytes_of(type) >= 4) {
    return {type == Type::b32 ? insert_field<u32> : insert_field<u64>, type, {type, type, Type::u32, Type::u32}, 0};
  }
  if (opcode == "prmt.b32") return same(map3<u32, u32, u32, [](u32 a, u32 b, u32 c) { return permute(a, b, c); }>, Type::u32, 3);
  if (opcode == "lop3.b32") return same(logic3, Type::u32, 3);
  if (is("shf") && parts == 4 && type == Type::b32) {
    bool right = one.parts[1] == "r", wraps = one.parts[2] == "wrap";
    if ((!right && one.parts[1] != "l") || (!wraps && one.parts[2] != "clamp")) return {};
    Elementwise run =
        right ? (wraps ? map3<u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32((u64(b) << 32 | a) >> (c & 31)); }>
                       : map3<u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32((u64(b) << 32 | a) >> std::min(c, 32u)); }>)
              : (wraps ? map3<u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32((u64(b) << 32 | a) << (c & 31) >> 32); }>
                       : map3<u32, u32, u32, [](u32 a, u32 b, u32 c) { return u32((u64(b) << 32 | a) << std::min(c, 32u) >> 32); }>);
    return same(run, Type::u32, 3);
  }
  return {};
}

/// Instructions that change nothing here: accesses are carried out in order anyway.
bool changes_nothing(const Instruction& one) {
  return one.part(0) == "membar" || (one.part(0) == "fence" && one.part(1) != "proxy");
}

bool is_clock(const std::string& name) {
  return name == "%clock" || name == "%clock64" || name == "%globaltimer" || name == "%globaltimer_lo";
}

[[noreturn]] void wrong_operands(const Instruction& one) {
  refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
}

/// Binds one elementwise instruction to its rows.
class Binder {
 public:
  Binder(Group& group, const Instruction& one, Bound& bound) : group_(group), one_(one), bound_(bound) {}

  void bind() {
    if (one_.part(0) == "mov" && one_.operands.size() == 2) {
      if (one_.operands[0].kind == Operand::vector) return unpack();
      if (one_.operands[1].kind == Operand::vector) return gather();
    }
    Arithmetic what = arithmetic_of(one_);
    if (one_.operands.empty()) wrong_operands(one_);
    std::size_t count = 0;
    while (count < 4 && what.operands[count] != Type::none) ++count;
    bool is_logic3 = what.run == logic3;
    if (one_.operands.size() != count + 1 + is_logic3) wrong_operands(one_);
    Step step;
    step.run = what.run;
    step.detail = what.detail;
    for (std::size_t i = 0; i < count; ++i) {
      const Operand& operand = one_.operands[i + 1];
      if (what.operands[i] == Type::pred) {
        step.in[i] = predicate(operand);
        if (operand.kind == Operand::negated) negate(step, what, i);
      } else {
        step.in[i] = operand.kind == Operand::special && one_.part(0) == "mov" ? special(operand, what.result)
                                                                              : source(group_, operand, what.operands[i], bound_.steps);
      }
    }
    if (count == 1 && what.run == combine) step.in[1] = step.in[0];
    if (is_logic3) {
      if (one_.operands[4].kind != Operand::immediate) refuse(Refusal::ptx, "run.lop3", {named("place", one_.place)});
      step.detail = static_cast<u32>(one_.operands[4].value);
    }
    const Operand& target = one_.operands[0];
    if (what.result == Type::pred) {
      if (target.kind != Operand::register_ && !(target.kind == Operand::pair && one_.part(0) == "setp")) wrong_operands(one_);
      step.out[0] = predicate_row(target.reg);
      if (target.kind == Operand::pair) {
        step.out[1] = predicate_row(target.second);
        step.detail |= INVERSE;
      }
      bound_.steps.push_back(step);
    } else if (one_.part(0) == "cvt" && !is_float(what.result)) {
      whole(step, what.result, target);
    } else {
      finish(step, what.result, target);
    }
  }

 private:
  void negate(Step& step, const Arithmetic& what, std::size_t at) {
    if (what.run == combine) step.detail ^= at == 0 ? 4 : 8;
    else if (one_.part(0) == "setp") step.detail |= NEGATED;
    else step.detail = 1;  // selp
  }

  Row predicate_row(int reg) {
    if (reg == SINK) return group_.registers.fresh(0);
    if (group_.registers.width(reg) != 0) mixed(reg);
    return group_.registers.row(reg);
  }

  [[noreturn]] void mixed(int reg) {
    std::string name = group_.launch.kernel.registers[reg].name;
    refuse(Refusal::ptx, "run.mixed", {named("name", name.substr(0, name.find('@')))});
  }

  Row predicate(const Operand& operand) {
    if (operand.kind == Operand::immediate) return group_.registers.constant(operand.value != 0, 0);
    if (operand.kind != Operand::register_ && operand.kind != Operand::negated) wrong_operands(one_);
    return predicate_row(operand.reg);
  }

  Row special(const Operand& operand, Type type) {
    const std::string& name = group_.launch.kernel.names[operand.name];
    if (is_clock(name)) unknown(name);
    Row row = group_.special(name);
    if (bytes_of(type) == 4) return row;
    Step step;
    step.in[0] = row;
    step.out[0] = group_.registers.fresh(bytes_of(type));
    step.run = with_width(bytes_of(type), []<class T>(T) -> Elementwise { return narrow<u32, T>; });
    bound_.steps.push_back(step);
    return step.out[0];
  }

  /// Writes the result; into the low bits where the register is wider.
  void finish(Step& step, Type type, const Operand& target) {
    if (target.kind != Operand::register_) wrong_operands(one_);
    int width = bytes_of(type), own = target.reg == SINK ? width : group_.registers.width(target.reg);
    if (own == 0) mixed(target.reg);
    if (width > own) wide(width, target.reg);
    if (own == width) {
      step.out[0] = target.reg == SINK ? group_.registers.fresh(width) : group_.registers.row(target.reg);
      bound_.steps.push_back(step);
      return;
    }
    step.out[0] = group_.registers.fresh(width);
    bound_.steps.push_back(step);
    Step after;
    after.in[0] = step.out[0];
    after.out[0] = group_.registers.row(target.reg);
    after.run = with_width(width, [&]<class From>(From) -> Elementwise {
      return with_width(own, []<class To>(To) -> Elementwise { return insert_low<From, To>; });
    });
    bound_.steps.push_back(after);
  }

  /// Writes an integer, extended to the whole register by its own sign.
  void whole(Step& step, Type type, const Operand& target) {
    if (target.kind != Operand::register_) wrong_operands(one_);
    int own = target.reg == SINK ? 4 : group_.registers.width(target.reg);
    if (own == 0) mixed(target.reg);
    Row row = target.reg == SINK ? group_.registers.fresh(4) : group_.registers.row(target.reg);
    if (own == bytes_of(type)) {
      step.out[0] = row;
      bound_.steps.push_back(step);
      return;
    }
    step.out[0] = group_.registers.fresh(bytes_of(type));
    bound_.steps.push_back(step);
    Step after;
    after.in[0] = step.out[0];
    after.out[0] = row;
    after.run = with_type(type, [&]<class From>(From) -> Elementwise {
      if constexpr (std::is_integral_v<From>) {
        return with_width(own, []<class To>(To) -> Elementwise { return map1<From, To, [](From a) { return To(a); }>; });
      }
      return nullptr;
    });
    bound_.steps.push_back(after);
  }

  [[noreturn]] void wide(int width, int reg) {
    std::string name = group_.launch.kernel.registers[reg].name;
    refuse(Refusal::ptx, "run.wide", {named("bits", 8 * width), named("name", name.substr(0, name.find('@')))});
  }

  template <class Make>
  static Elementwise parts_of(int whole, int part, Make&& make) {
    return with_width(whole, [&]<class Whole>(Whole) -> Elementwise {
      return with_width(part, [&]<class Part>(Part) -> Elementwise { return make(Part{}, Whole{}); });
    });
  }

  void unpack() {
    Type type = type_named(one_.last());
    const Operand& target = one_.operands[0];
    int whole = bytes_of(type), count = static_cast<int>(target.items.size());
    if (whole == 0 || count == 0 || whole % count || one_.parts.size() != 2) wrong_operands(one_);
    // All parts are read before the first is written: a target may be the origin.
    Row row = source(group_, one_.operands[1], type, bound_.steps);
    std::vector<Row> rows;
    for (int i = 0; i < count; ++i) {
      Step step;
      step.in[0] = row;
      step.out[0] = group_.registers.fresh(whole / count);
      step.detail = i;
      step.run = parts_of(whole, whole / count, []<class P, class W>(P, W) -> Elementwise { return scatter_part<P, W>; });
      if (step.run == nullptr) wrong_operands(one_);
      bound_.steps.push_back(step);
      rows.push_back(step.out[0]);
    }
    for (int i = 0; i < count; ++i) {
      Step step;
      step.in[0] = rows[i];
      step.run = with_width(whole / count, []<class T>(T) -> Elementwise { return MAP1(a); });
      Type part = whole / count == 4 ? Type::b32 : whole / count == 2 ? Type::b16 : whole / count == 8 ? Type::b64 : Type::b8;
      finish(step, part, target.items[i]);
    }
  }

  void gather() {
    Type type = type_named(one_.last());
    const Operand& origin = one_.operands[1];
    int whole = bytes_of(type), count = static_cast<int>(origin.items.size());
    if (whole == 0 || count == 0 || whole % count || one_.parts.size() != 2) wrong_operands(one_);
    Row made = group_.registers.fresh(whole);
    Type part = whole / count == 4 ? Type::b32 : whole / count == 2 ? Type::b16 : whole / count == 8 ? Type::b64 : Type::b8;
    for (int i = 0; i < count; ++i) {
      Step step;
      step.in[0] = source(group_, origin.items[i], part, bound_.steps);
      step.out[0] = made;
      step.detail = i;
      step.run = parts_of(whole, whole / count, []<class P, class W>(P, W) -> Elementwise { return gather_part<P, W>; });
      if (step.run == nullptr) wrong_operands(one_);
      bound_.steps.push_back(step);
    }
    Step step;
    step.in[0] = made;
    step.run = with_width(whole, []<class T>(T) -> Elementwise { return MAP1(a); });
    finish(step, type, one_.operands[0]);
  }

  Group& group_;
  const Instruction& one_;
  Bound& bound_;
};

/// A parameter that is a number: the same in every lane.
bool bind_parameter(Group& group, const Instruction& one, Bound& bound) {
  if (one.part(0) != "ld" || one.part(1) != "param") return false;
  Type type = type_named(one.last());
  if (one.parts.size() != 3 || one.operands.size() != 2 || one.operands[1].kind != Operand::address || type == Type::none) unknown(one.opcode);
  const Operand& origin = one.operands[1];
  if (origin.base != Operand::symbol) refuse(Refusal::ptx, "run.parameter", {named("place", one.place)});
  const std::string& name = group.launch.kernel.names[origin.name];
  const std::vector<Parameter>& parameters = group.launch.kernel.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name != name) continue;
    const Argument& given = group.launch.arguments[i];
    u64 bits = static_cast<u64>(given.number);
    double real = given.kind == Argument::real ? given.value : static_cast<double>(given.number);
    if (given.kind == Argument::real) bits = static_cast<u64>(static_cast<i64>(given.value));
    if (type == Type::f32) bits = std::bit_cast<u32>(static_cast<float>(real));
    if (type == Type::f64) bits = std::bit_cast<u64>(real);
    if (type == Type::f16) unknown(one.opcode);
    int width = bytes_of(type);
    if (width < 8) bits &= (1ull << 8 * width) - 1;
    const Operand& target = one.operands[0];
    if (target.kind != Operand::register_) wrong_operands(one);
    int own = target.reg == SINK ? width : group.registers.width(target.reg);
    // A narrow integer is extended to the whole register by its sign.
    if (width < 4 && is_signed(type) && bits >> (8 * width - 1)) bits |= ~0ull << 8 * width;
    bool extends = width < 4 && (is_signed(type) || type == Type::u8 || type == Type::u16);
    if (own < width || (own > width && !extends)) unknown(one.opcode);
    Step step;
    step.in[0] = group.registers.constant(own == 8 ? bits : bits & ((1ull << 8 * own) - 1), own);
    step.out[0] = target.reg == SINK ? group.registers.fresh(own) : group.registers.row(target.reg);
    step.run = with_width(own, []<class T>(T) -> Elementwise { return MAP1(a); });
    bound.steps.push_back(step);
    return true;
  }
  unknown("run.parameter");
}

}  // namespace

Row source(Group& group, const Operand& operand, Type type, std::vector<Step>& before) {
  int width = bytes_of(type);
  switch (operand.kind) {
    case Operand::register_: {
      if (operand.reg == SINK) return group.registers.constant(0, width);
      int own = group.registers.width(operand.reg);
      const std::string& name = group.launch.kernel.registers[operand.reg].name;
      if (own == 0) refuse(Refusal::ptx, "run.mixed", {named("name", name.substr(0, name.find('@')))});
      if (own == width) return group.registers.row(operand.reg);
      if (own < width) refuse(Refusal::ptx, "run.wide", {named("bits", 8 * width), named("name", name.substr(0, name.find('@')))});
      Step step;
      step.in[0] = group.registers.row(operand.reg);
      step.out[0] = group.registers.fresh(width);
      step.run = with_width(own, [&]<class From>(From) -> Elementwise {
        return with_width(width, []<class To>(To) -> Elementwise { return narrow<From, To>; });
      });
      before.push_back(step);
      return step.out[0];
    }
    case Operand::immediate:
      return group.registers.constant(width < 8 ? operand.value & ((1ull << 8 * width) - 1) : operand.value, width);
    case Operand::symbol: {
      const std::string& name = group.launch.kernel.names[operand.name];
      auto known = group.symbols.find(name);
      if (known == group.symbols.end()) unknown(name);
      u64 bits = known->second + operand.value;
      return group.registers.constant(width < 8 ? bits & ((1ull << 8 * width) - 1) : bits, width);
    }
    case Operand::special:
      refuse(Refusal::ptx, "run.operand", {named("name", group.launch.kernel.names[operand.name])});
    default:
      unknown("operand");
  }
}

void run_steps(const std::vector<Step>& steps, int chunks) {
  constexpr u32 ALL[CHUNK_WARPS] = {~0u, ~0u, ~0u, ~0u};
  for (const Step& step : steps) {
    for (int chunk = 0; chunk < chunks; ++chunk) step.run(step, chunk, ALL);
  }
}

bool is_known(const Instruction& one) {
  std::string_view name = one.part(0);
  if (one.opcode == "bra" || one.opcode == "bra.uni" || one.opcode == "ret" || one.opcode == "exit") return true;
  if (changes_nothing(one) || arithmetic_of(one).run != nullptr) return true;
  if (name == "bar" || name == "barrier") {
    // Barriers of some threads, and those that count, have no part here yet.
    if (one.opcode == "bar.warp.sync") return true;
    bool number = one.operands.size() == 1 && one.operands[0].kind == Operand::immediate;
    return number && (one.opcode == "bar.sync" || one.opcode == "barrier.sync" || one.opcode == "barrier.sync.aligned" ||
                      one.opcode == "bar.cta.sync" || one.opcode == "barrier.cta.sync" || one.opcode == "barrier.cta.sync.aligned");
  }
  if (name == "cp") return one.part(1) == "async" && one.part(2) != "bulk" && one.part(2) != "mbarrier";
  return name == "ld" || name == "st" || name == "red" || name == "atom" || name == "shfl" || name == "vote" || name == "activemask";
}

Bound bind(Group& group, const Instruction& one) {
  Binding here(one.place);
  Bound bound;
  bound.instruction = one.index;
  if (one.guard >= 0) {
    bound.guarded = true;
    bound.guard_negated = one.guard_negated;
    bound.guard = group.registers.row(one.guard);
  }
  std::string_view name = one.part(0);
  if (changes_nothing(one) || bind_parameter(group, one, bound)) return bound;
  if (name == "ld" || name == "st" || name == "red" || name == "atom") bound.operation = bind_memory(group, one);
  else if (name == "cp") bound.operation = bind_copy(group, one);
  else if (name == "shfl" || name == "vote" || name == "activemask" || name == "bar") bound.operation = bind_exchange(group, one);
  else Binder(group, one, bound).bind();
  return bound;
}

}  // namespace engine
