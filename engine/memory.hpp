// Memory and its requests: what an access touches, and what it costs.

#pragma once

#include "launch.hpp"

namespace engine {

enum class Kind : u8 { load, store, atomic, copy_read, copy_write };  // the copies: ends of a cp.async

/// One place in the kernel that accesses one memory space.
struct Site {
  const Instruction* instruction;
  Space space;
  Kind kind;
  int word_bytes;  // of one element moved
  int words;       // elements per lane: 4 for ld.global.v4.f32
  bool is_float;
  bool is_volatile;

  int width() const { return word_bytes * words; }  // bytes each lane asks for
  bool reads() const { return kind == Kind::load || kind == Kind::atomic || kind == Kind::copy_read; }
};

/// One execution of a site by a group of threads.
struct Access {
  Group& group;
  const Site& site;
  Memory& memory;
  const Mask& mask;        // lanes that run the instruction
  const i64* addresses;    // of every lane, within the space; meaningless in inactive lanes
  std::vector<int> lanes;  // whose address is legal
  std::vector<u32> positions;  // for those: index of the first byte in memory.bytes
};

/// Values of an access as the trace has them: an array per element, an entry per legal lane.
using Moved = std::vector<std::vector<double>>;

/// A whole warp's addresses: one place for all lanes, or a row; else scattered.
enum Shape : u8 { SCATTERED, UNIFORM, CONTIGUOUS };

/// Requests of one kind, whose costs are remembered by the pattern of their addresses.
class RequestCosts {
 public:
  struct Cost {
    int first = 0;      // sectors of global memory, or wavefronts of shared memory
    int conflicts = 0;  // wavefronts in excess of one per phase
  };
  RequestCosts(Space space, int width, bool is_load) : global_(space == Space::global), is_load_(is_load), width_(width) {}

  int width() const { return width_; }

  /// What a warp's request costs; `places` are the bytes its lanes ask for first.
  Cost of(const u32* places, u32 active, u32 offset, Shape shape);

 private:
  struct Pattern {
    u32 active = 0;
    std::array<u32, WARP> units{};  // of each lane, from the first active one
    Cost cost;
  };
  Cost of_scattered(const u32* places, u32 active, u32 offset);

  static constexpr int KEPT = 8;
  std::array<Pattern, KEPT> known_;
  std::array<std::array<std::optional<Cost>, SECTOR_BYTES / 4>, 2> of_shape_;  // by shape and start
  int next_ = 0;
  bool global_, is_load_;
  int width_;
};

/// Counts the requests of one site.
class RequestCounter {
 public:
  RequestCounter(Launch& launch, const Site& site);
  /// A warp of which `active` lanes run the instruction.
  void count(const u32* places, u32 active, Shape shape);
  /// The same by addresses, which may lie anywhere.
  void count_addresses(const i64* addresses, u32 active);
  /// The lanes that move something.
  void moved(i64 lanes);

 private:
  Launch& launch_;
  const Site& site_;
  RequestCosts as_written_;
  std::vector<std::pair<int, RequestCosts>> issued_;  // offset and cost of each machine access
  bool merged_ = false;
};

/// The address operand of an instruction.
struct AddressOperand {
  Row row;        // of a register
  int width = 0;  // bytes of that register, 0 for a fixed address
  i64 offset = 0;
  AddressOperand() = default;
  AddressOperand(Group& group, const Instruction& instruction, std::size_t at);
  /// Addresses of all lanes into group.addresses.
  void find(Group& group) const;
};

/// Checks the addresses of an access, reports what is wrong, and tells those who watch. Lanes with
/// an illegal address take no further part.
Access begin(Group& group, const Site& site, RequestCounter& counter, const Mask& mask);

/// Notes that bytes hold a value.
void mark_written(Memory& memory, u32 position, int width);

}  // namespace engine
