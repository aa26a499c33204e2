#include "never_set.hpp"

#include <algorithm>

namespace engine {

namespace {

constexpr int MOST = 32;  // bits of a mark; the last stands for all reads that are left

void join(std::vector<u32>& into, const std::vector<u32>& other) {
  if (other.empty()) return;
  if (into.empty()) {
    into = other;
    return;
  }
  for (std::size_t i = 0; i < into.size(); ++i) into[i] |= other[i];
}

std::vector<int> registers_of(const Operand& operand) {
  std::vector<int> found;
  add_registers(operand, found);
  return found;
}

bool none(const std::vector<u32>& marks) {
  return std::all_of(marks.begin(), marks.end(), [](u32 mark) { return mark == 0; });
}

}  // namespace

void NeverSet::start() {
  follows = false;
  registers_.clear();
  memories_.clear();
}

void NeverSet::met(const Access& access, int lane) {
  int index = access.site.instruction->index;
  if (!bits_.contains(index)) bits_[index] = bit_of(launch_.hazards->unwritten(access, lane));
  if (bits_[index] & live_) follows = true;
}

u32 NeverSet::bit_of(Suspect suspect) {
  for (std::size_t number = 0; number < suspects_.size(); ++number) {
    if (same(suspect.hazard, suspects_[number].hazard)) return 1u << std::min<std::size_t>(number, MOST - 1);
  }
  suspects_.push_back(std::move(suspect));
  u32 bit = 1u << (std::min<std::size_t>(suspects_.size(), MOST) - 1);
  live_ |= bit;
  return bit;
}

void NeverSet::tell_all() { tell(live_); }

void NeverSet::tell(u32 bits) {
  bits &= live_;
  if (!bits) return;
  for (std::size_t number = 0; number < suspects_.size(); ++number) {
    if (bits >> std::min<std::size_t>(number, MOST - 1) & 1) launch_.hazards->confirm(suspects_[number]);
  }
  live_ &= ~bits;
  if (!live_) start();
}

void NeverSet::harm(const Marks& marks) {
  u32 all = 0;
  for (u32 mark : marks) all |= mark;
  tell(all);
}

void NeverSet::decides(const Group& group, const std::vector<int>& registers, const Mask& mask) {
  if (follows) harm(marks(group, registers, &mask));
}

const NeverSet::Rule& NeverSet::rule_of(const Instruction& one) {
  auto [known, fresh] = rules_.try_emplace(one.index);
  if (fresh) {
    Rule& rule = known->second;
    rule.reads = registers_read(one);
    for (int reg : registers_written(one)) {
      if (reg != SINK) rule.writes.push_back(reg);
    }
    for (const Operand& operand : one.operands) {
      if (operand.kind == Operand::address) add_registers(operand, rule.addresses);
    }
    std::string_view kind = one.part(0);
    rule.memory = kind == "ld" || kind == "st" || kind == "atom" || kind == "red";
    // What takes values of other lanes, or hands them on in a way of its own: they do harm there.
    rule.between_lanes = kind == "vote" || kind == "match" || kind == "redux" || kind == "mma" || kind == "wmma" || kind == "ldmatrix" ||
                         kind == "elect" || kind == "bar" || kind == "mbarrier" || kind == "cp";
  }
  return known->second;
}

void NeverSet::step(Group& group, const Instruction& one, const Mask& mask, const Mask& where, const std::function<void()>& run,
                    const std::function<void(const Mask&)>& bare) {
  const Rule& rule = rule_of(one);
  auto touched = [&] {
    auto marked = registers_.find(&group);
    if (marked == registers_.end()) return false;
    for (const std::vector<int>* all : {&rule.reads, &rule.writes}) {
      for (int reg : *all) {
        if (marked->second.contains(reg)) return true;
      }
    }
    return false;
  };
  if (!touched()) return run();
  // A guard does harm where it decides more than a register.
  Marks chosen;
  if (one.guard >= 0) {
    chosen = marks(group, {one.guard}, &mask);
    if (rule.writes.empty() || one.part(0) == "atom" || rule.between_lanes) harm(chosen);
  }
  harm(marks(group, rule.addresses, &where));
  Marks found = marks(group, rule.reads, &where);
  if (rule.between_lanes) harm(found);
  if (rule.between_lanes || rule.memory) found.clear();
  else if (one.part(0) == "selp") found = selected(group, one);
  else if ((one.part(0) == "and" || one.part(0) == "or") && one.last() == "pred") found = joined(group, one);
  else if (one.part(0) == "shfl") found = shuffled(group, one, where, bare);
  if (follows) {
    for (int reg : rule.writes) give(group, reg, &where, found);
  }
  run();
  if (chosen.empty()) return;
  for (int reg : rule.writes) {
    Marks both = marks(group, {reg}, nullptr);
    join(both, chosen);
    give(group, reg, nullptr, both);
  }
}

/// selp: the marks of the value that is chosen, and of the choice.
NeverSet::Marks NeverSet::selected(const Group& group, const Instruction& one) const {
  Marks first = marks(group, registers_of(one.operands[1]), nullptr);
  Marks second = marks(group, registers_of(one.operands[2]), nullptr);
  Marks found = marks(group, registers_of(one.operands[3]), nullptr);
  if (one.operands[3].kind != Operand::register_) {
    join(found, first);
    join(found, second);
    return found;
  }
  Row row = group.registers.row(one.operands[3].reg);
  Marks chosen(group.lanes);
  for (int lane = 0; lane < group.lanes; ++lane) {
    u32 word = reinterpret_cast<u32*>(row.at(lane / CHUNK))[lane % CHUNK / WARP];
    const Marks& from = word >> lane % WARP & 1 ? first : second;
    chosen[lane] = from.empty() ? 0 : from[lane];
  }
  join(found, chosen);
  return found;
}

/// and, or of conditions: one without a mark may settle it alone.
NeverSet::Marks NeverSet::joined(const Group& group, const Instruction& one) const {
  const Operand &a = one.operands[1], &b = one.operands[2];
  if (a.kind != Operand::register_ || b.kind != Operand::register_) return marks(group, registers_read(one), nullptr);
  Marks found;
  const std::pair<int, int> both[] = {{a.reg, b.reg}, {b.reg, a.reg}};
  for (auto [mine, fellow] : both) {
    Marks own = marks(group, {mine}, nullptr), clean = marks(group, {fellow}, nullptr);
    if (own.empty()) continue;
    Row row = group.registers.row(fellow);
    for (int lane = 0; lane < group.lanes; ++lane) {
      u32 word = reinterpret_cast<u32*>(row.at(lane / CHUNK))[lane % CHUNK / WARP];
      bool holds = word >> lane % WARP & 1;
      if (holds == (one.part(0) == "or") && (clean.empty() || clean[lane] == 0)) own[lane] = 0;
    }
    join(found, own);
  }
  return found;
}

/// shfl: marks have as many bits as values, so they are moved by the instruction itself.
NeverSet::Marks NeverSet::shuffled(Group& group, const Instruction& one, const Mask& where, const std::function<void(const Mask&)>& bare) {
  std::vector<int> steering;
  for (std::size_t i = 2; i < one.operands.size(); ++i) add_registers(one.operands[i], steering);
  harm(marks(group, steering, &where));
  std::vector<int> value = registers_of(one.operands[1]), written = registers_written(one);
  Marks found = marks(group, value, nullptr);
  if (found.empty() || !follows || value.empty()) return {};
  std::vector<int> rows{value[0]};
  rows.insert(rows.end(), written.begin(), written.end());
  std::vector<std::vector<u8>> before;
  auto bytes = [&](int reg) { return CHUNK_WARPS * std::max(4, WARP * group.registers.width(reg)); };
  for (int reg : rows) {
    std::vector<u8> copy;
    for (int chunk = 0; chunk < group.chunks; ++chunk) {
      u8* at = group.registers.row(reg).at(chunk);
      copy.insert(copy.end(), at, at + bytes(reg));
    }
    before.push_back(std::move(copy));
  }
  auto lane_at = [&](int reg, int lane) { return group.registers.lane(group.registers.row(reg), lane, group.registers.width(reg)); };
  for (int lane = 0; lane < group.lanes; ++lane) std::memcpy(lane_at(rows[0], lane), &found[lane], 4);
  bare(where);
  Marks moved(group.lanes);
  for (int lane = 0; lane < group.lanes; ++lane) std::memcpy(&moved[lane], lane_at(rows[1], lane), 4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int chunk = 0; chunk < group.chunks; ++chunk) {
      std::memcpy(group.registers.row(rows[i]).at(chunk), before[i].data() + chunk * bytes(rows[i]), bytes(rows[i]));
    }
  }
  return moved;
}

void NeverSet::moves(const Access& access) {
  const Site& site = access.site;
  const Instruction& one = *site.instruction;
  std::string_view kind = one.part(0);
  bool inside = site.space == Space::shared || site.space == Space::local;
  std::vector<Marks> found;
  if (site.reads()) found = loaded(access);
  auto of_lanes = [&](const std::vector<int>& registers) {
    Marks all = marks(access.group, registers, nullptr), mine;
    if (all.empty()) return mine;
    for (int lane : access.lanes) mine.push_back(all[lane]);
    return mine;
  };
  auto give_some = [&](int reg, const Marks& given) {
    auto marked = registers_.find(&access.group);
    if (given.empty() && (marked == registers_.end() || !marked->second.contains(reg))) return;
    Mask where(access.group.exists.size());
    Marks every(access.group.lanes);
    for (std::size_t i = 0; i < access.lanes.size(); ++i) {
      where[access.lanes[i] / WARP] |= 1u << access.lanes[i] % WARP;
      every[access.lanes[i]] = given.empty() ? 0 : given[i];
    }
    give(access.group, reg, &where, every);
  };
  if (kind == "ld") {
    std::vector<int> targets = registers_of(one.operands[0]);
    for (std::size_t i = 0; i < targets.size() && i < found.size(); ++i) give_some(targets[i], found[i]);
    return;
  }
  std::vector<Marks> stored;
  if (kind == "st") {
    const Operand& operand = one.operands[1];
    if (operand.kind == Operand::vector) {
      for (const Operand& item : operand.items) stored.push_back(of_lanes(registers_of(item)));
    } else {
      stored.push_back(of_lanes(registers_of(operand)));
    }
  } else if (kind == "atom" || kind == "red") {
    Marks both = found[0];
    join(both, of_lanes(registers_read(one)));
    stored.push_back(std::move(both));
  }
  if (!inside || stored.empty()) {
    // Into memory for good, or to other lanes.
    for (const Marks& one_found : found) harm(one_found);
    for (const Marks& one_stored : stored) harm(one_stored);
    return;
  }
  auto kept = memories_.find(&access.memory);
  if (kept == memories_.end()) {
    if (std::all_of(stored.begin(), stored.end(), none)) return;
    kept = memories_.emplace(&access.memory, Marks(access.memory.bytes.size())).first;
  }
  for (std::size_t word = 0; word < stored.size(); ++word) {
    for (std::size_t i = 0; i < access.positions.size(); ++i) {
      u32 given = stored[word].empty() ? 0 : stored[word][i];
      for (int byte = 0; byte < site.word_bytes; ++byte) {
        u32& mark = kept->second[access.positions[i] + word * site.word_bytes + byte];
        mark = kind == "st" ? given : mark | given;
      }
    }
  }
  if (kind == "atom" && follows && one.operands[0].kind == Operand::register_) give_some(one.operands[0].reg, loaded(access)[0]);
}

/// The marks of each element that an access reads.
std::vector<NeverSet::Marks> NeverSet::loaded(const Access& access) const {
  auto known = bits_.find(access.site.instruction->index);
  u32 bit = known == bits_.end() ? 0 : known->second & live_;
  auto kept = memories_.find(&access.memory);
  std::vector<Marks> found(access.site.words);
  if (!bit && kept == memories_.end()) return found;
  for (int word = 0; word < access.site.words; ++word) {
    for (u32 position : access.positions) {
      u32 first = position + word * access.site.word_bytes, mark = 0;
      if (bit && access.memory.state[first] == UNWRITTEN) mark = bit;
      for (int byte = 0; kept != memories_.end() && byte < access.site.word_bytes; ++byte) mark |= kept->second[first + byte];
      found[word].push_back(mark);
    }
  }
  return found;
}

/// The marks of some registers together, and none outside of a mask.
NeverSet::Marks NeverSet::marks(const Group& group, const std::vector<int>& registers, const Mask* mask) const {
  Marks found;
  auto marked = registers_.find(&group);
  if (marked == registers_.end()) return found;
  for (int reg : registers) {
    auto one = marked->second.find(reg);
    if (one != marked->second.end()) join(found, one->second);
  }
  for (std::size_t lane = 0; mask != nullptr && lane < found.size(); ++lane) {
    if (!has(*mask, static_cast<int>(lane))) found[lane] = 0;
  }
  return found;
}

/// Gives a register its marks, in some lanes.
void NeverSet::give(const Group& group, int reg, const Mask* where, const Marks& given) {
  std::map<int, Marks>& marked = registers_[&group];
  auto old = marked.find(reg);
  if (reg == SINK || (given.empty() && old == marked.end())) return;
  Marks made(group.lanes);
  for (int lane = 0; lane < group.lanes; ++lane) {
    bool new_one = where == nullptr || has(*where, lane);
    made[lane] = new_one ? (given.empty() ? 0 : given[lane]) : old == marked.end() ? 0 : old->second[lane];
  }
  if (none(made)) {
    marked.erase(reg);
  } else {
    marked[reg] = std::move(made);
  }
}

// ------------------------------------------------------------ registers that nothing has written

u64 mark_of(int width) { return width == 2 ? 0x7DAD : width == 4 ? 0x7FB0DEAD : 0x7FF4DEAD7FB0DEAD; }

namespace {

using Bits = std::vector<u64>;
bool test(const Bits& bits, int at) { return bits[at / 64] >> at % 64 & 1; }

/// What an instruction does with registers.
struct Uses {
  std::vector<int> reads, writes;
  bool copies;  // mov and selp hand a value on without using it

  bool reads_unknown(const Bits& known) const {
    return std::any_of(reads.begin(), reads.end(), [&](int reg) { return !test(known, reg); });
  }
  /// Which registers have a value behind it; a copy of none has none.
  void step(Bits& known) const {
    bool none = copies && reads_unknown(known);
    for (int reg : writes) {
      if (none) known[reg / 64] &= ~(1ull << reg % 64);
      else known[reg / 64] |= 1ull << reg % 64;
    }
  }
};

}  // namespace

std::map<int, std::vector<int>> unset_reads(const Kernel& kernel, const std::vector<BasicBlock>& blocks) {
  auto counts = [&](int reg) { return reg != SINK && kernel.registers[reg].type != Type::pred; };
  auto chosen = [&](std::vector<int> all) {
    std::erase_if(all, [&](int reg) { return !counts(reg); });
    return all;
  };
  std::vector<Uses> uses;
  for (const Instruction& one : kernel.instructions) {
    uses.push_back({chosen(registers_read(one)), chosen(registers_written(one)), one.part(0) == "mov" || one.part(0) == "selp"});
  }
  const std::size_t words = kernel.registers.size() / 64 + 1;
  std::vector<Bits> written(blocks.size(), Bits(words, ~0ull));
  std::set<int> waiting;
  if (!blocks.empty()) {
    written[0].assign(words, 0);
    waiting.insert(0);
  }
  while (!waiting.empty()) {
    int number = *waiting.begin();
    waiting.erase(waiting.begin());
    Bits known = written[number];
    for (int i = blocks[number].first; i < blocks[number].last; ++i) uses[i].step(known);
    for (int successor : successors(kernel, blocks[number])) {
      if (successor == END) continue;
      bool fewer = false;
      for (std::size_t w = 0; w < words; ++w) {
        fewer = fewer || (written[successor][w] & ~known[w]);
        written[successor][w] &= known[w];
      }
      if (fewer) waiting.insert(successor);
    }
  }
  std::map<int, std::vector<int>> found;
  for (const BasicBlock& block : blocks) {
    Bits known = written[block.number];
    for (int i = block.first; i < block.last; ++i) {
      if (!uses[i].copies && uses[i].reads_unknown(known)) {
        for (int reg : uses[i].reads) {
          std::vector<int>& all = found[i];
          if (!test(known, reg) && std::find(all.begin(), all.end(), reg) == all.end()) all.push_back(reg);
        }
      }
      uses[i].step(known);
    }
  }
  return found;
}

}  // namespace engine
