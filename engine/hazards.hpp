// What is wrong with a kernel, found while it runs.

#pragma once

#include <functional>

#include "memory.hpp"

namespace engine {

/// A sentence of sentences.json and what it names; `about` stands for "what" in it.
struct Message {
  std::string key;
  Values values;
  std::string about;
  Values about_values;
};

/// Something wrong at one source line.
struct Hazard {
  std::string kind;
  Location place;
  Message message;
  Dim3 block, thread;
  std::string array;
  bool has_array = false;
  std::vector<i64> element;
  bool has_element = false;
  std::optional<Dim3> other_thread;
  std::optional<Location> other_place;
  bool across_warps = false;
};

/// A hazard if it does harm.
struct Suspect {
  Hazard hazard;
  i64 time = 0;
};

/// Whether a reader would be told the same of both.
bool same(const Hazard& one, const Hazard& other);

/// Keeps the first hazard of each kind at each instruction.
class HazardLog {
 public:
  explicit HazardLog(Launch& launch) : launch_(launch) {}

  void out_of_bounds(const Access& access, const std::vector<int>& lanes);
  void misaligned(const Access& access, const std::vector<int>& lanes);
  Suspect unwritten(const Access& access, int lane);
  void confirm(const Suspect& suspect) { once(suspect.hazard, suspect.time); }
  void unset(const Group& group, int lane, const Instruction& site);
  void barrier_missed(const Group& group, const Instruction& site, const Mask& missing);
  void barrier_starved(const Group& group, int lane, const Instruction& site, i64 came, i64 expected);
  void barrier_skipped(const Group& group, int lane, const Instruction& site);
  void barrier_split(const Group& group, int lane, const Instruction& site, const Instruction& other);
  /// Two threads meet at one shared element with no barrier between. `together`: they are lanes of
  /// one warp that store different values with one instruction.
  void race(const Access& access, int lane, i64 position, int other_thread, const Instruction& other, bool together);
  void in_flight(const Access& access, int lane, i64 position);

  const std::map<i64, Hazard>& found() const { return kept_; }
  std::vector<Hazard> warnings;

 private:
  struct Place;
  bool is_new(const std::string& kind, int instruction);
  bool is_new(const std::string& kind, Location place);
  void fault(const std::string& kind, const Access& access, const std::vector<int>& lanes);
  void keep(Hazard hazard);
  void once(const Hazard& hazard, i64 time);
  Hazard of_barrier(const char* kind, const Group& group, int lane, const Instruction& site, Message message) const;

  Launch& launch_;
  std::map<i64, Hazard> kept_;  // by the time when it was met
  i64 time_ = 0;
  std::set<std::pair<std::string, std::array<int, 3>>> seen_;
};

}  // namespace engine
