#include "trace.hpp"

#include <algorithm>

namespace engine {

namespace {

bool stores(Kind kind) { return kind != Kind::load && kind != Kind::copy_read; }

/// The barriers that the block of a lane has passed.
i64 window_of(const Group& group, int lane) { return (*group.batch.epoch)[group.slot(lane)]; }

}  // namespace

/// Records the first fault of each block; `say` gives the sentence for a lane.
void Trace::fault(const Access& access, const std::vector<int>& lanes, const std::function<Message(int)>& say) {
  if (access.memory.space == Space::local) return;
  std::set<u32> blocks;
  for (int lane : lanes) blocks.insert(access.group.block(lane));
  for (u32 block : blocks) {
    if (std::any_of(faults.begin(), faults.end(), [&](const Fault& one) { return one.block == block; })) continue;
    Fault found{step_, block, access.site.instruction->place.line, 0, -1, stores(access.site.kind), {}, {}, {}};
    int first = -1;
    for (int lane : lanes) {
      if (access.group.block(lane) != block) continue;
      i64 start = access.addresses[lane] - access.memory.base;
      if (first < 0) {
        first = lane;
        found.window = window_of(access.group, lane);
      }
      for (int word = 0; word < access.site.words; ++word) {
        auto [array, element] = locate(access, start + word * access.site.word_bytes);
        if (array < 0) continue;
        found.threads.push_back(access.group.thread(lane));
        found.elements.push_back(element);
      }
    }
    const NamedArray* nearest = access.memory.array_at(access.addresses[first] - access.memory.base);
    if (nearest != nullptr) found.array = number_of(access.memory.space, *nearest, access.site.word_bytes);
    found.message = say(first);
    faults.push_back(std::move(found));
  }
}

void Trace::values(const Access& access, const Moved& values) {
  if (access.memory.space == Space::local) return;
  if (access.positions.empty()) {
    // All its threads are at fault: a step, though nothing moves.
    for (const Fault& fault : faults) {
      if (fault.step == step_) {
        ++step_;
        break;
      }
    }
    return;
  }
  if (static_cast<i64>(entries.size()) >= LIMIT) {
    complete = false;
    return;
  }
  const Group& group = access.group;
  // Arrays get their numbers in the order in which memory has them.
  std::vector<i64> starts;
  for (std::size_t i = 0; i < access.lanes.size(); ++i) {
    i64 start = access.positions[i];
    if (access.memory.space == Space::shared) start -= group.slot(access.lanes[i]) * access.memory.stride;
    starts.push_back(start);
  }
  for (const NamedArray& array : access.memory.arrays) {
    bool inside = false;
    for (i64 start : starts) {
      for (std::size_t word = 0; word < values.size(); ++word) {
        i64 position = start + static_cast<i64>(word) * access.site.word_bytes;
        inside = inside || (position >= array.start && position < array.start + array.bytes);
      }
    }
    if (inside) number_of(access.memory.space, array, access.site.word_bytes);
  }
  for (std::size_t i = 0; i < access.lanes.size(); ++i) {
    int lane = access.lanes[i];
    for (std::size_t word = 0; word < values.size(); ++word) {
      auto [array, element] = locate(access, starts[i] + static_cast<i64>(word) * access.site.word_bytes);
      entries.push_back({static_cast<i32>(step_), static_cast<i32>(group.block(lane)), group.thread(lane),
                         access.site.instruction->place.line, static_cast<i32>(array), static_cast<i32>(element),
                         stores(access.site.kind), static_cast<i32>(window_of(group, lane)), values[word][i]});
    }
  }
  // The two ends of an asynchronous copy are one step.
  if (access.site.kind != Kind::copy_read) ++step_;
}

void Trace::product(const Group& group, const Instruction& instruction, const Mask& mask,
                    const std::vector<std::array<float, 2>>& factors, const std::vector<float>& results) {
  if (static_cast<i64>(products.size()) >= LIMIT) {
    complete = false;
    return;
  }
  std::size_t i = 0;
  each_lane(mask, [&](int lane) {
    products.push_back({static_cast<i32>(step_), static_cast<i32>(group.block(lane)), group.thread(lane), instruction.place.line,
                        static_cast<i32>(window_of(group, lane)), factors[i][0], factors[i][1], results[i]});
    ++i;
  });
  ++step_;
}

/// The number of the array that a byte belongs to and the element there, or -1. Of arrays that
/// overlap, the last.
std::pair<i64, i64> Trace::locate(const Access& access, i64 position) {
  std::pair<i64, i64> found{-1, -1};
  for (const NamedArray& array : access.memory.arrays) {
    if (position < array.start || position >= array.start + array.bytes) continue;
    int item = array.item_bytes ? array.item_bytes : access.site.word_bytes;
    found = {number_of(access.memory.space, array, access.site.word_bytes), (position - array.start) / item};
  }
  return found;
}

i64 Trace::number_of(Space space, const NamedArray& array, int word_bytes) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].space == space && arrays[i].name == array.name) return static_cast<i64>(i);
  }
  std::vector<i64> shape = array.shape;
  if (shape.empty()) shape.push_back(array.bytes / word_bytes);
  arrays.push_back({array.name, space, shape});
  return static_cast<i64>(arrays.size()) - 1;
}

}  // namespace engine
