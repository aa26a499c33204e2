// Asynchronous copies: cp.async reads global memory now, and writes shared memory when it is waited
// for.

#pragma once

#include "memory.hpp"

namespace engine {

/// Copies of a group that are not yet visible in shared memory.
class Copies {
 public:
  struct Pending {
    std::vector<int> lanes;
    std::vector<i64> ticket;      // of each lane: how many groups it had committed before
    int words;
    std::vector<u32> positions;   // (lanes, words): index in shared memory
    std::vector<u32> values;      // (lanes, words)
  };

  void start(const Group& group);
  void add(Pending copy) { pending_.push_back(std::move(copy)); }
  void commit(const Mask& mask);
  i64 committed(int lane) const { return committed_[lane]; }
  /// Lets copies of some lanes arrive: all, or all but the last `allowed` groups.
  void land(Group& group, const Mask& mask, std::optional<i64> allowed);

 private:
  std::vector<Pending> pending_;
  std::vector<i64> committed_;
};

}  // namespace engine
