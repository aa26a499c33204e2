// Values that nothing has set, followed to where they do harm: into global memory, into an address,
// a branch, or another thread. Until then marks go where the values go.

#pragma once

#include "hazards.hpp"

namespace engine {

class NeverSet {
 public:
  explicit NeverSet(Launch& launch) : launch_(launch) {}
  bool follows = false;  // whether there is a value to follow: else nothing here costs time

  void start();                           // other blocks begin
  void met(const Access& access, int lane);  // a lane reads memory that nothing wrote
  void moves(const Access& access);       // an access is about to move values
  void tell_all();                        // threads cannot go on: nobody can say what they would do
  /// Some registers decide where threads go on.
  void decides(const Group& group, const std::vector<int>& registers, const Mask& mask);
  /// Runs an instruction while its marks go where its values go. `run` runs it in the lanes of
  /// its guard, `bare` in given lanes.
  void step(Group& group, const Instruction& one, const Mask& mask, const Mask& where, const std::function<void()>& run,
            const std::function<void(const Mask&)>& bare);

 private:
  using Marks = std::vector<u32>;  // for each lane the reads that its value comes of; empty for none

  struct Rule {
    std::vector<int> reads, addresses, writes;
    bool between_lanes, memory;
  };

  u32 bit_of(Suspect suspect);
  void tell(u32 bits);
  void harm(const Marks& marks);
  const Rule& rule_of(const Instruction& one);
  Marks marks(const Group& group, const std::vector<int>& registers, const Mask* mask) const;
  void give(const Group& group, int reg, const Mask* where, const Marks& marks);
  Marks selected(const Group& group, const Instruction& one) const;
  Marks joined(const Group& group, const Instruction& one) const;
  Marks shuffled(Group& group, const Instruction& one, const Mask& where, const std::function<void(const Mask&)>& bare);
  std::vector<Marks> loaded(const Access& access) const;

  Launch& launch_;
  std::vector<Suspect> suspects_;
  std::map<int, u32> bits_;  // by reading instruction
  u32 live_ = 0;             // of the reads that have done no harm so far
  std::map<const Group*, std::map<int, Marks>> registers_;
  std::map<const Memory*, Marks> memories_;  // by byte
  std::map<int, Rule> rules_;
};

/// What a register holds that nothing has written: a number that no computation makes.
u64 mark_of(int width);

}  // namespace engine
