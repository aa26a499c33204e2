// A launch while it runs: its memories, its blocks, and threads that run in lockstep.

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "access_merging.hpp"
#include "control_flow.hpp"

namespace engine {

struct Launch;
struct Group;
class HazardLog;
class NeverSet;
class SharedRaces;
class Trace;
class Copies;

constexpr int CHUNK_WARPS = 4;  // warps whose registers lie together, so that they stay in the L1
constexpr int CHUNK = CHUNK_WARPS * WARP;

/// Which threads run: a word for each warp, a bit for each lane, as the hardware's active mask.
using Mask = std::vector<u32>;

int lanes_of(const Mask& mask);
int warps_of(const Mask& mask);
bool any(const Mask& mask);
int first_lane(const Mask& mask);
inline bool has(const Mask& mask, int lane) { return mask[lane / WARP] >> lane % WARP & 1; }
inline Mask operator&(Mask a, const Mask& b) {
  for (std::size_t w = 0; w < a.size(); ++w) a[w] &= b[w];
  return a;
}
inline Mask without(Mask a, const Mask& b) {
  for (std::size_t w = 0; w < a.size(); ++w) a[w] &= ~b[w];
  return a;
}
template <class F>
void each_lane(const Mask& mask, F&& visit) {
  for (std::size_t w = 0; w < mask.size(); ++w) {
    for (u32 bits = mask[w]; bits; bits &= bits - 1) visit(static_cast<int>(w) * WARP + std::countr_zero(bits));
  }
}

struct Dim3 {
  u32 x = 1, y = 1, z = 1;
  u32 count() const { return x * y * z; }
  bool operator==(const Dim3&) const = default;
};

/// Index (x, y, z) of a block of a grid or a thread of a block; x is fastest.
inline Dim3 index_in(const Dim3& sides, u32 number) {
  return {number % sides.x, number / sides.x % sides.y, number / (sides.x * sides.y)};
}
std::string place_name(const Dim3& index, const Dim3& sides);

// ---------------------------------------------------------------------------------- memories

enum class Space : u8 { global, shared, local, constant };

constexpr i64 GLOBAL_BASE = 1ll << 40;    // address of the first global array
constexpr i64 SHARED_WINDOW = 1ll << 44;  // where shared memory starts in the generic address space
constexpr i64 LOCAL_WINDOW = 1ll << 45;

enum State : u8 { OUTSIDE, UNWRITTEN, WRITTEN };  // of a byte

/// An array in a memory. `item_bytes` is 0 where PTX does not tell the type of its elements.
struct NamedArray {
  std::string name;
  i64 start, bytes;
  int item_bytes = 0;
  std::vector<i64> shape;
};

/// Bytes of one memory space, as one or several equal copies ("slots") side by side.
struct Memory {
  Memory(Space space, i64 base, i64 size, int slots);
  Space space;
  i64 base;    // address of the first byte
  i64 size;    // bytes of one slot that may be addressed
  i64 stride;  // bytes from one slot to the next
  std::vector<u8> bytes;
  std::vector<u8> state;
  std::vector<NamedArray> arrays;
  std::vector<std::pair<u32, u32>> known;  // bytes [start, end) that hold values from the start

  void reset();
  const NamedArray* array_at(i64 position) const;  // that a byte belongs to, else the nearest
};

/// The name that an array has in the source: "As" for _ZZ5sgemmE2As.
std::string source_name(const std::string& symbol);

// --------------------------------------------------------------------------------- registers

/// Where an instruction finds a value for each lane of a chunk.
struct Row {
  u8* base = nullptr;
  u32 step = 0;  // bytes from one chunk to the next; 0 where all chunks have the same
  u8* at(u32 chunk) const { return base + static_cast<std::size_t>(chunk) * step; }
};

/// All virtual registers of a kernel, chunk by chunk: a register of one chunk is a row of 128
/// values, or for predicates a word for each warp.
class RegisterFile {
 public:
  RegisterFile(const Kernel& kernel, int chunks);
  Row row(int reg) const { return {const_cast<u8*>(bytes_.data()) + offset_[reg], chunk_bytes_}; }
  Row fresh(int width);           // a row that belongs to no register of the kernel
  Row constant(u64 bits, int width);  // the same value in every lane
  int width(int reg) const { return width_[reg]; }  // bytes of a value, 0 of a predicate
  u8* lane(Row row, int lane, int width) const { return row.at(lane / CHUNK) + lane % CHUNK * width; }

 private:
  std::vector<u8> bytes_;
  std::vector<u32> offset_;
  std::vector<int> width_;
  u32 chunk_bytes_ = 0;
  int chunks_;
  std::vector<std::unique_ptr<u8[]>> others_;
  std::map<std::pair<u64, int>, Row> constants_;
};

// ------------------------------------------------------------------------------------- steps

struct Step;
/// Runs an instruction in one chunk. `mask` has the active lanes of its four warps.
using Elementwise = void (*)(const Step& step, u32 chunk, const u32* mask);

/// A part of an instruction that works on each lane alone.
struct Step {
  Elementwise run = nullptr;
  std::array<Row, 4> in;
  std::array<Row, 2> out;
  u32 detail = 0;  // what the function makes of it
};

/// An instruction that looks at all threads of a group at once: memory, shuffles, barriers of warps.
struct Operation {
  virtual ~Operation() = default;
  virtual void run(Group& group, const Mask& mask) = 0;
};

/// An instruction bound to the registers of a group.
struct Bound {
  int instruction = 0;
  Row guard;
  bool guarded = false, guard_negated = false;
  std::vector<Step> steps;               // where it is elementwise
  std::unique_ptr<Operation> operation;  // where it is not
};

/// Binds an instruction; nothing for one that changes nothing. arithmetic.cpp.
Bound bind(Group& group, const Instruction& instruction);
std::unique_ptr<Operation> bind_memory(Group& group, const Instruction& instruction);   // memory.cpp
std::unique_ptr<Operation> bind_exchange(Group& group, const Instruction& instruction); // warps.cpp
std::unique_ptr<Operation> bind_copy(Group& group, const Instruction& instruction);     // async_copies.cpp
bool is_known(const Instruction& instruction);

/// The row that an operand reads, `type` wide; steps before it narrow a wider register.
Row source(Group& group, const Operand& operand, Type type, std::vector<Step>& before);
void run_steps(const std::vector<Step>& steps, int chunks);  // in all lanes

// ------------------------------------------------------------------------------------ counts

/// What a launch cost at one instruction or source line. The names are those of LineCounts.
enum Count : int {
  global_load_requests, global_load_sectors, global_load_bytes,
  global_store_requests, global_store_sectors, global_store_bytes,
  atomic_requests, atomic_sectors,
  shared_load_requests, shared_load_wavefronts, shared_load_bank_conflicts,
  shared_load_requests_as_written, shared_load_wavefronts_as_written, shared_load_bank_conflicts_as_written,
  shared_load_bytes,
  shared_store_requests, shared_store_wavefronts, shared_store_bank_conflicts,
  shared_store_requests_as_written, shared_store_wavefronts_as_written, shared_store_bank_conflicts_as_written,
  shared_store_bytes, shared_atomic_requests,
  async_copy_requests, async_copy_reads, async_copy_sectors, async_copy_wavefronts, async_copy_bytes,
  ffma_thread_instructions, flop, barriers, warp_instructions, thread_instructions,
  COUNTS,
};
using Counts = std::array<i64, COUNTS>;

/// How often each piece of a kernel ran.
struct Tally {
  std::vector<i64> block_lanes, block_warps;      // by basic block
  std::vector<i64> guarded_lanes, guarded_warps;  // by instruction with a guard
  std::vector<i64> barriers;                      // by instruction: blocks that passed it
};

// --------------------------------------------------------------------------- launch and blocks

enum class Schedule : u32 { lockstep, warps, threads };

struct Argument {
  std::string name;
  enum Kind : u32 { integer, real, array } kind;
  i64 number = 0;
  double value = 0;
  int item_bytes = 0;
  std::vector<i64> shape;
  bool unwritten = false;
  i64 starts = 0;  // how many bytes into its array it points
  std::vector<u8> data;
};

struct SharedPart {
  std::string name;
  i64 start, bytes;
};

/// One kernel launch: everything that all its blocks share.
struct Launch {
  Kernel kernel;
  std::vector<BasicBlock> blocks;
  Merged merged;
  Dim3 grid, block;
  i64 shared_bytes = 0;
  std::vector<Argument> arguments;
  std::vector<SharedPart> shared_parts;
  std::vector<u32> numbers;  // of the blocks that run
  Schedule schedule = Schedule::lockstep;
  bool together = false, check_hazards = true, count_requests = true, products = false;
  i64 patience = -1;       // basic blocks before a loop is called endless; -1 for ever
  double time_limit = -1;  // seconds; -1 for ever
  double deadline = 0;
  u32 blocks_done = 0;
  std::map<int, std::vector<int>> unset;  // by instruction: registers that may have no value there
  std::set<int> read_somewhere;

  std::vector<Placed> shared_arrays, local_arrays;
  std::unique_ptr<Memory> global;
  Tally tally;
  std::vector<Counts> counts;  // by instruction

  std::unique_ptr<HazardLog> hazards;
  std::unique_ptr<NeverSet> never_set;
  std::unique_ptr<SharedRaces> races;
  std::unique_ptr<Trace> trace;

  Launch();
  ~Launch();
  int threads() const { return static_cast<int>(block.count()); }
  int warps() const { return (threads() + WARP - 1) / WARP; }
};

/// By lane or slot: how many barriers it has passed. Never changed in place.
using Epochs = std::shared_ptr<const std::vector<i64>>;

/// Blocks that run side by side, each in a slot with shared memory of its own.
struct Batch {
  Batch(Launch& launch, int slots);
  Launch& launch;
  int slots;
  Memory shared;
  std::vector<u32> numbers;  // of the block in each slot
  Epochs epoch;              // barriers that each block has passed with all its threads
  i64 news = 0;              // how often something happened that a thread may have waited for
  std::map<i64, std::vector<i64>> arrived;  // by barrier and slot: threads that did not wait

  void start(std::span<const u32> blocks);
};

/// Threads that run in lockstep: some warps of every block in a batch. A lane is one thread. Lanes
/// are ordered by block, then by thread.
struct Group {
  Group(Batch& batch, std::vector<int> warps_of_block);
  Batch& batch;
  Launch& launch;
  int warps, lanes, chunks;
  std::vector<int> slot_of_warp, first_thread;  // by warp
  Mask exists, alive;  // alive: lanes that have not returned
  RegisterFile registers;
  std::map<std::string, i64> symbols;  // addresses of shared and local arrays
  Memory local;
  Epochs warp_epoch;   // barriers of its warp that each lane has passed
  Epochs whole_epoch;  // the same when each lane last met all others of its warp
  std::vector<u32> meeting;  // lanes that each lane met at its last such barrier
  bool meets_in_parts = false;
  bool test_failed = false;  // a test of an mbarrier, or an atomic that changed nothing
  bool may_end = false;
  i64 time = 0;
  std::unique_ptr<Copies> copies;  // asynchronous copies that have not landed
  std::array<Row, 3> block_index;  // blockIdx of each lane
  std::vector<u32> positions;      // of the access that runs now: its first byte in memory, by lane
  std::vector<i64> addresses;

  ~Group();
  void start();
  int slot(int lane) const { return slot_of_warp[lane / WARP]; }
  int thread(int lane) const { return first_thread[lane / WARP] + lane % WARP; }
  u32 block(int lane) const { return batch.numbers[slot(lane)]; }
  Memory& memory(Space space);
  i64 slot_start(Space space, int lane);  // where the lane's slot of a memory starts
  Row special(const std::string& name);
  /// Whether no barrier of a warp stands between now and what another of its threads did.
  bool in_one_stretch(int lane, int other_thread, i64 epoch) const;
};

/// Runs all blocks of a launch. warps.cpp.
void run(Launch& launch);

/// Registers read before anything wrote them. never_set.cpp.
std::map<int, std::vector<int>> unset_reads(const Kernel& kernel, const std::vector<BasicBlock>& blocks);

}  // namespace engine
