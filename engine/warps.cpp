// Warps and barriers: who runs, who waits, where the parted meet again, and what the threads of a
// warp exchange.
//
// A path is a set of threads that run in lockstep. Where they part at a branch, both sides become
// paths of their own, and the threads join again at the branch's immediate post-dominator, as the
// hardware's convergence barriers make them do. A path waits at a barrier while others go on.

#include <algorithm>

#include "async_copies.hpp"
#include "hazards.hpp"
#include "never_set.hpp"
#include "shared_races.hpp"
#include "trace.hpp"

namespace engine {

namespace {

constexpr int TURN = 4096;    // basic blocks that a path may run before others have their turn
constexpr int RETRIES = 200;  // times that threads which ask in a loop may ask again
constexpr i64 REGISTER_BYTES = 6 << 20;
constexpr i64 MIN_LANES = 1024, MAX_LANES = 16384;  // that run side by side

/// All lanes of the warps that have a lane in a mask.
Mask whole_warps(Mask mask) {
  for (u32& word : mask) word = word ? ~0u : 0;
  return mask;
}

bool is_barrier(const Instruction& one) {
  return (one.part(0) == "bar" || one.part(0) == "barrier") && (one.has("sync") || one.has("arrive")) && !one.has("warp") && !one.has("cluster");
}

// ------------------------------------------------------------------------------------- paths

/// Where a path waits: one barrier, by its number.
struct Wait {
  const Instruction* instruction;
  i64 number;
};

/// Threads that run together until they meet others.
struct Path {
  int block;
  int reconvergence;
  Mask mask;
  Path* parent;
  int segment = 0;  // first segment of the block that is still to run
  std::optional<Wait> wait;
  std::optional<Mask> away;  // threads that have parted from here and not come back yet
  std::optional<std::pair<int, i64>> failed;  // block in which a test failed, and the news by then
  bool may_end = false;
  int turn = 0;
};

/// Elementwise instructions that follow each other, or one that is not such.
struct Piece {
  std::vector<Bound> run;
  bool elementwise;
  bool looks = false;  // whether some register may have no value
};

/// Pieces up to a barrier, or to the end of a basic block.
struct Segment {
  std::vector<Piece> pieces;
  const Instruction* barrier = nullptr;
};

/// A group of threads that runs a kernel, path by path.
class Program {
 public:
  Program(Batch& batch, std::vector<int> warps) : group(batch, std::move(warps)), launch_(batch.launch), code_(launch_.blocks.size()) {}

  Group group;
  std::vector<Path*> paths;  // the last runs first

  void start(bool apart) {
    group.start();
    paths.clear();
    owned_.clear();
    if (apart) {
      std::vector<int> lanes;
      each_lane(group.alive, [&](int lane) { lanes.push_back(lane); });
      for (std::size_t i = lanes.size(); i-- > 0;) {
        Mask mask(group.alive.size());
        mask[lanes[i] / WARP] = 1u << lanes[i] % WARP;
        paths.push_back(make({0, END, mask, nullptr}));
      }
    } else {
      paths.push_back(make({0, END, group.alive, nullptr}));
    }
    left_ = launch_.patience;
    mark();
  }

  void run() {
    while (Path* path = next()) advance(path);
  }

  bool can_run() { return next() != nullptr; }

  /// Lets threads go on that asked for something in vain.
  bool ask_again() {
    bool found = false;
    for (Path* path : paths) {
      if (path->wait || !path->failed || !path->may_end) continue;
      path->failed.reset();
      found = true;
    }
    return found;
  }

  /// Lets warps go on that wait only for other warps to join them: the hardware joins the threads of
  /// one warp, not those of several.
  bool part_ways() {
    bool found = false;
    std::vector<Path*> now = paths;
    for (Path* path : now) {
      if (!path->away) continue;
      Mask free = without(path->mask & group.alive, whole_warps(*path->away & group.alive));
      if (!any(free)) continue;
      paths.push_back(split(*path, free));
      found = true;
    }
    return found;
  }

  /// Takes some threads out into a path of their own at the same place.
  Path* split(Path& path, const Mask& chosen) {
    path.mask = without(path.mask, chosen);
    Path* fresh = make({path.block, path.reconvergence, chosen, path.parent});
    fresh->segment = path.segment;
    return fresh;
  }

  /// The first place of a block that the source has.
  Value whereabouts(int number) const {
    Value value = named("where", Location{});
    value.kind = Value::whereabouts;
    if (number == END) return value;
    const BasicBlock& block = launch_.blocks[number];
    for (int i = block.first; i < block.last + (block.terminator >= 0); ++i) {
      if (launch_.kernel.instructions[i].place.line == 0) continue;
      value.where = launch_.kernel.instructions[i].place;
      break;
    }
    return value;
  }

 private:
  Path* make(Path path) {
    owned_.push_back(std::make_unique<Path>(std::move(path)));
    return owned_.back().get();
  }

  void remove(Path* path) { std::erase(paths, path); }

  /// Puts marks into registers that may be read before they are written.
  void mark() {
    for (auto& [index, registers] : launch_.unset) {
      for (int reg : registers) {
        int width = group.registers.width(reg);
        u64 value = mark_of(width);
        for (int lane = 0; lane < group.lanes; ++lane) std::memcpy(group.registers.lane(group.registers.row(reg), lane, width), &value, width);
      }
    }
  }

  Path* next() {
    for (std::size_t i = paths.size(); i-- > 0;) {
      Path* path = paths[i];
      if (path->wait) continue;
      if (path->failed && *path->failed == std::pair{path->block, group.batch.news}) continue;
      if (path->away) {
        if (any(*path->away & group.alive)) continue;
        path->away.reset();
      }
      return path;
    }
    return nullptr;
  }

  /// Runs a path to the end of its block, or to a barrier.
  void advance(Path* path) {
    if (path->block == END) {
      exit(path->mask & group.alive);
      remove(path);
      return;
    }
    if (path->block == path->reconvergence) {
      remove(path);
      if (path->parent != nullptr && path->parent->away) *path->parent->away = without(*path->parent->away, path->mask);
      return;
    }
    Mask mask = path->mask & group.alive;
    int lanes = lanes_of(mask);
    if (lanes == 0) {
      remove(path);
      return;
    }
    const BasicBlock& block = launch_.blocks[path->block];
    if (path->segment == 0) begin(path, block, mask, lanes);
    std::vector<Segment>& segments = code(block);
    group.test_failed = group.may_end = false;
    for (std::size_t number = path->segment; number < segments.size(); ++number) {
      for (Piece& piece : segments[number].pieces) run(piece, mask);
      if (segments[number].barrier != nullptr) {
        path->segment = static_cast<int>(number) + 1;
        arrive(path, *segments[number].barrier, mask);
        return;
      }
    }
    path->segment = 0;
    if (group.test_failed) {
      path->failed = {block.number, group.batch.news};
      path->may_end = group.may_end;
    }
    leave(block, mask, path);
  }

  void begin(Path* path, const BasicBlock& block, const Mask& mask, int lanes) {
    if (left_ >= 0 && left_-- == 0) refuse(Refusal::endless, "run.endless", {whereabouts(block.number)});
    if (launch_.time_limit >= 0 && ++looks_ % 16 == 0 && clock_seconds() > launch_.deadline) {
      refuse(Refusal::time, "run.time", {named("done", launch_.blocks_done), named("blocks", launch_.grid.count()), whereabouts(block.number)});
    }
    launch_.tally.block_lanes[block.number] += lanes;
    launch_.tally.block_warps[block.number] += warps_of(mask);
    if (++path->turn > TURN) {
      path->turn = 0;
      remove(path);
      paths.insert(paths.begin(), path);
    }
  }

  // ---- code

  std::vector<Segment>& code(const BasicBlock& block) {
    std::optional<std::vector<Segment>>& found = code_[block.number];
    if (!found) {
      found.emplace(1);
      std::vector<int> stretch;
      for (int i = block.first; i < block.last; ++i) {
        const Instruction& one = launch_.kernel.instructions[i];
        if (!is_barrier(one)) {
          stretch.push_back(i);
          continue;
        }
        bind_stretch(found->back(), stretch);
        stretch.clear();
        found->back().barrier = &one;
        found->emplace_back();
      }
      bind_stretch(found->back(), stretch);
    }
    return *found;
  }

  void bind_stretch(Segment& segment, const std::vector<int>& stretch) {
    for (int index : gathered(stretch)) {
      Bound bound = bind(group, launch_.kernel.instructions[index]);
      bool elementwise = bound.operation == nullptr;
      if (!elementwise || segment.pieces.empty() || !segment.pieces.back().elementwise) segment.pieces.push_back({{}, elementwise});
      segment.pieces.back().looks = segment.pieces.back().looks || launch_.unset.contains(index);
      segment.pieces.back().run.push_back(std::move(bound));
    }
  }

  /// Puts independent fused multiply-adds off until another instruction needs a result, or
  /// overwrites what they read or write: long runs of them keep to few registers at a time.
  std::vector<int> gathered(const std::vector<int>& stretch) const {
    if (launch_.products) return stretch;
    std::vector<int> ordered, waiting;
    std::set<int> reads, writes;
    auto run_waiting = [&] {
      ordered.insert(ordered.end(), waiting.begin(), waiting.end());
      waiting.clear();
      reads.clear();
      writes.clear();
    };
    for (int index : stretch) {
      const Instruction& one = launch_.kernel.instructions[index];
      std::vector<int> needs = registers_read(one), gives = registers_written(one);
      bool meets = std::any_of(needs.begin(), needs.end(), [&](int reg) { return writes.contains(reg); }) ||
                   std::any_of(gives.begin(), gives.end(), [&](int reg) { return reads.contains(reg) || writes.contains(reg); });
      if (meets) run_waiting();
      bool plain = std::all_of(one.operands.begin(), one.operands.end(), [](const Operand& operand) { return operand.kind == Operand::register_; });
      if (one.opcode == "fma.rn.f32" && one.guard < 0 && plain) {
        waiting.push_back(index);
        reads.insert(needs.begin(), needs.end());
        writes.insert(gives.begin(), gives.end());
      } else {
        ordered.push_back(index);
      }
    }
    run_waiting();
    return ordered;
  }

  // ---- running

  /// The lanes of a mask in which the guard of an instruction holds.
  Mask guarded(const Bound& bound, const Mask& mask) const {
    Mask where = mask;
    if (!bound.guarded) return where;
    for (std::size_t warp = 0; warp < where.size(); ++warp) {
      u32 word = reinterpret_cast<u32*>(bound.guard.at(warp / CHUNK_WARPS))[warp % CHUNK_WARPS];
      where[warp] &= bound.guard_negated ? ~word : word;
    }
    return where;
  }

  void run(Piece& piece, const Mask& mask) {
    if (piece.elementwise && !piece.looks && !launch_.products && !launch_.never_set->follows) return run_chunks(piece, mask);
    for (Bound& bound : piece.run) run_one(bound, mask);
  }

  /// The fast way: a run of elementwise instructions, chunk after chunk.
  void run_chunks(Piece& piece, const Mask& mask) {
    for (int chunk = 0; chunk < group.chunks; ++chunk) {
      const u32* active = mask.data() + chunk * CHUNK_WARPS;
      if ((active[0] | active[1] | active[2] | active[3]) == 0) continue;
      for (Bound& bound : piece.run) {
        const u32* here = active;
        u32 chosen[CHUNK_WARPS];
        if (bound.guarded) {
          const u32* guard = reinterpret_cast<const u32*>(bound.guard.at(chunk));
          int lanes = 0, warps = 0;
          for (int warp = 0; warp < CHUNK_WARPS; ++warp) {
            chosen[warp] = active[warp] & (bound.guard_negated ? ~guard[warp] : guard[warp]);
            lanes += std::popcount(chosen[warp]);
            warps += chosen[warp] != 0;
          }
          if (lanes == 0) continue;
          launch_.tally.guarded_lanes[bound.instruction] += lanes;
          launch_.tally.guarded_warps[bound.instruction] += warps;
          here = chosen;
        }
        for (const Step& step : bound.steps) step.run(step, chunk, here);
      }
    }
  }

  void run_one(Bound& bound, const Mask& mask) {
    const Instruction& one = launch_.kernel.instructions[bound.instruction];
    Mask where = guarded(bound, mask);
    auto bare = [&](const Mask& chosen) {
      if (bound.operation) return bound.operation->run(group, chosen);
      for (int chunk = 0; chunk < group.chunks; ++chunk) {
        for (const Step& step : bound.steps) step.run(step, chunk, chosen.data() + chunk * CHUNK_WARPS);
      }
    };
    auto run = [&] {
      if (!any(where)) return;
      if (bound.guarded) {
        launch_.tally.guarded_lanes[bound.instruction] += lanes_of(where);
        launch_.tally.guarded_warps[bound.instruction] += warps_of(where);
      }
      look(one, where);
      if (launch_.products && one.opcode == "fma.rn.f32") return multiply(one, bound, where, bare);
      bare(where);
    };
    if (launch_.never_set->follows) return launch_.never_set->step(group, one, mask, where, run, bare);
    run();
  }

  /// Tells of registers without a value.
  void look(const Instruction& one, const Mask& where) {
    auto unset = launch_.unset.find(one.index);
    if (unset == launch_.unset.end()) return;
    int first = -1;
    for (int reg : unset->second) {
      int width = group.registers.width(reg);
      each_lane(where, [&](int lane) {
        u64 value = 0;
        std::memcpy(&value, group.registers.lane(group.registers.row(reg), lane, width), width);
        if (value == mark_of(width) && (first < 0 || lane < first)) first = lane;
      });
    }
    if (first >= 0) launch_.hazards->unset(group, first, one);
  }

  template <class F>
  void multiply(const Instruction& one, Bound& bound, const Mask& where, F&& bare) {
    std::vector<std::array<float, 2>> factors;
    std::vector<float> results;
    const Step& step = bound.steps.back();
    auto at = [&](Row row, int lane) {
      float value;
      std::memcpy(&value, group.registers.lane(row, lane, 4), 4);
      return value;
    };
    // Before the step: its target may be one of its factors.
    each_lane(where, [&](int lane) { factors.push_back({at(step.in[0], lane), at(step.in[1], lane)}); });
    bare(where);
    each_lane(where, [&](int lane) { results.push_back(at(step.out[0], lane)); });
    launch_.trace->product(group, one, where, factors, results);
  }

  // ---- barriers and branches

  Mask decided(const Instruction& one, const Mask& mask) {
    launch_.never_set->decides(group, {one.guard}, mask);
    Bound bound;
    bound.guarded = true;
    bound.guard_negated = one.guard_negated;
    bound.guard = group.registers.row(one.guard);
    return guarded(bound, mask);
  }

  /// Threads come to a barrier and wait there as one path.
  void arrive(Path* path, const Instruction& barrier, const Mask& mask) {
    Mask arrived = barrier.guard < 0 ? mask : decided(barrier, mask);
    if (arrived != mask) paths.push_back(split(*path, without(mask, arrived)));
    Path* one = path;
    if (lanes_of(arrived) != lanes_of(path->mask & group.alive)) {
      one = split(*path, arrived);
      paths.push_back(one);
    }
    one->wait = Wait{&barrier, barrier.operands.empty() ? 0 : barrier.operands[0].value};
  }

  /// Threads return. Those of their warp that wait at a barrier will wait for them in vain.
  void exit(const Mask& leaving) {
    group.alive = without(group.alive, leaving);
    for (Path* path : paths) {
      if (!path->wait) continue;
      Mask fellows = whole_warps(path->mask);
      Mask missing = leaving & fellows;
      if (any(missing)) launch_.hazards->barrier_missed(group, *path->wait->instruction, missing);
      Mask others = without(leaving, fellows);
      std::set<int> slots;
      each_lane(path->mask, [&](int lane) { slots.insert(group.slot(lane)); });
      for (std::size_t warp = 0; warp < others.size(); ++warp) {
        if (!slots.contains(group.slot_of_warp[warp])) others[warp] = 0;
      }
      if (any(others)) launch_.hazards->barrier_skipped(group, first_lane(others), *path->wait->instruction);
    }
  }

  /// Follows the terminator of a block, parting the threads if they disagree.
  void leave(const BasicBlock& block, const Mask& mask, Path* path) {
    const Instruction* end = block.terminator < 0 ? nullptr : &launch_.kernel.instructions[block.terminator];
    if (end == nullptr || end->guard < 0) {
      if (end != nullptr && block.target == END) exit(mask);
      path->block = end == nullptr ? block.fall_through : block.target;
      return;
    }
    Mask taken = decided(*end, mask);
    int count = lanes_of(taken);
    bool exits = block.target == END;
    if (exits && count) exit(taken);
    if (exits || count == 0) {
      path->block = block.fall_through;
    } else if (count == lanes_of(mask)) {
      path->block = block.target;
    } else {
      part(block, mask, taken, path);
    }
  }

  void part(const BasicBlock& block, const Mask& mask, const Mask& taken, Path* path) {
    path->block = block.reconvergence;
    Path* parent = path;
    if (path->block == path->reconvergence) {
      // Those who wait below already know these threads: no second wait is needed.
      remove(path);
      parent = path->parent;
    } else {
      path->away = mask;
    }
    paths.push_back(make({block.fall_through, block.reconvergence, without(mask, taken), parent}));
    paths.push_back(make({block.target, block.reconvergence, taken, parent}));
  }

  Launch& launch_;
  std::vector<std::optional<std::vector<Segment>>> code_;
  std::vector<std::unique_ptr<Path>> owned_;
  i64 left_ = -1;
  u32 looks_ = 0;
};

// ---------------------------------------------------------------------------------- barriers
//
// A barrier counts threads. It opens when all threads of the block that have not returned wait at a
// barrier of its number, whichever instruction brought them there. PTX wants all threads of one warp
// at the same instruction; warps may come by different ones.

using Programs = std::vector<std::unique_ptr<Program>>;

/// Threads at a barrier.
struct Waiting {
  Program* program;
  Path* path;
  Wait wait;
  Mask lanes;
};

std::vector<Waiting> who_waits(const Programs& programs) {
  std::vector<Waiting> found;
  for (auto& program : programs) {
    for (Path* path : program->paths) {
      if (path->wait) found.push_back({program.get(), path, *path->wait, path->mask & program->group.alive});
    }
  }
  return found;
}

void add_per_slot(const Group& group, const Mask& mask, std::vector<i64>& sums) {
  for (std::size_t warp = 0; warp < mask.size(); ++warp) sums[group.slot_of_warp[warp]] += std::popcount(mask[warp]);
}

std::vector<i64> per_slot(const Batch& batch, const std::vector<const Waiting*>& waiting) {
  std::vector<i64> sums(batch.slots);
  for (const Waiting* one : waiting) add_per_slot(one->program->group, one->lanes, sums);
  return sums;
}

std::vector<i64> alive_per_slot(const Batch& batch, const Programs& programs) {
  std::vector<i64> sums(batch.slots);
  for (auto& program : programs) add_per_slot(program->group, program->group.alive, sums);
  return sums;
}

/// The lanes of a mask whose block is one of some slots.
Mask in_slots(const Group& group, Mask mask, const std::vector<bool>& slots) {
  for (std::size_t warp = 0; warp < mask.size(); ++warp) {
    if (!slots[group.slot_of_warp[warp]]) mask[warp] = 0;
  }
  return mask;
}

/// Says where the threads that meet have come by different instructions.
void check_meeting(Launch& launch, const std::vector<bool>& complete, const std::vector<const Waiting*>& waiting) {
  std::set<int> sites;
  for (const Waiting* one : waiting) sites.insert(one->wait.instruction->index);
  if (sites.size() < 2) return;
  std::vector<Program*> seen;
  for (const Waiting* first : waiting) {
    if (std::find(seen.begin(), seen.end(), first->program) != seen.end()) continue;
    seen.push_back(first->program);
    const Group& group = first->program->group;
    std::vector<int> site(group.lanes, -1);
    for (const Waiting* one : waiting) {
      if (one->program != first->program) continue;
      each_lane(in_slots(group, one->lanes, complete), [&](int lane) { site[lane] = one->wait.instruction->index; });
    }
    Mask missing(group.alive.size());
    std::vector<int> most(group.warps, -1);
    for (int lane = 0; lane < group.lanes; ++lane) most[lane / WARP] = std::max(most[lane / WARP], site[lane]);
    for (int lane = 0; lane < group.lanes; ++lane) {
      if (site[lane] >= 0 && site[lane] != most[lane / WARP]) missing[lane / WARP] |= 1u << lane % WARP;
    }
    if (any(missing)) {
      launch.hazards->barrier_missed(group, launch.kernel.instructions[most[first_lane(missing) / WARP]], missing);
      return;
    }
  }
  std::vector<const Waiting*> ordered = waiting;
  std::stable_sort(ordered.begin(), ordered.end(), [](auto* a, auto* b) { return a->wait.instruction->index < b->wait.instruction->index; });
  const Waiting* first = ordered[0];
  for (const Waiting* other : ordered) {
    if (other->wait.instruction == first->wait.instruction) continue;
    std::vector<i64> mine(complete.size()), theirs(complete.size());
    add_per_slot(first->program->group, first->lanes, mine);
    const Group& group = other->program->group;
    add_per_slot(group, other->lanes, theirs);
    for (std::size_t slot = 0; slot < complete.size(); ++slot) {
      if (!mine[slot] || !theirs[slot] || !complete[slot]) continue;
      std::vector<bool> chosen(complete.size());
      chosen[slot] = true;
      int lane = first_lane(in_slots(group, other->lanes, chosen));
      launch.hazards->barrier_split(group, lane, *other->wait.instruction, *first->wait.instruction);
      break;
    }
  }
}

/// Opens a barrier in the slots where it is complete.
void let_go(Batch& batch, const std::vector<bool>& complete, const std::vector<const Waiting*>& waiting, const Programs& programs) {
  std::vector<i64> came = per_slot(batch, waiting), alive = alive_per_slot(batch, programs);
  auto epoch = std::make_shared<std::vector<i64>>(*batch.epoch);
  i64 opened = 0;
  int first = waiting[0]->wait.instruction->index;
  for (const Waiting* one : waiting) first = std::min(first, one->wait.instruction->index);
  for (int slot = 0; slot < batch.slots; ++slot) {
    if (!complete[slot]) continue;
    ++opened;
    (*epoch)[slot] += came[slot] == alive[slot];
  }
  batch.epoch = epoch;
  ++batch.news;
  batch.launch.tally.barriers[first] += opened;
  for (const Waiting* one : waiting) {
    Mask free = in_slots(one->program->group, one->lanes, complete);
    if (free == one->lanes) {
      one->path->wait.reset();
    } else if (any(free)) {
      one->program->paths.push_back(one->program->split(*one->path, free));
    }
  }
}

/// Lets go all threads whose barrier is complete; tells whether there were any.
bool open_barriers(Batch& batch, const Programs& programs) {
  std::vector<Waiting> all = who_waits(programs);
  std::vector<std::pair<i64, std::vector<const Waiting*>>> by_number;
  for (const Waiting& one : all) {
    auto known = std::find_if(by_number.begin(), by_number.end(), [&](auto& pair) { return pair.first == one.wait.number; });
    if (known == by_number.end()) known = by_number.insert(by_number.end(), {one.wait.number, {}});
    known->second.push_back(&one);
  }
  bool opened = false;
  for (auto& [number, waiting] : by_number) {
    std::vector<i64> came = per_slot(batch, waiting), alive = alive_per_slot(batch, programs);
    std::vector<bool> complete(batch.slots);
    bool some = false;
    for (int slot = 0; slot < batch.slots; ++slot) {
      complete[slot] = came[slot] > 0 && came[slot] == alive[slot];
      some = some || complete[slot];
    }
    if (!some) continue;
    check_meeting(batch.launch, complete, waiting);
    let_go(batch, complete, waiting, programs);
    opened = true;
  }
  return opened;
}

/// Nothing can go on. Says why, and lets go who waits at a barrier of its block.
void give_up(Batch& batch, const Programs& programs) {
  std::vector<Waiting> all = who_waits(programs);
  if (all.empty()) {
    for (auto& program : programs) {
      if (!program->paths.empty()) refuse(Refusal::stuck, "run.stuck", {program->whereabouts(program->paths.back()->block)});
    }
  }
  const Waiting* one = &all[0];
  for (const Waiting& other : all) {
    if (other.wait.instruction->index < one->wait.instruction->index) one = &other;
  }
  std::vector<i64> came = per_slot(batch, {one});
  std::vector<bool> present(batch.slots);
  for (int slot = 0; slot < batch.slots; ++slot) present[slot] = came[slot] > 0;
  for (auto& program : programs) {
    Mask missing = in_slots(program->group, program->group.alive, present);
    if (program.get() == one->program) missing = without(missing, one->lanes);
    if (!any(missing)) continue;
    batch.launch.hazards->barrier_missed(program->group, *one->wait.instruction, missing);
    break;
  }
  let_go(batch, present, {one}, programs);
}

/// Runs all threads of the blocks in a batch, from barrier to barrier. With `apart` each thread runs
/// on its own: one after the other up to their next barrier.
void run_to_the_end(Batch& batch, const Programs& programs, bool apart) {
  for (auto& program : programs) program->start(apart);
  int retries = RETRIES;
  while (true) {
    for (auto& program : programs) program->run();
    bool done = std::all_of(programs.begin(), programs.end(), [](auto& one) { return one->paths.empty(); });
    if (done) return;
    bool going = open_barriers(batch, programs);
    for (auto& program : programs) going = going || program->can_run();
    if (going) continue;
    for (auto& program : programs) going = program->part_ways() || going;
    if (going) continue;
    for (auto& program : programs) going = (retries > 0 && program->ask_again()) || going;
    if (going) {
      --retries;
      continue;
    }
    give_up(batch, programs);
  }
}

/// How many blocks run side by side. Too few and the time of decoding shows, too many and the
/// registers no longer fit the processor's cache.
int default_slots(const Launch& launch) {
  const i64 blocks = static_cast<i64>(launch.numbers.size());
  if (launch.together) return static_cast<int>(blocks);
  std::set<int> registers;
  for (const Instruction& one : launch.kernel.instructions) {
    for (const Operand& operand : one.operands) {
      if (operand.kind == Operand::register_) registers.insert(operand.reg);
    }
  }
  i64 per_lane = 0;
  for (int reg : registers) {
    const std::string& name = launch.kernel.registers[reg].name;
    per_lane += name.size() > 1 && name[1] == 'p' ? 1 : 4;
  }
  i64 lanes = std::clamp(REGISTER_BYTES / std::max<i64>(per_lane, 1), MIN_LANES, MAX_LANES);
  return static_cast<int>(std::max<i64>(1, std::min(blocks, lanes / (launch.warps() * WARP))));
}

}  // namespace

void run(Launch& launch) {
  const std::size_t count = launch.numbers.size();
  const bool lockstep = launch.schedule == Schedule::lockstep;
  const std::size_t slots = lockstep ? default_slots(launch) : 1;
  std::unique_ptr<Batch> batch;
  Programs programs;
  for (std::size_t first = 0; first < count; first += slots) {
    std::span<const u32> numbers(launch.numbers.data() + first, std::min(slots, count - first));
    if (batch == nullptr || batch->slots != static_cast<int>(numbers.size())) {
      programs.clear();
      batch = std::make_unique<Batch>(launch, static_cast<int>(numbers.size()));
      std::vector<int> warps;
      for (int warp = 0; warp < launch.warps(); ++warp) {
        warps.push_back(warp);
        if (lockstep) continue;
        programs.push_back(std::make_unique<Program>(*batch, warps));
        warps.clear();
      }
      if (lockstep) programs.push_back(std::make_unique<Program>(*batch, warps));
    }
    batch->start(numbers);
    run_to_the_end(*batch, programs, launch.schedule == Schedule::threads);
    launch.blocks_done = static_cast<u32>(first + numbers.size());
    tell_progress(launch.blocks_done, static_cast<u32>(count));
  }
}

// ------------------------------------------------------- what threads of a warp exchange

namespace {

u32 word_of(const Group& group, Row row, int lane) {
  u32 value;
  std::memcpy(&value, group.registers.lane(row, lane, 4), 4);
  return value;
}

/// shfl.sync, by the pseudo-code of the PTX manual.
class Shuffle : public Operation {
 public:
  Shuffle(Group& group, const Instruction& one) : mode_(one.part(2)) {
    const Operand& first = one.operands[0];
    bool known = one.parts.size() == 4 && one.part(1) == "sync" && one.part(3) == "b32" &&
                 (mode_ == "up" || mode_ == "down" || mode_ == "bfly" || mode_ == "idx");
    if (!known || one.operands.size() < 4 || (first.kind != Operand::register_ && first.kind != Operand::pair)) unknown(one.opcode);
    if (group.registers.width(first.reg) != 4) unknown(one.opcode);
    target_ = group.registers.row(first.reg);
    if (first.kind == Operand::pair) {
      if (group.registers.width(first.second) != 0) unknown(one.opcode);
      in_range_ = group.registers.row(first.second);
    }
    for (int i = 0; i < 3; ++i) rows_[i] = source(group, one.operands[i + 1], Type::u32, before_);
  }

  void run(Group& group, const Mask& mask) override {
    run_steps(before_, group.chunks);
    for (int warp = 0; warp < group.warps; ++warp) {
      if (mask[warp] == 0) continue;
      u32 moved[WARP], ranges = 0;
      for (int lane = 0; lane < WARP; ++lane) {
        i32 by = word_of(group, rows_[1], warp * WARP + lane) & 31;
        u32 control = word_of(group, rows_[2], warp * WARP + lane);
        i32 segment = control >> 8 & 31, clamp = control & 31, lowest = lane & segment, limit = lowest | (clamp & ~segment);
        i32 from = mode_ == "up" ? lane - by : mode_ == "down" ? lane + by : mode_ == "bfly" ? lane ^ by : lowest | (by & ~segment);
        bool fits = mode_ == "up" ? from >= limit : from <= limit;
        if (!fits) from = lane;
        moved[lane] = word_of(group, rows_[0], warp * WARP + (from & 31));
        ranges |= static_cast<u32>(fits) << lane;
      }
      for (u32 bits = mask[warp]; bits; bits &= bits - 1) {
        int lane = std::countr_zero(bits);
        std::memcpy(group.registers.lane(target_, warp * WARP + lane, 4), &moved[lane], 4);
      }
      if (in_range_.base) {
        u32& word = reinterpret_cast<u32*>(in_range_.at(warp / CHUNK_WARPS))[warp % CHUNK_WARPS];
        word = (word & ~mask[warp]) | (ranges & mask[warp]);
      }
    }
  }

 private:
  std::string mode_;
  Row target_, in_range_;
  std::array<Row, 3> rows_;
  std::vector<Step> before_;
};

/// vote.sync and activemask.
class Vote : public Operation {
 public:
  Vote(Group& group, const Instruction& one) {
    bool mask_only = one.part(0) == "activemask";
    mode_ = mask_only ? "active" : std::string(one.part(2));
    bool ballot = mode_ == "ballot" && one.last() == "b32", predicate = (mode_ == "any" || mode_ == "all" || mode_ == "uni") && one.last() == "pred";
    if ((!mask_only && !ballot && !predicate) || one.operands.empty() || one.operands[0].kind != Operand::register_) unknown(one.opcode);
    writes_bits_ = !predicate;
    if (group.registers.width(one.operands[0].reg) != (writes_bits_ ? 4 : 0)) unknown(one.opcode);
    target_ = group.registers.row(one.operands[0].reg);
    if (mask_only) return;
    const Operand& asked = one.operands[1];
    if (asked.kind == Operand::immediate) {
      asked_ = group.registers.constant(asked.value != 0, 0);
    } else if ((asked.kind == Operand::register_ || asked.kind == Operand::negated) && group.registers.width(asked.reg) == 0) {
      asked_ = group.registers.row(asked.reg);
      negated_ = asked.kind == Operand::negated;
    } else {
      unknown(one.opcode);
    }
  }

  void run(Group& group, const Mask& mask) override {
    for (int warp = 0; warp < group.warps; ++warp) {
      u32 active = mask[warp];
      if (active == 0) continue;
      u32 holds = active;
      if (asked_.base) {
        u32 word = reinterpret_cast<u32*>(asked_.at(warp / CHUNK_WARPS))[warp % CHUNK_WARPS];
        holds &= negated_ ? ~word : word;
      }
      if (writes_bits_) {
        for (u32 bits = active; bits; bits &= bits - 1) {
          std::memcpy(group.registers.lane(target_, warp * WARP + std::countr_zero(bits), 4), &holds, 4);
        }
        continue;
      }
      bool result = mode_ == "any" ? holds != 0 : mode_ == "all" ? holds == active : holds == active || holds == 0;
      u32& word = reinterpret_cast<u32*>(target_.at(warp / CHUNK_WARPS))[warp % CHUNK_WARPS];
      word = (word & ~active) | (result ? active : 0);
    }
  }

 private:
  std::string mode_;
  bool writes_bits_ = false, negated_ = false;
  Row target_, asked_;
};

/// __syncwarp(); with a mask of some lanes it orders those alone.
class WarpBarrier : public Operation {
 public:
  WarpBarrier(Group& group, const Instruction& one) {
    if (one.opcode != "bar.warp.sync") unknown(one.opcode);
    members_ = one.operands.empty() ? group.registers.constant(~0u, 4) : source(group, one.operands[0], Type::u32, before_);
  }

  void run(Group& group, const Mask& mask) override {
    run_steps(before_, group.chunks);
    auto epoch = std::make_shared<std::vector<i64>>(*group.warp_epoch), whole = std::make_shared<std::vector<i64>>(*group.whole_epoch);
    each_lane(mask, [&](int lane) {
      u32 named = word_of(group, members_, lane), running = mask[lane / WARP] & group.alive[lane / WARP];
      bool all = (named & running) == running;
      ++(*epoch)[lane];
      group.meeting[lane] = all ? ~0u : named;
      if (all) (*whole)[lane] = (*epoch)[lane];
      else group.meets_in_parts = true;
    });
    group.warp_epoch = epoch;
    group.whole_epoch = whole;
  }

 private:
  Row members_;
  std::vector<Step> before_;
};

}  // namespace

std::unique_ptr<Operation> bind_exchange(Group& group, const Instruction& one) {
  if (one.part(0) == "shfl") return std::make_unique<Shuffle>(group, one);
  if (one.part(0) == "bar") return std::make_unique<WarpBarrier>(group, one);
  return std::make_unique<Vote>(group, one);
}

}  // namespace engine
