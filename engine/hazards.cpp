#include "hazards.hpp"

#include "trace.hpp"

namespace engine {

namespace {

const char* verb(Kind kind) {
  switch (kind) {
    case Kind::load: return "verb.load";
    case Kind::store: return "verb.store";
    case Kind::atomic: return "verb.atomic";
    case Kind::copy_read: return "verb.copy read";
    default: return "verb.copy write";
  }
}

Value said(std::string name, std::string key) {
  Value value = named(std::move(name), std::move(key));
  value.kind = Value::sentence;
  return value;
}

Dim3 block_of(const Group& group, int lane) { return index_in(group.launch.grid, group.block(lane)); }
Dim3 thread_of(const Group& group, int lane) { return index_in(group.launch.block, group.thread(lane)); }

const char* name_of(Space space) {
  switch (space) {
    case Space::shared: return "shared";
    case Space::local: return "local";
    default: return "global";
  }
}

/// Index of an element in its array's shape; one-dimensional where the shape is not known.
std::vector<i64> element_index(const NamedArray& array, i64 flat) {
  i64 count = 1;
  for (i64 side : array.shape) count *= side;
  if (array.shape.size() < 2 || flat < 0 || flat >= count) return {flat};
  std::vector<i64> index(array.shape.size());
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] = flat % array.shape[axis];
    flat /= array.shape[axis];
  }
  return index;
}

i64 floor_divide(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

bool same(const Hazard& one, const Hazard& other) {
  return one.kind == other.kind && one.place == other.place && one.has_array == other.has_array && one.array == other.array;
}

/// Who accesses what.
struct HazardLog::Place {
  const Access& access;
  Dim3 block, thread;
  const NamedArray* array;
  int item_bytes;
  i64 flat = 0;
  std::vector<i64> element;

  /// `position`: of the byte in memory.bytes; without one the place that the lane addresses.
  Place(const Access& access, int lane, std::optional<i64> position = {})
      : access(access), block(block_of(access.group, lane)), thread(thread_of(access.group, lane)) {
    i64 place = position ? *position : access.addresses[lane] - access.memory.base;
    if (position && access.memory.space != Space::global) place -= access.group.slot(lane) * access.memory.stride;
    array = access.memory.array_at(place);
    item_bytes = access.site.word_bytes;
    if (array == nullptr) return;
    if (array->item_bytes) item_bytes = array->item_bytes;
    flat = floor_divide(place - array->start, item_bytes);
    element = element_index(*array, flat);
  }

  Value name() const {
    if (array == nullptr) return said("name", "hazard.memory");
    std::string text = array->name;
    for (i64 index : element) text += "[" + std::to_string(index) + "]";
    return named("name", text);
  }

  Hazard hazard(const std::string& kind, std::string key, Values values = {}) const {
    const Launch& launch = access.group.launch;
    Hazard found;
    found.kind = kind;
    found.place = access.site.instruction->place;
    values.push_back(said("verb", verb(access.site.kind)));
    values.push_back(name());
    found.message = {"hazard.who",
                     {named("place", found.place), named("thread", place_name(thread, launch.block)),
                      named("block", place_name(block, launch.grid))},
                     std::move(key), std::move(values)};
    found.block = block;
    found.thread = thread;
    if (array != nullptr) {
      found.array = array->name;
      found.has_array = found.has_element = true;
      found.element = element;
    }
    return found;
  }

  Hazard outside() const {
    if (array == nullptr) return hazard("out of bounds", "hazard.undeclared", {named("space", name_of(access.memory.space))});
    std::string size;
    for (i64 side : array->shape) size += (size.empty() ? "" : " × ") + std::to_string(side);
    if (size.empty()) size = std::to_string(array->bytes / item_bytes);
    return hazard("out of bounds", "hazard.outside", {named("flat", flat), named("array", array->name), named("size", size)});
  }

  Hazard crooked() const { return hazard("misaligned", "hazard.misaligned", {named("width", access.site.width())}); }
};

bool HazardLog::is_new(const std::string& kind, int instruction) { return seen_.insert({kind, {0, instruction, 0}}).second; }
bool HazardLog::is_new(const std::string& kind, Location place) { return seen_.insert({kind, {1, place.file, place.line}}).second; }

void HazardLog::fault(const std::string& kind, const Access& access, const std::vector<int>& lanes) {
  auto say = [&](int lane) {
    Place place(access, lane);
    return kind == "misaligned" ? place.crooked() : place.outside();
  };
  if (is_new(kind, access.site.instruction->index)) keep(say(lanes[0]));
  if (launch_.trace) {
    launch_.trace->fault(access, lanes, [&](int lane) { return say(lane).message; });
  }
}

void HazardLog::out_of_bounds(const Access& access, const std::vector<int>& lanes) { fault("out of bounds", access, lanes); }
void HazardLog::misaligned(const Access& access, const std::vector<int>& lanes) { fault("misaligned", access, lanes); }

Suspect HazardLog::unwritten(const Access& access, int lane) {
  return {Place(access, lane).hazard("unwritten", "hazard.unwritten"), ++time_};
}

Hazard HazardLog::of_barrier(const char* kind, const Group& group, int lane, const Instruction& site, Message message) const {
  Hazard found;
  found.kind = kind;
  found.place = site.place;
  found.block = block_of(group, lane);
  found.thread = thread_of(group, lane);
  message.values.push_back(named("place", site.place));
  message.values.push_back(named("block", place_name(found.block, launch_.grid)));
  message.values.push_back(named("thread", place_name(found.thread, launch_.block)));
  found.message = std::move(message);
  return found;
}

void HazardLog::unset(const Group& group, int lane, const Instruction& site) {
  if (is_new("unset", site.place)) {
    warnings.push_back(of_barrier("unset", group, lane, site, {"hazard.who", {}, "hazard.unset", {}}));
  }
}

void HazardLog::barrier_missed(const Group& group, const Instruction& site, const Mask& missing) {
  if (!is_new("barrier", site.place)) return;
  int lane = first_lane(missing);
  i64 count = 0;
  each_lane(missing, [&](int other) { count += group.slot(other) == group.slot(lane); });
  kept_[++time_] = of_barrier("barrier", group, lane, site, {"barrier.missed", {named("count", count)}, {}, {}});
}

void HazardLog::barrier_starved(const Group& group, int lane, const Instruction& site, i64 came, i64 expected) {
  if (!is_new("barrier", site.place)) return;
  kept_[++time_] = of_barrier("barrier", group, lane, site,
                              {"barrier.starved", {named("came", came), named("expected", expected)}, {}, {}});
}

void HazardLog::barrier_skipped(const Group& group, int lane, const Instruction& site) {
  if (is_new("split barrier", site.place)) {
    warnings.push_back(of_barrier("split barrier", group, lane, site, {"barrier.skipped", {}, {}, {}}));
  }
}

void HazardLog::barrier_split(const Group& group, int lane, const Instruction& site, const Instruction& other) {
  if (!is_new("split barrier", site.place)) return;
  Hazard found = of_barrier("split barrier", group, lane, site, {"barrier.split", {named("line", other.place.line)}, {}, {}});
  found.other_place = other.place;
  warnings.push_back(std::move(found));
}

namespace {

/// Whether every warp of a lane's block takes part in an access, as far as is known.
bool whole_block_comes(const Access& access, int lane) {
  const Group& group = access.group;
  if (access.mask == group.exists && lanes_of(group.exists) == group.lanes) return true;
  if (group.warps < group.batch.slots * group.launch.warps()) return true;
  for (int warp = 0; warp < group.warps; ++warp) {
    if (group.slot_of_warp[warp] != group.slot(lane)) continue;
    if (((group.alive[warp] & access.mask[warp]) != 0) != (group.alive[warp] != 0)) return false;
  }
  return true;
}

}  // namespace

void HazardLog::race(const Access& access, int lane, i64 position, int other_thread, const Instruction& other, bool together) {
  bool across = access.group.thread(lane) / WARP != other_thread / WARP;
  if (!is_new(across ? "race across warps" : "race", access.site.instruction->index)) return;
  Place place(access, lane, position);
  Dim3 second = index_in(launch_.block, other_thread);
  const char* key = together ? "hazard.together"
                    : whole_block_comes(access, lane) ? "hazard.race"
                    : across ? "hazard.race of parts" : "hazard.race in warp";
  Hazard found = place.hazard("race", key, {named("other", place_name(second, launch_.block)), named("line", other.place.line)});
  found.other_thread = second;
  found.other_place = other.place;
  found.across_warps = across;
  keep(std::move(found));
}

void HazardLog::in_flight(const Access& access, int lane, i64 position) {
  if (is_new("in flight", access.site.instruction->index)) keep(Place(access, lane, position).hazard("in flight", "hazard.in flight"));
}

void HazardLog::keep(Hazard hazard) {
  ++time_;
  once(hazard, time_);
}

/// Keeps a hazard that was met at some time; of two that say the same, the first one.
void HazardLog::once(const Hazard& hazard, i64 time) {
  for (auto& [met, old] : kept_) {
    if (!same(old, hazard)) continue;
    // Between two warps a race is plain.
    if (hazard.across_warps && !old.across_warps) {
      old = hazard;
    } else if (time < met) {
      i64 later = met;
      kept_.erase(later);
      kept_[time] = hazard;
    }
    return;
  }
  kept_[time] = hazard;
}

}  // namespace engine
