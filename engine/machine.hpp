// What all parts of the engine share: plain types, sizes of the machine, and how it refuses.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace engine {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr int WARP = 32;          // threads of a warp
constexpr int WORD_BYTES = 4;     // bytes of a word of a shared-memory bank
constexpr int BANKS = 32;         // banks of shared memory
constexpr int SECTOR_BYTES = 32;  // the unit in which global memory is moved

/// A place in the CUDA source. `line` is 0 where the PTX names none.
struct Location {
  int file = -1;  // index into Kernel::files, -1 for none
  int line = 0;
  bool operator==(const Location&) const = default;
};

/// A value that a sentence names: a text, a number, or a place.
struct Value {
  enum Kind : u32 { text, number, place, sentence, whereabouts } kind;
  std::string name;
  std::string words;
  i64 count = 0;
  Location where;
};

inline Value named(std::string name, std::string words) {
  return {Value::text, std::move(name), std::move(words), 0, {}};
}
inline Value named(std::string name, i64 count) {
  return {Value::number, std::move(name), {}, count, {}};
}
inline Value named(std::string name, Location where) {
  return {Value::place, std::move(name), {}, 0, where};
}
using Values = std::vector<Value>;

/// Why a launch was not carried out. `key` names a sentence of sentences.json.
enum class Refusal : u32 {
  none, ptx, launch, endless, time, stuck, trap,
  unknown,  // the engine does not know an instruction, or what was asked for
};

/// Ends the call: the client reads why.
[[noreturn]] void refuse(Refusal kind, std::string key, Values values = {});

/// While it lives, refusals of the PTX name a place.
class Binding {
 public:
  explicit Binding(Location place) { here = place, active = true; }
  ~Binding() { active = false; }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  static Location here;
  static bool active;
};

/// Something that this engine does not do yet.
[[noreturn]] inline void unknown(std::string_view what) {
  refuse(Refusal::unknown, std::string(what));
}

/// Calls that the client answers.
double clock_seconds();
void tell_progress(u32 done, u32 all);

}  // namespace engine
