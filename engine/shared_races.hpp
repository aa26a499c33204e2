// Races in shared memory, where every barrier is one of the whole block.

#pragma once

#include "hazards.hpp"

namespace engine {

/// Watches shared memory for accesses that no barrier orders. Two accesses of one word race when two
/// threads make them in the same stretch between barriers and at least one writes. Threads of one
/// warp are also ordered by __syncwarp().
///
/// Most stretches of most kernels only read, or only write. So reads are put by, and looked at word
/// by word only when a write to the same part of memory follows in their stretch.
class SharedRaces {
 public:
  explicit SharedRaces(Launch& launch);

  /// Whether reads of the bytes [least, most) of any slot need no look word by word.
  bool quiet(Group& group, u32 least, u32 most);
  /// Keeps the reads of group.positions for later.
  void put_by(Group& group, const Site& site, const Mask& mask, const std::vector<u8>& shapes, u32 least, u32 most);
  void access(const Access& access);
  /// Whether lanes of the access at hand write one word, so that their values matter.
  bool asks_for_values() const { return together_serial_ == serial_; }
  /// Values that lanes are about to store: raw, by element and legal lane.
  void values(const Access& access, const std::vector<std::vector<u64>>& stored);
  /// Asynchronous copies of some lanes become visible: of each 4-byte word who wrote it, and where.
  void landed(Group& group, const std::vector<int>& lanes, const std::vector<u32>& positions);

 private:
  /// For each word of a batch's shared memory: who used it last, and when.
  struct Word {
    i32 writer = -1, write_epoch = -1, write_warp_epoch = 0, write_site = 0;
    i32 reader = -1, other_reader = -1;  // another one, of another warp if there are several
    i32 read_epoch = -1, read_warp_epoch = 0, read_site = 0, in_flight = 0;
    bool atomic = false, several_readers = false, several_warps = false;
  };
  struct Range {
    u32 least, most;
  };
  /// One access, and when each lane made it.
  struct Use {
    Group* group;
    const Site* site;
    std::vector<int> lanes;
    std::vector<u32> positions;
    Epochs epoch, warp_epoch;
    Range range;
    // Reads that were put by: a mask, and for each warp its first position, or all.
    Mask mask;
    std::vector<u8> shapes;
    std::vector<u32> places;

    i64 epoch_of(std::size_t i) const { return (*epoch)[group->slot(lanes[i])]; }
    i64 warp_epoch_of(std::size_t i) const { return (*warp_epoch)[lanes[i]]; }
    int thread(std::size_t i) const { return group->thread(lanes[i]); }
    bool for_others() const { return site->kind == Kind::atomic || site->is_volatile; }
  };
  struct Met {
    Use use;
    int number;
    std::vector<int> last, sites;
  };

  void look_at(Group& group);
  Use use_of(const Access& access) const;
  void unpack(Use& read) const;
  std::vector<u32> words_of(const Use& use, int number) const;
  std::vector<u8> written_before(const Use& use, const std::vector<u32>& index) const;
  void check_read(const Use& use);
  void check_write(const Use& use);
  void note_reads(const Epochs& epoch, Range range);
  void note_read(const Use& use, const std::vector<u32>& index);
  void forget_reads(const Epochs& epoch);
  void note_range(const Epochs& epoch, Range range);
  void meet(const Use& use, int number, const std::vector<u32>& index);
  void report(const Use& use, const std::vector<u32>& index, const std::vector<u8>& wrong, const std::vector<int>& other,
              const std::vector<int>& sites, bool together = false);
  bool same_stretch(const Epochs& one, const Epochs& other) const;

  Launch& launch_;
  int word_bytes_;
  const Memory* memory_ = nullptr;
  std::vector<u32> blocks_;
  std::vector<Word> words_;
  i64 in_flight_ = 0;
  std::vector<Use> reads_;
  std::size_t waiting_ = 0;  // bytes of the reads put by
  Epochs last_write_, last_read_;
  std::vector<Range> writes_;  // of the stretch of the last write
  const Mask* running_ = nullptr;  // lanes that run the access at hand
  std::vector<Met> together_;
  i64 serial_ = 0, together_serial_ = -1;
};

}  // namespace engine
