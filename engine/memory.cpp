#include "memory.hpp"

#include <algorithm>
#include <cmath>

#include "hazards.hpp"
#include "never_set.hpp"
#include "shared_races.hpp"
#include "trace.hpp"

namespace engine {

// ------------------------------------------------------------------------- costs of requests
//
// Of a warp's request as the hardware counts it; the rules were found on an H200 by comparing
// single-warp requests with its counters, and formulas/memory.py explains them.

namespace {

using Places = std::array<i64, WARP>;

int distinct(i64* values, int count) {
  std::sort(values, values + count);
  return static_cast<int>(std::unique(values, values + count) - values);
}

i64 sector(i64 address) { return address >> 5; }

/// 32-byte sectors that the active lanes touch.
int sectors_of(const Places& places, u32 active, int width) {
  i64 found[2 * WARP];
  int count = 0;
  for (u32 bits = active; bits; bits &= bits - 1) {
    i64 place = places[std::countr_zero(bits)];
    found[count++] = sector(place);
    if (sector(place + width - 1) != sector(place)) found[count++] = sector(place + width - 1);
  }
  return distinct(found, count);
}

/// Sectors of an atomic: lanes that meet at one address go one after the other. Where all meet at
/// one, ptxas lets one lane add for all.
int atomic_sectors_of(const Places& places, u32 active) {
  std::map<i64, int> times;
  for (u32 bits = active; bits; bits &= bits - 1) ++times[places[std::countr_zero(bits)]];
  if (times.size() == 1) return 1;
  std::map<i64, int> most;
  for (auto [place, lanes] : times) most[sector(place)] = std::max(most[sector(place)], lanes);
  int sum = 0;
  for (auto [where, lanes] : most) sum += lanes;
  return sum;
}

/// Over the banks, the largest number of different words that some lanes ask for.
int most_words_of_one_bank(const Places& places, u32 lanes, int width) {
  i64 words[4 * WARP];
  int count = 0;
  for (u32 bits = lanes; bits; bits &= bits - 1) {
    i64 first = places[std::countr_zero(bits)] >> 2;
    for (int word = 0; word < std::max(1, width / WORD_BYTES); ++word) words[count++] = first + word;
  }
  count = distinct(words, count);
  int each[BANKS] = {}, most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, ++each[words[i] & (BANKS - 1)]);
  return most;
}

/// Whether every active lane's partner at lane XOR `distance` is inactive or has its address.
bool partners_agree(const Places& places, u32 lanes, int distance) {
  for (u32 bits = lanes; bits; bits &= bits - 1) {
    int lane = std::countr_zero(bits), partner = lane ^ distance;
    if (lanes >> partner & 1 && places[lane] != places[partner]) return false;
  }
  return true;
}

/// Wavefronts and bank conflicts of a request to shared memory. Up to 4 bytes a lane: the largest
/// number of different words of one bank. 8 and 16 bytes: phases of 16 or 8 lanes add up; two
/// neighbouring phases of a load merge where partners agree and merging costs no more.
RequestCosts::Cost shared_cost(const Places& places, u32 active, int width, bool is_load) {
  int lanes = width <= WORD_BYTES ? WARP : WARP * WORD_BYTES / width;
  auto phases = [&](u32 part, int each) {
    RequestCosts::Cost cost;
    for (int start = 0; start < WARP; start += each) {
      u32 phase = part & (each == WARP ? ~0u : ((1u << each) - 1) << start);
      if (phase == 0) continue;
      int wavefronts = most_words_of_one_bank(places, phase, width);
      cost.first += wavefronts;
      cost.conflicts += wavefronts - 1;
    }
    return cost;
  };
  if (width <= WORD_BYTES || !is_load) return phases(active, lanes);
  RequestCosts::Cost sum;
  for (int start = 0; start < WARP; start += 2 * lanes) {
    u32 pair = active & (2 * lanes == WARP ? ~0u : ((1u << 2 * lanes) - 1) << start);
    RequestCosts::Cost merged = phases(pair, 2 * lanes), apart = phases(pair, lanes);
    bool merges = (partners_agree(places, pair, 1) || partners_agree(places, pair, 2)) && merged.first <= apart.first;
    sum.first += merges ? merged.first : apart.first;
    sum.conflicts += merges ? merged.conflicts : apart.conflicts;
  }
  return sum;
}

}  // namespace

/// Whether two rows of 32 numbers are alike.
static bool alike(const u32* one, const u32* other) {
  u32 apart = 0;
  for (int lane = 0; lane < WARP; ++lane) apart |= one[lane] ^ other[lane];
  return apart == 0;
}

RequestCosts::Cost RequestCosts::of(const u32* places, u32 active, u32 offset, Shape shape) {
  if (shape == SCATTERED) return of_scattered(places, active, offset);
  // Of a whole warp that asks for one place or for a row, the start within a sector tells all.
  u32 start = global_ ? (places[0] + offset) % SECTOR_BYTES / 4 : 0;
  std::optional<Cost>& known = of_shape_[shape == CONTIGUOUS][start];
  if (!known || (places[0] + offset) % 4) known = of_scattered(places, active, offset);
  return *known;
}

RequestCosts::Cost RequestCosts::of_scattered(const u32* places, u32 active, u32 offset) {
  // Costs do not change when all lanes move by whole sectors or words.
  const int shift = global_ ? 5 : 2;
  const u32 first = (places[std::countr_zero(active)] + offset) >> shift;
  std::array<u32, WARP> units;
  for (int lane = 0; lane < WARP; ++lane) {
    u32 unit = ((places[lane] + offset) >> shift) - first;
    units[lane] = active == ~0u || active >> lane & 1 ? unit : 0;
  }
  for (const Pattern& one : known_) {
    if (one.active == active && alike(one.units.data(), units.data())) return one.cost;
  }
  Places given;
  for (int lane = 0; lane < WARP; ++lane) given[lane] = places[lane] + offset;
  Pattern& fresh = known_[next_++ % KEPT];
  fresh.active = active;
  fresh.units = units;
  fresh.cost = global_ ? Cost{sectors_of(given, active, width_), 0} : shared_cost(given, active, width_, is_load_);
  return fresh.cost;
}

RequestCounter::RequestCounter(Launch& launch, const Site& site)
    : launch_(launch), site_(site), as_written_(site.space, site.width(), site.kind == Kind::load) {
  auto found = launch.merged.find(site.instruction->index);
  if (site.space != Space::shared || found == launch.merged.end()) return;
  if (site.kind != Kind::load && site.kind != Kind::store) return;
  if (found->second == std::vector<WideAccess>{{0, site.width()}}) return;
  merged_ = true;
  for (WideAccess wide : found->second) issued_.emplace_back(wide.offset, RequestCosts(site.space, wide.width, site.kind == Kind::load));
}

namespace {

/// Adds the cost of one request to the counts of an instruction.
void add_global(Counts& counts, Kind kind, int sectors) {
  bool load = kind == Kind::load, store = kind == Kind::store, atomic = kind == Kind::atomic;
  ++counts[load ? global_load_requests : store ? global_store_requests : atomic ? atomic_requests : async_copy_reads];
  counts[load ? global_load_sectors : store ? global_store_sectors : atomic ? atomic_sectors : async_copy_sectors] += sectors;
}

void add_shared(Counts& counts, bool load, bool as_written, RequestCosts::Cost cost) {
  int at = load ? (as_written ? shared_load_requests_as_written : shared_load_requests)
                : (as_written ? shared_store_requests_as_written : shared_store_requests);
  ++counts[at];
  counts[at + 1] += cost.first;
  counts[at + 2] += cost.conflicts;
}

}  // namespace

void RequestCounter::count(const u32* places, u32 active, Shape shape) {
  Counts& counts = launch_.counts[site_.instruction->index];
  if (site_.space == Space::global) return add_global(counts, site_.kind, as_written_.of(places, active, 0, shape).first);
  if (site_.space != Space::shared) return;
  RequestCosts::Cost cost = as_written_.of(places, active, 0, shape);
  if (site_.kind == Kind::copy_write) {
    ++counts[async_copy_requests];
    counts[async_copy_wavefronts] += cost.first;
    return;
  }
  bool load = site_.kind == Kind::load;
  add_shared(counts, load, true, cost);
  if (!merged_) add_shared(counts, load, false, cost);
  for (auto& [offset, costs] : issued_) add_shared(counts, load, false, costs.of(places, active, offset, shape));
}

void RequestCounter::count_addresses(const i64* addresses, u32 active) {
  Counts& counts = launch_.counts[site_.instruction->index];
  Places places{};
  for (u32 bits = active; bits; bits &= bits - 1) places[std::countr_zero(bits)] = addresses[std::countr_zero(bits)];
  bool atomic = site_.kind == Kind::atomic, load = site_.kind == Kind::load;
  if (site_.space == Space::global) {
    add_global(counts, site_.kind, atomic ? atomic_sectors_of(places, active) : sectors_of(places, active, site_.width()));
  } else if (site_.space == Space::shared && atomic) {
    ++counts[shared_atomic_requests];
  } else if (site_.space == Space::shared) {
    RequestCosts::Cost cost = shared_cost(places, active, site_.width(), load);
    if (site_.kind == Kind::copy_write) {
      ++counts[async_copy_requests];
      counts[async_copy_wavefronts] += cost.first;
      return;
    }
    add_shared(counts, load, true, cost);
    if (!merged_) add_shared(counts, load, false, cost);
    for (auto& [offset, costs] : issued_) {
      Places moved = places;
      for (i64& place : moved) place += offset;
      add_shared(counts, load, false, shared_cost(moved, active, costs.width(), load));
    }
  }
}

void RequestCounter::moved(i64 lanes) {
  Counts& counts = launch_.counts[site_.instruction->index];
  i64 bytes = lanes * site_.width();
  if (site_.space == Space::global && site_.kind == Kind::load) counts[global_load_bytes] += bytes;
  if (site_.space == Space::global && site_.kind == Kind::store) counts[global_store_bytes] += bytes;
  if (site_.space != Space::shared) return;
  if (site_.kind == Kind::load) counts[shared_load_bytes] += bytes;
  if (site_.kind == Kind::store) counts[shared_store_bytes] += bytes;
  if (site_.kind == Kind::copy_write) counts[async_copy_bytes] += bytes;
}

// ---------------------------------------------------------------------------------- addresses

AddressOperand::AddressOperand(Group& group, const Instruction& instruction, std::size_t at) {
  if (at >= instruction.operands.size() || instruction.operands[at].kind != Operand::address) {
    refuse(Refusal::ptx, "run.address", {named("place", instruction.place)});
  }
  const Operand& operand = instruction.operands[at];
  offset = operand.value;
  if (operand.base == Operand::register_) {
    width = group.registers.width(operand.reg);
    row = group.registers.row(operand.reg);
    if (operand.reg == SINK || width < 4) unknown("address");
  } else {
    offset += operand.start;
    if (operand.base == Operand::symbol) {
      auto known = group.symbols.find(group.launch.kernel.names[operand.name]);
      if (known == group.symbols.end()) unknown(group.launch.kernel.names[operand.name]);
      offset += known->second;
    }
  }
}

void AddressOperand::find(Group& group) const {
  for (int warp = 0; warp < group.warps; ++warp) {
    i64* out = group.addresses.data() + warp * WARP;
    const u8* base = row.at(warp / CHUNK_WARPS) + warp % CHUNK_WARPS * WARP * width;
    for (int lane = 0; lane < WARP; ++lane) {
      u64 value = 0;
      if (width == 4) value = reinterpret_cast<const u32*>(base)[lane];
      if (width == 8) value = reinterpret_cast<const u64*>(base)[lane];
      out[lane] = static_cast<i64>(value + static_cast<u64>(offset));
    }
  }
}

void mark_written(Memory& memory, u32 position, int width) { std::memset(memory.state.data() + position, WRITTEN, width); }

// ------------------------------------------------------------------------------- the exact way

Access begin(Group& group, const Site& site, RequestCounter& counter, const Mask& mask) {
  Memory& memory = group.memory(site.space);
  Launch& launch = group.launch;
  Access access{group, site, memory, mask, group.addresses.data(), {}, {}};
  const int width = site.width();
  std::vector<int> wrong;
  std::vector<i64> places;
  auto drop = [&](auto&& is_wrong) {
    wrong.clear();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < access.lanes.size(); ++i) {
      if (is_wrong(access.lanes[i], places[i])) {
        wrong.push_back(access.lanes[i]);
      } else {
        access.lanes[kept] = access.lanes[i];
        places[kept++] = places[i];
      }
    }
    access.lanes.resize(kept);
    places.resize(kept);
    return !wrong.empty();
  };
  each_lane(mask, [&](int lane) {
    access.lanes.push_back(lane);
    places.push_back(access.addresses[lane] - memory.base);
  });
  if (drop([&](int, i64 place) { return place < 0 || place > memory.size - width; })) launch.hazards->out_of_bounds(access, wrong);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] += group.slot_start(site.space, access.lanes[i]);
  if (drop([&](int, i64 place) { return (place & (width - 1)) != 0; })) launch.hazards->misaligned(access, wrong);
  if (memory.space == Space::global || site.reads()) {
    auto lowest = [&](i64 place) {
      u8 state = WRITTEN;
      for (int word = 0; word < site.words; ++word) state = std::min(state, memory.state[place + word * site.word_bytes]);
      return state;
    };
    if (site.reads()) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (lowest(places[i]) != UNWRITTEN) continue;
        access.positions.assign(places.begin(), places.end());
        launch.never_set->met(access, access.lanes[i]);
        break;
      }
    }
    if (drop([&](int, i64 place) { return lowest(place) == OUTSIDE; })) launch.hazards->out_of_bounds(access, wrong);
  }
  access.positions.assign(places.begin(), places.end());
  if (launch.count_requests) {
    for (int warp = 0; warp < group.warps; ++warp) {
      if (mask[warp]) counter.count_addresses(access.addresses + warp * WARP, mask[warp]);
    }
    counter.moved(static_cast<i64>(access.lanes.size()));
  }
  if (launch.races && site.space == Space::shared) launch.races->access(access);
  if (launch.never_set->follows) launch.never_set->moves(access);
  return access;
}

// ------------------------------------------------------------------------ loads and stores

namespace {

/// The opcode of a load, store or atomic, taken apart.
struct MemoryOpcode {
  bool named_space = false;
  Space space = Space::global;
  int vector = 1;
  Type type = Type::none;
  std::string_view operation;  // of an atomic
  bool known = true;
};

MemoryOpcode opcode_of(const Instruction& one) {
  MemoryOpcode found;
  found.type = type_named(one.last());
  bool atomic = one.part(0) == "atom" || one.part(0) == "red";
  for (std::size_t i = 1; i + 1 < one.parts.size(); ++i) {
    std::string_view part = one.parts[i];
    if (part == "global" || part == "local" || part == "const" || part == "shared" || part == "shared::cta") {
      found.named_space = true;
      found.space = part == "global" ? Space::global : part == "local" ? Space::local : part == "const" ? Space::constant : Space::shared;
    } else if (!atomic && (part == "v2" || part == "v4")) {
      found.vector = part[1] - '0';
    } else if (atomic && (part == "add" || part == "min" || part == "max" || part == "and" || part == "or" || part == "xor" ||
                          part == "exch" || part == "cas" || part == "inc" || part == "dec")) {
      found.operation = part;
    } else if (part != "volatile" && part != "weak" && part != "relaxed" && part != "acquire" && part != "release" && part != "acq_rel" &&
               part != "cta" && part != "cluster" && part != "gpu" && part != "sys" && part != "ca" && part != "cg" && part != "cs" &&
               part != "lu" && part != "cv" && part != "wb" && part != "wt" && part != "nc" && !part.starts_with("L1::") &&
               !part.starts_with("L2::")) {
      found.known = false;
    }
  }
  bool plain = found.type != Type::none && found.type != Type::pred && found.type != Type::f16 && found.type != Type::bf16 &&
               found.type != Type::f16x2 && found.type != Type::bf16x2 && found.type != Type::tf32;
  if (!plain || found.space == Space::constant || (atomic && found.operation.empty())) found.known = false;
  return found;
}

double as_number(u64 bits, Type type) {
  switch (type) {
    case Type::f32: case Type::u32: case Type::b32: return std::bit_cast<float>(static_cast<u32>(bits));
    case Type::f64: return std::bit_cast<double>(bits);
    case Type::s8: return static_cast<i8>(bits);
    case Type::s16: return static_cast<i16>(bits);
    case Type::s32: return static_cast<i32>(bits);
    case Type::s64: return static_cast<double>(static_cast<i64>(bits));
    default: return static_cast<double>(bits);
  }
}

/// A register that a load fills.
struct Target {
  Row row;
  int width;
  bool extends, is_signed;  // a narrow integer is extended to its whole register
};

Target target_of(Group& group, const Operand& operand, Type type, const Instruction& one) {
  if (operand.kind != Operand::register_) refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
  bool extends = bytes_of(type) < 4 && (is_signed(type) || type == Type::u8 || type == Type::u16);
  if (operand.reg == SINK) return {group.registers.fresh(8), 8, false, false};
  int width = group.registers.width(operand.reg);
  std::string name = group.launch.kernel.registers[operand.reg].name;
  name = name.substr(0, name.find('@'));
  if (width == 0) refuse(Refusal::ptx, "run.mixed", {named("name", name)});
  if (!extends && width < bytes_of(type)) refuse(Refusal::ptx, "run.wide", {named("bits", 8 * bytes_of(type)), named("name", name)});
  return {group.registers.row(operand.reg), width, extends, is_signed(type)};
}

/// What loads, stores and atomics share.
class MemoryOperation : public Operation {
 public:
  MemoryOperation(Group& group, const Instruction& one, const MemoryOpcode& opcode, Kind kind, std::size_t address)
      : opcode_(opcode), address_(group, one, address), type_(opcode.type) {
    constexpr Space GENERIC[] = {Space::global, Space::shared, Space::local};
    for (Space space : GENERIC) {
      if (opcode.named_space && opcode.space != space) continue;
      sites_.push_back({&one, space, kind, bytes_of(type_), opcode.vector, is_float(type_), one.has("volatile")});
    }
    for (const Site& site : sites_) counters_.push_back(std::make_unique<RequestCounter>(group.launch, site));
  }

  void run(Group& group, const Mask& mask) override {
    prepare(group);
    if (opcode_.named_space) {
      bool plain = !group.launch.trace && !group.launch.never_set->follows;
      if (plain && quick(group, mask)) return;
      address_.find(group);
      return exact(group, sites_[0], *counters_[0], mask);
    }
    // The space is found by the generic address.
    address_.find(group);
    Mask in_local(mask.size()), in_shared(mask.size());
    each_lane(mask, [&](int lane) {
      i64 place = group.addresses[lane];
      if (place >= LOCAL_WINDOW) in_local[lane / WARP] |= 1u << lane % WARP;
      else if (place >= SHARED_WINDOW) in_shared[lane / WARP] |= 1u << lane % WARP;
    });
    std::vector<i64> generic = group.addresses;
    auto part = [&](std::size_t site, const Mask& chosen, i64 start) {
      if (!any(chosen)) return;
      for (std::size_t lane = 0; lane < generic.size(); ++lane) group.addresses[lane] = generic[lane] - start;
      exact(group, sites_[site], *counters_[site], chosen);
    };
    part(2, in_local, LOCAL_WINDOW);
    part(1, in_shared, SHARED_WINDOW);
    part(0, without(without(mask, in_shared), in_local), 0);
  }

 protected:
  virtual void prepare(Group&) {}
  /// The fast way, for accesses with which nothing is wrong; false where it cannot be taken.
  virtual bool quick(Group&, const Mask&) { return false; }
  virtual void exact(Group& group, const Site& site, RequestCounter& counter, const Mask& mask) = 0;

  /// Finds positions and shapes of all warps; false where something is to be reported.
  bool survey(Group& group, const Mask& mask) {
    const Site& site = sites_[0];
    Memory& memory = group.memory(site.space);
    const int width = site.width();
    const i64 limit = memory.size - width, delta = address_.offset - memory.base;
    if (limit < 0) return false;
    shapes_.resize(group.warps);
    least_ = ~0u;
    most_ = 0;
    const u8* state = memory.state.data();
    for (int warp = 0; warp < group.warps; ++warp) {
      const u32 active = mask[warp];
      if (active == 0) continue;
      u32* places = group.positions.data() + warp * WARP;
      const u8* base = address_.row.at(warp / CHUNK_WARPS) + warp % CHUNK_WARPS * WARP * address_.width;
      const u32 start = static_cast<u32>(group.slot_start(site.space, warp * WARP));
      const u32 lane_step = site.space == Space::local ? static_cast<u32>(memory.stride) : 0;
      u32 wrong = 0;
      if (address_.width == 4 && lane_step == 0) {
        const u32* values = reinterpret_cast<const u32*>(base);
        const i64 lowest = std::max<i64>(0, -delta), highest = std::min<i64>(limit - delta, 0xFFFFFFFF);
        if (highest < lowest) return false;
        const u32 from = static_cast<u32>(lowest), span = static_cast<u32>(highest - lowest), add = static_cast<u32>(delta) + start;
        if (active == ~0u) {
          u32 outside = 0;
          for (int lane = 0; lane < WARP; ++lane) {
            outside |= values[lane] - from > span;
            places[lane] = values[lane] + add;
          }
          wrong = outside;
        } else {
          for (u32 bits = active; bits; bits &= bits - 1) {
            int lane = std::countr_zero(bits);
            wrong |= values[lane] - from > span;
            places[lane] = values[lane] + add;
          }
        }
      } else if (address_.width == 8 && lane_step == 0 && active == ~0u) {
        const u64* values = reinterpret_cast<const u64*>(base);
        u64 outside = 0;  // a sign bit where a place is negative or beyond the limit
        for (int lane = 0; lane < WARP; ++lane) {
          u64 place = values[lane] + static_cast<u64>(delta);
          outside |= place | (static_cast<u64>(limit) - place);
          places[lane] = static_cast<u32>(place) + start;
        }
        wrong = outside >> 63;
      } else {
        for (u32 bits = active; bits; bits &= bits - 1) {
          int lane = std::countr_zero(bits);
          u64 value = address_.width == 8 ? reinterpret_cast<const u64*>(base)[lane] : address_.width == 4 ? reinterpret_cast<const u32*>(base)[lane] : 0;
          u64 place = value + static_cast<u64>(delta);
          wrong |= place > static_cast<u64>(limit);
          places[lane] = static_cast<u32>(place) + start + lane * lane_step;
        }
      }
      if (wrong) return false;
      Shape shape = SCATTERED;
      u32 low, high, crooked = 0;
      if (active == ~0u) {
        u32 uniform = 0, contiguous = 0;
        for (int lane = 0; lane < WARP; ++lane) {
          uniform |= places[lane] ^ places[0];
          contiguous |= places[lane] ^ (places[0] + lane * width);
        }
        shape = uniform == 0 ? UNIFORM : contiguous == 0 ? CONTIGUOUS : SCATTERED;
      }
      if (shape != SCATTERED) {
        low = places[0];
        high = places[WARP - 1];
        crooked = low;
      } else {
        low = ~0u, high = 0;
        if (active == ~0u) {
          for (int lane = 0; lane < WARP; ++lane) {
            low = std::min(low, places[lane]);
            high = std::max(high, places[lane]);
            crooked |= places[lane];
          }
        } else {
          for (u32 bits = active; bits; bits &= bits - 1) {
            u32 place = places[std::countr_zero(bits)];
            low = std::min(low, place);
            high = std::max(high, place);
            crooked |= place;
          }
        }
      }
      if (crooked & (width - 1)) return false;
      if (!checked(memory, site, places, active, shape, low, high, state)) return false;
      shapes_[warp] = shape;
      least_ = std::min(least_, low - start);
      most_ = std::max(most_, high - start + width);
    }
    return true;
  }

  void count_quickly(Group& group, const Mask& mask) {
    if (!group.launch.count_requests) return;
    i64 lanes = 0;
    for (int warp = 0; warp < group.warps; ++warp) {
      if (mask[warp] == 0) continue;
      counters_[0]->count(group.positions.data() + warp * WARP, mask[warp], static_cast<Shape>(shapes_[warp]));
      lanes += std::popcount(mask[warp]);
    }
    counters_[0]->moved(lanes);
  }

  MemoryOpcode opcode_;
  AddressOperand address_;
  Type type_;
  std::vector<Site> sites_;
  std::vector<std::unique_ptr<RequestCounter>> counters_;
  std::vector<u8> shapes_;  // by warp
  u32 least_ = 0, most_ = 0;  // bytes of a slot that the access touches: [least, most)

 private:
  /// Whether all bytes may be used as they are: written where they are read, inside arrays.
  static bool checked(const Memory& memory, const Site& site, const u32* places, u32 active, u8 shape, u32 low, u32 high, const u8* state) {
    if (!site.reads() && memory.space != Space::global) return true;
    const int width = site.width();
    const u8 needed = site.reads() ? WRITTEN : UNWRITTEN;
    if (memory.space == Space::global) {
      for (auto [start, end] : memory.known) {
        if (low >= start && high + width <= end) return true;
      }
    }
    if (shape == CONTIGUOUS && needed == WRITTEN) {
      u64 all = ~0ull;
      for (int at = 0; at < WARP * width; at += 8) {
        u64 eight;
        std::memcpy(&eight, state + low + at, 8);
        all &= eight;
      }
      return all == 0x0202020202020202ull;
    }
    for (u32 bits = shape == UNIFORM ? 1 : active; bits; bits &= bits - 1) {
      u32 place = places[std::countr_zero(bits)];
      for (int word = 0; word < site.words; ++word) {
        if (state[place + word * site.word_bytes] < needed) return false;
      }
    }
    return true;
  }
};

class Load : public MemoryOperation {
 public:
  Load(Group& group, const Instruction& one, const MemoryOpcode& opcode) : MemoryOperation(group, one, opcode, Kind::load, 1) {
    const Operand& first = one.operands[0];
    std::size_t count = first.kind == Operand::vector ? first.items.size() : 1;
    if (static_cast<int>(count) != opcode.vector) refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
    for (std::size_t i = 0; i < count; ++i) targets_.push_back(target_of(group, count > 1 || first.kind == Operand::vector ? first.items[i] : first, type_, one));
  }

 private:
  bool quick(Group& group, const Mask& mask) override {
    if (!survey(group, mask)) return false;
    const Site& site = sites_[0];
    Launch& launch = group.launch;
    bool shared = site.space == Space::shared && launch.races;
    if (shared && !launch.races->quiet(group, least_, most_)) return false;
    count_quickly(group, mask);
    if (shared) launch.races->put_by(group, site, mask, shapes_, least_, most_);
    Memory& memory = group.memory(site.space);
    for (std::size_t word = 0; word < targets_.size(); ++word) {
      const Target& target = targets_[word];
      const u8* bytes = memory.bytes.data() + word * site.word_bytes;
      if (target.width == 4 && site.word_bytes == 4) move<u32>(group, mask, target, bytes, site.words);
      else if (target.width == 8 && site.word_bytes == 8) move<u64>(group, mask, target, bytes, site.words);
      else each_lane(mask, [&](int lane) { put(group, target, lane, read(memory, group.positions[lane] + word * site.word_bytes)); });
    }
    return true;
  }

  template <class T>
  void move(Group& group, const Mask& mask, const Target& target, const u8* bytes, int words) {
    for (int warp = 0; warp < group.warps; ++warp) {
      const u32 active = mask[warp];
      if (active == 0) continue;
      const u32* places = group.positions.data() + warp * WARP;
      T* out = reinterpret_cast<T*>(target.row.at(warp / CHUNK_WARPS)) + warp % CHUNK_WARPS * WARP;
      if (active != ~0u) {
        for (u32 bits = active; bits; bits &= bits - 1) {
          int lane = std::countr_zero(bits);
          std::memcpy(&out[lane], bytes + places[lane], sizeof(T));
        }
      } else if (shapes_[warp] == UNIFORM) {
        T value;
        std::memcpy(&value, bytes + places[0], sizeof(T));
        for (int lane = 0; lane < WARP; ++lane) out[lane] = value;
      } else if (shapes_[warp] == CONTIGUOUS && words == 1) {
        for (int lane = 0; lane < WARP; ++lane) std::memcpy(&out[lane], bytes + places[0] + lane * sizeof(T), sizeof(T));
      } else {
        for (int lane = 0; lane < WARP; ++lane) std::memcpy(&out[lane], bytes + places[lane], sizeof(T));
      }
    }
  }

  u64 read(const Memory& memory, u32 position) const {
    u64 value = 0;
    std::memcpy(&value, memory.bytes.data() + position, sites_[0].word_bytes);
    return value;
  }

  void put(Group& group, const Target& target, int lane, u64 value) const {
    int bytes = sites_[0].word_bytes;
    if (target.is_signed && value >> (8 * bytes - 1) & 1) value |= bytes < 8 ? ~0ull << 8 * bytes : 0;
    std::memcpy(group.registers.lane(target.row, lane, target.width), &value, target.extends ? target.width : bytes);
  }

  void exact(Group& group, const Site& site, RequestCounter& counter, const Mask& mask) override {
    Access access = begin(group, site, counter, mask);
    Moved moved(group.launch.trace ? targets_.size() : 0);
    for (std::size_t word = 0; word < targets_.size(); ++word) {
      for (std::size_t i = 0; i < access.lanes.size(); ++i) {
        u64 value = read(access.memory, access.positions[i] + word * site.word_bytes);
        put(group, targets_[word], access.lanes[i], value);
        if (group.launch.trace) moved[word].push_back(as_number(value, type_));
      }
    }
    if (group.launch.trace) group.launch.trace->values(access, moved);
  }

  std::vector<Target> targets_;
};

class Store : public MemoryOperation {
 public:
  Store(Group& group, const Instruction& one, const MemoryOpcode& opcode) : MemoryOperation(group, one, opcode, Kind::store, 0) {
    const Operand& value = one.operands[1];
    std::size_t count = value.kind == Operand::vector ? value.items.size() : 1;
    if (static_cast<int>(count) != opcode.vector) refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
    for (std::size_t i = 0; i < count; ++i) {
      origins_.push_back(source(group, value.kind == Operand::vector ? value.items[i] : value, type_, before_));
    }
  }

 private:
  void prepare(Group& group) override { run_steps(before_, group.chunks); }

  bool quick(Group& group, const Mask& mask) override {
    const Site& site = sites_[0];
    if (!survey(group, mask)) return false;
    count_quickly(group, mask);
    Memory& memory = group.memory(site.space);
    SharedRaces* races = site.space == Space::shared ? group.launch.races.get() : nullptr;
    if (races != nullptr) {
      Access access{group, site, memory, mask, group.addresses.data(), {}, {}};
      each_lane(mask, [&](int lane) {
        access.lanes.push_back(lane);
        access.positions.push_back(group.positions[lane]);
      });
      races->access(access);
      if (races->asks_for_values()) races->values(access, values_of(group, access.lanes));
    }
    for (std::size_t word = 0; word < origins_.size(); ++word) {
      each_lane(mask, [&](int lane) {
        std::memcpy(memory.bytes.data() + group.positions[lane] + word * site.word_bytes,
                    group.registers.lane(origins_[word], lane, site.word_bytes), site.word_bytes);
      });
    }
    each_lane(mask, [&](int lane) { mark_written(memory, group.positions[lane], site.width()); });
    return true;
  }

  /// What some lanes store, by element and lane.
  std::vector<std::vector<u64>> values_of(Group& group, const std::vector<int>& lanes) const {
    std::vector<std::vector<u64>> found(origins_.size());
    for (std::size_t word = 0; word < origins_.size(); ++word) {
      for (int lane : lanes) {
        u64 value = 0;
        std::memcpy(&value, group.registers.lane(origins_[word], lane, sites_[0].word_bytes), sites_[0].word_bytes);
        found[word].push_back(value);
      }
    }
    return found;
  }

  void exact(Group& group, const Site& site, RequestCounter& counter, const Mask& mask) override {
    Access access = begin(group, site, counter, mask);
    std::vector<std::vector<u64>> stored = values_of(group, access.lanes);
    for (std::size_t word = 0; word < origins_.size(); ++word) {
      for (std::size_t i = 0; i < access.lanes.size(); ++i) {
        std::memcpy(access.memory.bytes.data() + access.positions[i] + word * site.word_bytes, &stored[word][i], site.word_bytes);
      }
    }
    for (u32 position : access.positions) mark_written(access.memory, position, site.width());
    if (group.launch.races) group.launch.races->values(access, stored);
    if (!group.launch.trace) return;
    Moved moved(origins_.size());
    for (std::size_t word = 0; word < origins_.size(); ++word) {
      for (u64 value : stored[word]) moved[word].push_back(as_number(value, type_));
    }
    group.launch.trace->values(access, moved);
  }

  std::vector<Row> origins_;
  std::vector<Step> before_;
};

/// red and atom. Lanes that meet at one address go one after the other, in order.
class Atomic : public MemoryOperation {
 public:
  Atomic(Group& group, const Instruction& one, const MemoryOpcode& opcode, bool returns)
      : MemoryOperation(group, one, opcode, Kind::atomic, returns), swaps_(opcode.operation == "cas") {
    if (one.operands.size() != 2u + returns + swaps_) refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
    origin_ = source(group, one.operands[(swaps_ ? 2 : 1) + returns], type_, before_);
    wanted_ = source(group, one.operands[1 + returns], type_, before_);
    // What nobody reads is not returned: so does ptxas, and no loop waits for it.
    if (returns && one.operands[0].kind == Operand::register_ && group.launch.read_somewhere.contains(one.operands[0].reg)) {
      target_ = target_of(group, one.operands[0], type_, one);
      returns_ = true;
    }
  }

 private:
  void prepare(Group& group) override { run_steps(before_, group.chunks); }

  u64 operate(u64 old, u64 value) const {
    std::string_view op = opcode_.operation;
    if (op == "exch" || op == "cas") return value;
    if (op == "and") return old & value;
    if (op == "or") return old | value;
    if (op == "xor") return old ^ value;
    if (type_ == Type::f32) {
      float a = std::bit_cast<float>(static_cast<u32>(old)), b = std::bit_cast<float>(static_cast<u32>(value));
      return std::bit_cast<u32>(op == "add" ? a + b : op == "min" ? (a < b || a != a ? a : b) : (a > b || a != a ? a : b));
    }
    if (type_ == Type::f64) {
      double a = std::bit_cast<double>(old), b = std::bit_cast<double>(value);
      return std::bit_cast<u64>(op == "add" ? a + b : op == "min" ? (a < b || a != a ? a : b) : (a > b || a != a ? a : b));
    }
    int bits = 8 * bytes_of(type_);
    u64 all = bits == 64 ? ~0ull : (1ull << bits) - 1;
    auto order = [&](u64 number) {  // as an unsigned number in the order of the type
      return is_signed(type_) ? (number ^ 1ull << (bits - 1)) & all : number;
    };
    if (op == "add") return (old + value) & all;
    if (op == "min") return order(old) < order(value) ? old : value;
    if (op == "max") return order(old) > order(value) ? old : value;
    if (op == "inc") return order(old) >= order(value) ? 0 : (old + 1) & all;
    return old == 0 || order(old) > order(value) ? value : (old - 1) & all;
  }

  void exact(Group& group, const Site& site, RequestCounter& counter, const Mask& mask) override {
    Access access = begin(group, site, counter, mask);
    std::vector<u64> before, values;
    auto at = [&](u32 position) {
      u64 value = 0;
      std::memcpy(&value, access.memory.bytes.data() + position, site.word_bytes);
      return value;
    };
    auto of = [&](Row row, int lane) {
      u64 value = 0;
      std::memcpy(&value, group.registers.lane(row, lane, site.word_bytes), site.word_bytes);
      return value;
    };
    for (u32 position : access.positions) before.push_back(at(position));
    // All are read before the first is returned: a target may be a source.
    std::vector<u64> asked;
    for (int lane : access.lanes) {
      values.push_back(of(origin_, lane));
      asked.push_back(of(wanted_, lane));
    }
    for (std::size_t i = 0; i < access.lanes.size(); ++i) {
      u64 old = at(access.positions[i]);
      if (!swaps_ || old == asked[i]) {
        u64 made = operate(old, values[i]);
        std::memcpy(access.memory.bytes.data() + access.positions[i], &made, site.word_bytes);
      }
      if (returns_) std::memcpy(group.registers.lane(target_.row, access.lanes[i], target_.width), &old, site.word_bytes);
    }
    bool changed = false;
    for (std::size_t i = 0; i < access.lanes.size(); ++i) changed = changed || at(access.positions[i]) != before[i];
    if (changed) {
      ++group.batch.news;
    } else {
      // Nothing new: a thread that asks in a loop need not ask again until there is.
      group.test_failed = group.test_failed || returns_;
      group.may_end = group.may_end || returns_;
    }
    for (u32 position : access.positions) mark_written(access.memory, position, site.width());
    if (group.launch.races) group.launch.races->values(access, {values});
    if (!group.launch.trace) return;
    Moved moved(1);
    for (u64 value : values) moved[0].push_back(as_number(value, type_));
    group.launch.trace->values(access, moved);
  }

  bool swaps_, returns_ = false;
  Row origin_, wanted_;
  Target target_{};
  std::vector<Step> before_;
};

}  // namespace

std::unique_ptr<Operation> bind_memory(Group& group, const Instruction& one) {
  MemoryOpcode opcode = opcode_of(one);
  if (!opcode.known) unknown(one.opcode);
  auto need = [&](std::size_t count) {
    if (one.operands.size() != count) refuse(Refusal::ptx, "run.operands", {named("opcode", one.opcode), named("place", one.place)});
  };
  if (one.part(0) == "ld") {
    need(2);
    return std::make_unique<Load>(group, one, opcode);
  }
  if (one.part(0) == "st") {
    need(2);
    return std::make_unique<Store>(group, one, opcode);
  }
  if (one.operands.size() < 2) need(2);
  return std::make_unique<Atomic>(group, one, opcode, one.part(0) == "atom");
}

}  // namespace engine
