#include "control_flow.hpp"

#include <algorithm>
#include <set>

namespace engine {

namespace {

bool is_exit(const Instruction& one) { return one.part(0) == "ret" || one.part(0) == "exit"; }
bool is_branch(const Instruction& one) { return one.part(0) == "bra"; }

/// For each block the first block on every path from it to the end. Solves
/// post(b) = {b} + the blocks common to post(s) over all successors s, with sets as bits.
std::vector<int> immediate_post_dominators(const std::vector<std::vector<int>>& next) {
  const std::size_t count = next.size(), words = count / 64 + 1;
  using Set = std::vector<u64>;
  std::vector<Set> post(count, Set(words, ~0ull));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t block = count; block-- > 0;) {
      Set common(words, ~0ull);
      for (int successor : next[block]) {
        for (std::size_t w = 0; w < words; ++w) common[w] &= successor == END ? 0 : post[successor][w];
      }
      common[block / 64] |= 1ull << block % 64;
      if (common != post[block]) {
        post[block] = common;
        changed = true;
      }
    }
  }
  auto size_of = [&](const Set& set) {
    int sum = 0;
    for (std::size_t b = 0; b < count; ++b) sum += set[b / 64] >> b % 64 & 1;
    return sum;
  };
  std::vector<int> sizes(count), found(count, END);
  for (std::size_t b = 0; b < count; ++b) sizes[b] = size_of(post[b]);
  // Post-dominators lie on one path to the end: the nearest has most others after it.
  for (std::size_t block = 0; block < count; ++block) {
    for (std::size_t b = 0; b < count; ++b) {
      if (b == block || !(post[block][b / 64] >> b % 64 & 1)) continue;
      if (found[block] == END || sizes[b] > sizes[found[block]]) found[block] = static_cast<int>(b);
    }
  }
  return found;
}

}  // namespace

std::vector<BasicBlock> basic_blocks(const Kernel& kernel) {
  const std::vector<Instruction>& code = kernel.instructions;
  const int length = static_cast<int>(code.size());
  std::set<int> starts{0};
  for (auto& [label, at] : kernel.labels) starts.insert(at);
  for (const Instruction& one : code) {
    if (is_branch(one) || is_exit(one)) starts.insert(one.index + 1);
  }
  std::vector<int> ordered;
  for (int start : starts) {
    if (start < length) ordered.push_back(start);
  }
  std::vector<int> number_at(length + 1, END);
  for (std::size_t i = 0; i < ordered.size(); ++i) number_at[ordered[i]] = static_cast<int>(i);
  // Threads that branch to a bare return are done: nothing waits for them, no barrier either.
  for (int start : ordered) {
    if (is_exit(code[start]) && code[start].guard < 0) number_at[start] = END;
  }
  std::vector<BasicBlock> blocks;
  std::vector<std::vector<int>> next;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    BasicBlock block{};
    block.number = static_cast<int>(i);
    block.first = ordered[i];
    block.last = i + 1 < ordered.size() ? ordered[i + 1] : length;
    block.terminator = -1;
    block.target = END;
    block.fall_through = i + 1 < ordered.size() ? static_cast<int>(i) + 1 : END;
    const Instruction& end = code[block.last - 1];
    if (is_branch(end) || is_exit(end)) {
      block.terminator = --block.last;
      if (is_branch(end)) {
        auto label = end.operands.empty() || end.operands[0].kind != Operand::symbol
                         ? kernel.labels.end()
                         : kernel.labels.find(kernel.names[end.operands[0].name]);
        if (label == kernel.labels.end()) refuse(Refusal::ptx, "ptx.label", {named("place", end.place)});
        block.target = number_at[label->second];
      }
    }
    blocks.push_back(block);
    next.push_back(successors(kernel, block));
  }
  std::vector<int> reconvergence = immediate_post_dominators(next);
  for (BasicBlock& block : blocks) block.reconvergence = reconvergence[block.number];
  return blocks;
}

std::vector<int> successors(const Kernel& kernel, const BasicBlock& block) {
  if (block.terminator < 0) return {block.fall_through};
  if (kernel.instructions[block.terminator].guard < 0) return {block.target};
  return {block.target, block.fall_through};
}

// Short loops. NVRTC leaves some loops with a fixed number of turns in the PTX, and ptxas then
// unrolls them, so that loads of neighbouring turns merge. How long a loop ptxas unrolls is not
// documented; LONGEST is an estimate from machine code.

namespace {

constexpr int LONGEST = 450;  // PTX instructions of all turns together
constexpr int MOST_TURNS = 64;

bool contains(const std::vector<int>& all, int one) { return std::find(all.begin(), all.end(), one) != all.end(); }

bool is_immediate(const Instruction& one, std::size_t at) {
  return at < one.operands.size() && one.operands[at].kind == Operand::immediate;
}
bool is_register(const Instruction& one, std::size_t at) {
  return at < one.operands.size() && one.operands[at].kind == Operand::register_;
}

/// The only instruction of a block that writes a register.
const Instruction* last_writer(const Kernel& kernel, const BasicBlock& block, int reg) {
  const Instruction* found = nullptr;
  for (int i = block.first; i < block.last; ++i) {
    if (!contains(registers_written(kernel.instructions[i]), reg)) continue;
    if (found != nullptr) return nullptr;
    found = &kernel.instructions[i];
  }
  return found != nullptr && found->guard < 0 ? found : nullptr;
}

bool holds(std::string_view compare, i64 a, i64 b, bool& known) {
  known = true;
  if (compare == "eq") return a == b;
  if (compare == "ne") return a != b;
  if (compare == "lt") return a < b;
  if (compare == "le") return a <= b;
  if (compare == "gt") return a > b;
  if (compare == "ge") return a >= b;
  known = false;
  return false;
}

/// A loop of one block whose counter starts at a constant.
struct Loop {
  int counter = -1;
  const Instruction* start = nullptr;  // the `mov` before it
  const Instruction* step = nullptr;
  const Instruction* compare = nullptr;
};

Loop counted_loop(const Kernel& kernel, const BasicBlock& block, const std::vector<BasicBlock>& blocks) {
  Loop loop;
  if (block.terminator < 0 || block.target != block.number || block.number == 0) return loop;
  const Instruction& end = kernel.instructions[block.terminator];
  if (end.guard < 0) return loop;
  for (const BasicBlock& other : blocks) {
    if (other.number == block.number) continue;
    bool falls = other.terminator < 0 || kernel.instructions[other.terminator].guard >= 0;
    bool enters = (other.terminator >= 0 && other.target == block.number) || (falls && other.fall_through == block.number);
    if (enters != (other.number == block.number - 1)) return loop;
  }
  const Instruction* compare = last_writer(kernel, block, end.guard);
  bool known = false;
  if (compare == nullptr || compare->part(0) != "setp") return loop;
  holds(compare->part(1), 0, 0, known);
  if (!known || compare->parts.size() != 3 || !is_register(*compare, 1) || !is_immediate(*compare, 2)) return loop;
  int counter = compare->operands[1].reg;
  const Instruction* step = last_writer(kernel, block, counter);
  if (step == nullptr || step->part(0) != "add" || !is_register(*step, 1) || step->operands[1].reg != counter) return loop;
  if (!is_immediate(*step, 2) || step->index >= compare->index) return loop;
  const BasicBlock& before = blocks[block.number - 1];
  for (int i = before.last; i-- > before.first;) {
    const Instruction& one = kernel.instructions[i];
    if (!contains(registers_written(one), counter)) continue;
    if (one.part(0) == "mov" && one.guard < 0 && is_immediate(one, 1)) loop = {counter, &one, step, compare};
    return loop;
  }
  return loop;
}

/// How often the loop runs; 0 where that is more than anyone would unroll.
int turns_of(const Kernel& kernel, const BasicBlock& block, const Loop& loop) {
  i64 value = loop.start->operands[1].value;
  bool known;
  for (int turn = 1; turn <= MOST_TURNS; ++turn) {
    value += loop.step->operands[2].value;
    if (holds(loop.compare->part(1), value, loop.compare->operands[2].value, known) ==
        kernel.instructions[block.terminator].guard_negated) {
      return turn;
    }
  }
  return 0;
}

/// Instructions before a loop that set what it changes, to be said again inside: standing in the
/// same basic block as the turns, they let the addresses of every turn be known.
std::vector<Instruction> start_values(const Kernel& kernel, const BasicBlock& block, const BasicBlock& before) {
  std::set<int> changed, later;
  for (int i = block.first; i < block.last; ++i) {
    for (int reg : registers_written(kernel.instructions[i])) changed.insert(reg);
  }
  std::vector<Instruction> chosen;
  for (int i = before.last; i-- > before.first;) {
    const Instruction& one = kernel.instructions[i];
    std::vector<int> written = registers_written(one), reads = registers_read(one);
    bool again = (one.part(0) == "mov" || one.part(0) == "add") && one.guard < 0;
    for (int reg : written) again = again && changed.contains(reg) && !later.contains(reg);
    for (int reg : reads) again = again && !contains(written, reg) && !later.contains(reg) && !changed.contains(reg);
    if (again) chosen.insert(chosen.begin(), one);
    later.insert(written.begin(), written.end());
  }
  return chosen;
}

}  // namespace

Kernel unroll_short_loops(Kernel kernel) {
  std::vector<BasicBlock> blocks = basic_blocks(kernel);
  std::map<int, std::vector<Instruction>> copies;
  std::map<int, int> length_of;
  for (const BasicBlock& block : blocks) {
    if (block.first == block.last) continue;
    Loop loop = counted_loop(kernel, block, blocks);
    if (loop.start == nullptr) continue;
    int turns = turns_of(kernel, block, loop), size = block.last - block.first;
    if (turns <= 1 || turns * (size + 1) > LONGEST || contains(kernel.not_unrolled, block.first)) continue;
    std::vector<Instruction>& copy = copies[block.first];
    copy = start_values(kernel, block, blocks[block.number - 1]);
    for (int turn = 0; turn < turns; ++turn) {
      for (int i = block.first; i < block.last; ++i) copy.push_back(kernel.instructions[i]);
    }
    length_of[block.first] = size + 1;  // with its branch
  }
  if (copies.empty()) return kernel;
  std::vector<Instruction> code;
  const int length = static_cast<int>(kernel.instructions.size());
  std::vector<int> moved(length + 1, -1);
  for (int index = 0; index < length;) {
    moved[index] = static_cast<int>(code.size());
    auto copy = copies.find(index);
    if (copy != copies.end()) {
      code.insert(code.end(), copy->second.begin(), copy->second.end());
      index += length_of[index];
    } else {
      code.push_back(kernel.instructions[index++]);
    }
  }
  moved[length] = static_cast<int>(code.size());
  for (std::size_t i = 0; i < code.size(); ++i) code[i].index = static_cast<int>(i);
  for (auto& [label, at] : kernel.labels) at = moved[at];
  kernel.instructions = std::move(code);
  kernel.not_unrolled.clear();
  return kernel;
}

}  // namespace engine
