#include "launch.hpp"

#include <algorithm>

#include "async_copies.hpp"
#include "hazards.hpp"
#include "never_set.hpp"
#include "shared_races.hpp"
#include "trace.hpp"

namespace engine {

namespace {

constexpr i64 RESERVED_SHARED = 1024;  // from sm_90 on the first KiB belongs to the system
constexpr u8 POISON = 0xFF;            // what memory holds before anything is written: NaN as a float

i64 shared_base(const std::string& target) {
  int number = 0;
  for (char c : target.substr(std::min<std::size_t>(3, target.size()))) number = 10 * number + (c - '0');
  return number >= 90 ? RESERVED_SHARED : 0;
}

i64 used_bytes(const std::vector<Placed>& arrays) {
  i64 most = 0;
  for (const Placed& array : arrays) most = std::max(most, array.start + array.bytes);
  return most;
}

}  // namespace

Launch::Launch() = default;
Launch::~Launch() = default;
Group::~Group() = default;

int lanes_of(const Mask& mask) {
  int sum = 0;
  for (u32 word : mask) sum += std::popcount(word);
  return sum;
}

int warps_of(const Mask& mask) {
  int sum = 0;
  for (u32 word : mask) sum += word != 0;
  return sum;
}

bool any(const Mask& mask) {
  for (u32 word : mask) {
    if (word) return true;
  }
  return false;
}

int first_lane(const Mask& mask) {
  for (std::size_t w = 0; w < mask.size(); ++w) {
    if (mask[w]) return static_cast<int>(w) * WARP + std::countr_zero(mask[w]);
  }
  return -1;
}

std::string place_name(const Dim3& index, const Dim3& sides) {
  std::string x = std::to_string(index.x), y = std::to_string(index.y), z = std::to_string(index.z);
  if (sides.z > 1) return "(" + x + ", " + y + ", " + z + ")";
  return sides.y > 1 ? "(" + x + ", " + y + ")" : x;
}

std::string source_name(const std::string& symbol) {
  // A function-local array is mangled by the Itanium C++ ABI as _ZZ<function>E<length><name>.
  auto digit = [&](std::size_t at) { return at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9'; };
  for (std::size_t at = symbol.size(); at-- > 0;) {
    if (symbol[at] != 'E' || !digit(at + 1)) continue;
    std::size_t length = 0, start = at + 1;
    while (digit(start) && length < 10000) length = 10 * length + (symbol[start++] - '0');
    if (start + length > symbol.size()) continue;
    std::string_view rest = std::string_view(symbol).substr(start + length);
    bool fits = rest.empty() || (rest.size() > 1 && rest[0] == '_');
    for (std::size_t i = 1; i < rest.size(); ++i) fits = fits && rest[i] >= '0' && rest[i] <= '9';
    if (fits) return symbol.substr(start, length);
  }
  return symbol;
}

// ---------------------------------------------------------------------------------- memories

Memory::Memory(Space space, i64 base, i64 size, int slots)
    : space(space), base(base), size(size), stride((std::max<i64>(size, 1) + 127) / 128 * 128) {
  if (stride * slots > (1ll << 31)) unknown("memory");
  bytes.assign(stride * slots + 16, POISON);
  state.assign(stride * slots + 16, UNWRITTEN);
}

void Memory::reset() {
  std::fill(bytes.begin(), bytes.end(), POISON);
  std::fill(state.begin(), state.end(), UNWRITTEN);
}

const NamedArray* Memory::array_at(i64 position) const {
  const NamedArray* nearest = nullptr;
  i64 least = 0;
  for (const NamedArray& array : arrays) {
    i64 away = std::max(array.start - position, position - array.start - array.bytes + 1);
    if (nearest == nullptr || away < least) nearest = &array, least = away;
  }
  return nearest;
}

// --------------------------------------------------------------------------------- registers

RegisterFile::RegisterFile(const Kernel& kernel, int chunks) : chunks_(chunks) {
  for (const Register& one : kernel.registers) {
    int width = one.type == Type::none ? 8 : bytes_of(one.type);
    width_.push_back(width);
    offset_.push_back(chunk_bytes_);
    chunk_bytes_ += width ? CHUNK * width : CHUNK_WARPS * 4;
  }
  bytes_.assign(static_cast<std::size_t>(chunk_bytes_) * chunks, 0);
}

Row RegisterFile::fresh(int width) {
  u32 step = width ? CHUNK * width : CHUNK_WARPS * 4;
  others_.emplace_back(new u8[static_cast<std::size_t>(step) * chunks_]());
  return {others_.back().get(), step};
}

Row RegisterFile::constant(u64 bits, int width) {
  auto [known, fresh] = constants_.try_emplace({bits, width});
  if (fresh) {
    u32 size = width ? CHUNK * width : CHUNK_WARPS * 4;
    others_.emplace_back(new u8[size]);
    u8* bytes = others_.back().get();
    if (width == 0) std::memset(bytes, bits ? 0xFF : 0, size);
    for (int lane = 0; width && lane < CHUNK; ++lane) std::memcpy(bytes + lane * width, &bits, width);
    known->second = {bytes, 0};
  }
  return known->second;
}

// ------------------------------------------------------------------------------------- blocks

Batch::Batch(Launch& launch, int slots)
    : launch(launch), slots(slots),
      shared(Space::shared, shared_base(launch.kernel.target), used_bytes(launch.shared_arrays), slots),
      numbers(slots), epoch(std::make_shared<std::vector<i64>>(slots)) {
  for (const Placed& array : launch.shared_arrays) {
    // The dynamic array is known under the names of the arrays inside it.
    bool dynamic = true, parts = false;
    for (const ArrayDeclaration& one : launch.kernel.shared) dynamic = dynamic && (one.name != array.name || one.bytes == 0);
    for (const SharedPart& part : launch.shared_parts) {
      if (!dynamic || part.start + part.bytes > array.bytes) continue;
      shared.arrays.push_back({part.name, array.start + part.start, part.bytes});
      parts = true;
    }
    if (!parts) shared.arrays.push_back({source_name(array.name), array.start, array.bytes});
  }
}

void Batch::start(std::span<const u32> blocks) {
  launch.never_set->start();
  numbers.assign(blocks.begin(), blocks.end());
  epoch = std::make_shared<std::vector<i64>>(slots);
  arrived.clear();
  shared.reset();
}

Group::Group(Batch& batch, std::vector<int> warps_of_block)
    : batch(batch), launch(batch.launch), warps(batch.slots * static_cast<int>(warps_of_block.size())),
      lanes(warps * WARP), chunks((warps + CHUNK_WARPS - 1) / CHUNK_WARPS),
      exists(chunks * CHUNK_WARPS), alive(chunks * CHUNK_WARPS), registers(launch.kernel, chunks),
      local(Space::local, 0, used_bytes(launch.local_arrays), launch.local_arrays.empty() ? 1 : lanes),
      meeting(chunks * CHUNK), copies(std::make_unique<Copies>()), positions(chunks * CHUNK), addresses(chunks * CHUNK) {
  for (int slot = 0; slot < batch.slots; ++slot) {
    for (int warp : warps_of_block) {
      int here = std::clamp(launch.threads() - warp * WARP, 0, WARP);
      exists[slot_of_warp.size()] = here == WARP ? ~0u : (1u << here) - 1;
      slot_of_warp.push_back(slot);
      first_thread.push_back(warp * WARP);
    }
  }
  slot_of_warp.resize(chunks * CHUNK_WARPS);
  first_thread.resize(chunks * CHUNK_WARPS);
  for (const Placed& array : launch.shared_arrays) symbols[array.name] = batch.shared.base + array.start;
  for (const Placed& array : launch.local_arrays) symbols[array.name] = array.start;
  for (Row& row : block_index) row = registers.fresh(4);
}

void Group::start() {
  alive = exists;
  warp_epoch = whole_epoch = std::make_shared<std::vector<i64>>(chunks * CHUNK);
  std::fill(meeting.begin(), meeting.end(), ~0u);
  copies->start(*this);
  local.reset();
  for (int lane = 0; lane < lanes; ++lane) {
    Dim3 index = index_in(launch.grid, block(lane));
    u32 axes[3] = {index.x, index.y, index.z};
    for (int axis = 0; axis < 3; ++axis) std::memcpy(registers.lane(block_index[axis], lane, 4), &axes[axis], 4);
  }
}

Memory& Group::memory(Space space) {
  return space == Space::shared ? batch.shared : space == Space::local ? local : *launch.global;
}

i64 Group::slot_start(Space space, int lane) {
  if (space == Space::shared) return slot(lane) * batch.shared.stride;
  return space == Space::local && local.size ? lane * local.stride : 0;
}

bool Group::in_one_stretch(int lane, int other_thread, i64 epoch) const {
  if (epoch == (*warp_epoch)[lane]) return true;
  return meets_in_parts && !(meeting[lane] >> other_thread % WARP & 1) && epoch >= (*whole_epoch)[lane];
}

Row Group::special(const std::string& name) {
  auto by_lane = [&](auto&& value) {
    Row row = registers.fresh(4);
    for (int lane = 0; lane < warps * WARP; ++lane) {
      u32 found = value(lane);
      std::memcpy(registers.lane(row, lane, 4), &found, 4);
    }
    return row;
  };
  auto axis = [&](const Dim3& index) { return name.back() == 'x' ? index.x : name.back() == 'y' ? index.y : index.z; };
  bool has_axis = name.size() > 2 && name[name.size() - 2] == '.' && name.back() >= 'x' && name.back() <= 'z';
  std::string base = has_axis ? name.substr(0, name.size() - 2) : name;
  if (has_axis && base == "%ctaid") return block_index[name.back() - 'x'];
  if (has_axis && base == "%tid") return by_lane([&](int lane) { return axis(index_in(launch.block, thread(lane))); });
  if (has_axis && base == "%ntid") return registers.constant(axis(launch.block), 4);
  if (has_axis && base == "%nctaid") return registers.constant(axis(launch.grid), 4);
  if (name == "%laneid") return by_lane([](int lane) { return lane % WARP; });
  if (name == "%warpid") return by_lane([&](int lane) { return thread(lane) / WARP; });
  if (name == "%lanemask_eq") return by_lane([](int lane) { return 1u << lane % WARP; });
  if (name == "%lanemask_lt") return by_lane([](int lane) { return (1u << lane % WARP) - 1; });
  if (name == "%lanemask_le") return by_lane([](int lane) { return (2u << lane % WARP) - 1; });
  if (name == "%lanemask_gt") return by_lane([](int lane) { return ~((2u << lane % WARP) - 1); });
  if (name == "%lanemask_ge") return by_lane([](int lane) { return ~((1u << lane % WARP) - 1); });
  if (name == "%smid") return registers.constant(0, 4);
  if (name == "%nsmid") return registers.constant(1, 4);
  if (name == "%nwarpid") return registers.constant(launch.warps(), 4);
  if (name == "%dynamic_smem_size") return registers.constant(launch.shared_bytes, 4);
  if (name == "%total_smem_size") return registers.constant(batch.shared.size, 4);
  if (name == "WARP_SZ") return registers.constant(WARP, 4);
  unknown(name);
}

}  // namespace engine
