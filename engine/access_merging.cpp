#include "access_merging.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace engine {

std::vector<Placed> lay_out(const std::vector<ArrayDeclaration>& declarations, i64 dynamic_bytes) {
  std::vector<ArrayDeclaration> ordered = declarations;
  std::stable_sort(ordered.begin(), ordered.end(), [](auto& a, auto& b) { return (a.bytes == 0) < (b.bytes == 0); });
  i64 start = 0;
  std::vector<Placed> placed;
  for (const ArrayDeclaration& array : ordered) {
    start = (start + array.alignment - 1) / array.alignment * array.alignment;
    placed.push_back({array.name, start, array.bytes ? array.bytes : dynamic_bytes});
    start += array.bytes;
  }
  return placed;
}

namespace {

constexpr int MAX_ZEROS = 4;  // no vector access is wider than 16 bytes
constexpr int WIDEST = 16;

/// An unknown of an address: a register's value at some write, the start of an array, or another.
struct Unknown {
  enum Kind : u8 { value, start, other } kind;
  int number;
  i64 turn;
  auto operator<=>(const Unknown&) const = default;
};
using Terms = std::map<Unknown, i64>;  // multiples of unknowns

/// A value as a sum of multiples of unknowns and a constant.
struct Linear {
  Terms terms;
  i64 constant = 0;

  Linear plus(const Linear& other, i64 sign = 1) const {
    Linear sum = *this;
    for (auto [root, factor] : other.terms) {
      i64& mine = sum.terms[root];
      mine += sign * factor;
      if (mine == 0) sum.terms.erase(root);
    }
    sum.constant = static_cast<i64>(static_cast<u64>(constant) + static_cast<u64>(sign) * static_cast<u64>(other.constant));
    return sum;
  }
  Linear times(i64 by) const {
    Linear product;
    if (by == 0) return product;
    for (auto [root, factor] : terms) product.terms[root] = static_cast<i64>(static_cast<u64>(factor) * static_cast<u64>(by));
    product.constant = static_cast<i64>(static_cast<u64>(constant) * static_cast<u64>(by));
    return product;
  }
};

int trailing_zeros(i64 value) {
  return value == 0 ? MAX_ZEROS : std::min(MAX_ZEROS, std::countr_zero(static_cast<u64>(value)));
}

bool is_other_type(std::string_view type) { return type == "f32" || type == "f64" || type == "pred"; }

/// What holds in the whole kernel: where arrays start, what is aligned, what is set once.
class Knowledge {
 public:
  Knowledge(const Kernel& kernel, const std::vector<BasicBlock>& blocks, const std::vector<Placed>& shared)
      : kernel(kernel), zeros(kernel.registers.size(), -1), once(kernel.registers.size(), nullptr) {
    for (const Placed& array : shared) {
      auto name = std::find(kernel.names.begin(), kernel.names.end(), array.name);
      if (name != kernel.names.end()) starts[static_cast<int>(name - kernel.names.begin())] = array.start;
    }
    std::vector<int> writers(kernel.registers.size(), 0);
    for (const BasicBlock& block : blocks) {
      for (int i = block.first; i < block.last; ++i) {
        code_.push_back(&kernel.instructions[i]);
        for (int reg : registers_written(kernel.instructions[i])) {
          once[reg] = writers[reg]++ ? nullptr : &kernel.instructions[i];
        }
      }
    }
    for (std::size_t reg = 0; reg < writers.size(); ++reg) {
      if (writers[reg] != 1) once[reg] = nullptr;
    }
    // Zero bits that each register's value always ends in: starts from the best, and lowers it.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction* one : code_) {
        int found = zeros_written(*one);
        for (int reg : registers_written(*one)) {
          if (zeros[reg] < 0 || found < zeros[reg]) {
            zeros[reg] = found;
            changed = true;
          }
        }
      }
    }
  }

  const Kernel& kernel;
  std::map<int, i64> starts;  // of arrays, by the number of their name
  std::vector<int> zeros;     // by register; -1 where nothing writes it
  std::vector<const Instruction*> once;

 private:
  int zeros_of(const Operand& operand) const {
    if (operand.kind == Operand::register_) return zeros[operand.reg] < 0 ? MAX_ZEROS : zeros[operand.reg];
    if (operand.kind == Operand::immediate) return trailing_zeros(operand.value);
    if (operand.kind == Operand::symbol && starts.contains(operand.name)) {
      return trailing_zeros(starts.at(operand.name) + operand.value);
    }
    return 0;
  }

  int zeros_written(const Instruction& one) const {
    std::string_view name = one.part(0);
    auto is = [&](auto... names) { return ((name == names) || ...); };
    const std::vector<Operand>& at = one.operands;
    int found = 0;
    if (!is_other_type(one.last())) {
      bool high = one.has("hi");
      if (is("mov", "cvt", "cvta", "neg") && at.size() == 2) found = zeros_of(at[1]);
      else if (is("add", "sub", "or", "xor", "min", "max") && at.size() == 3) found = std::min(zeros_of(at[1]), zeros_of(at[2]));
      else if (is("selp") && at.size() == 4) found = std::min(zeros_of(at[1]), zeros_of(at[2]));
      else if (is("and") && at.size() == 3) found = std::max(zeros_of(at[1]), zeros_of(at[2]));
      else if (is("mul") && at.size() == 3 && !high) found = zeros_of(at[1]) + zeros_of(at[2]);
      else if (is("mad") && at.size() == 4 && !high) found = std::min(zeros_of(at[1]) + zeros_of(at[2]), zeros_of(at[3]));
      else if (is("shl") && at.size() == 3) {
        found = zeros_of(at[1]);
        if (at[2].kind == Operand::immediate) found += static_cast<int>(std::clamp<i64>(at[2].value, -8, 64));
      } else if (is("shr") && at.size() == 3 && at[2].kind == Operand::immediate) {
        int zeros = zeros_of(at[1]);
        found = zeros < MAX_ZEROS ? std::max<int>(0, zeros - static_cast<int>(std::clamp<i64>(at[2].value, 0, 64))) : 0;
      }
    }
    return std::min(found, MAX_ZEROS);
  }

  std::vector<const Instruction*> code_;
};

/// Follows the values of registers through one basic block as linear expressions.
class BlockValues {
 public:
  explicit BlockValues(const Knowledge& knowledge) : known_(knowledge) {}

  /// The byte address that a memory operand stands for.
  Linear place(const Operand& address) {
    Linear where;
    if (address.base == Operand::symbol) {
      auto start = known_.starts.find(address.name);
      where.constant = (start == known_.starts.end() ? 0 : start->second) + address.start;
    } else if (address.base == Operand::immediate) {
      where.constant = address.start;
    } else {
      where = value_of(address.reg);
    }
    where.constant += address.value;
    return where;
  }

  /// A power of two in bytes, at most 16, that a sum of terms is surely a multiple of.
  int alignment(const Terms& terms) const {
    int fewest = MAX_ZEROS;
    for (auto [root, factor] : terms) {
      int zeros = 0;
      if (root.kind == Unknown::value) zeros = std::max(0, known_.zeros[root.number]);
      if (root.kind == Unknown::start) zeros = trailing_zeros(known_.starts.at(root.number));
      fewest = std::min(fewest, zeros + trailing_zeros(factor));
    }
    return 1 << fewest;
  }

  void step(const Instruction& one) {
    std::vector<int> written = registers_written(one);
    if (written.empty()) return;
    std::optional<Linear> expression = linear(one, 0);
    for (int reg : written) {
      i64 turn = ++writes_[reg];
      if (known_.once[reg] != nullptr) turn = 0;
      values_[reg] = expression ? *expression : Linear{{{{Unknown::value, reg, turn}, 1}}, 0};
    }
  }

 private:
  Linear of(const Operand& operand, int depth) {
    if (operand.kind == Operand::immediate) return {{}, operand.value};
    if (operand.kind == Operand::register_) return value_of(operand.reg, depth);
    if (operand.kind == Operand::symbol && known_.starts.contains(operand.name)) {
      // In machine code a register holds the array's start: an unknown like any other.
      return {{{{Unknown::start, operand.name, 0}, 1}}, operand.value};
    }
    return {{{{Unknown::other, operand.name, operand.value}, 1}}, 0};
  }

  Linear value_of(int reg, int depth = 0) {
    auto now = values_.find(reg);
    if (now != values_.end()) return now->second;
    auto stable = stable_.find(reg);
    if (stable != stable_.end()) return stable->second;
    // From before this block.
    Linear value{{{{Unknown::value, reg, 0}, 1}}, 0};
    stable_[reg] = value;
    const Instruction* writer = known_.once[reg];
    if (writer != nullptr && depth < 200) {
      bool all_once = true;
      for (const Operand& operand : writer->operands) {
        all_once = all_once && (operand.kind != Operand::register_ || known_.once[operand.reg] != nullptr);
      }
      // All that goes into it is written once, so it can be computed from the roots.
      if (all_once) {
        if (std::optional<Linear> found = linear(*writer, depth + 1)) value = *found;
      }
    }
    stable_[reg] = value;
    return value;
  }

  /// What an instruction computes, if that is a linear expression.
  std::optional<Linear> linear(const Instruction& one, int depth) {
    if (one.guard >= 0 || is_other_type(one.last())) return {};
    std::string_view name = one.part(0);
    const std::vector<Operand>& at = one.operands;
    auto constant = [&](std::size_t i) { return at[i].kind == Operand::immediate; };
    if (at.size() == 2) {
      Operand::Kind kind = at[1].kind;
      if (name == "mov" && (kind == Operand::register_ || kind == Operand::immediate || kind == Operand::symbol)) return of(at[1], depth);
      if ((name == "cvt" || name == "cvta") && kind == Operand::register_) {
        Type type = type_named(one.last());
        if (type == Type::none || bytes_of(type) >= WORD_BYTES) return of(at[1], depth);
      }
    }
    if (at.size() == 3) {
      if (name == "add") return of(at[1], depth).plus(of(at[2], depth));
      if (name == "sub") return of(at[1], depth).plus(of(at[2], depth), -1);
      if (name == "shl" && constant(2) && at[2].value >= 0 && at[2].value < 63) return of(at[1], depth).times(1ll << at[2].value);
      if (name == "mul" && constant(2) && !one.has("hi")) return of(at[1], depth).times(at[2].value);
      if (name == "or" && constant(2)) {
        Linear left = of(at[1], depth);
        int zeros = std::min(std::countr_zero(static_cast<u32>(alignment(left.terms))), trailing_zeros(left.constant));
        // "or" adds where the bits it sets are known to be zero.
        if (at[2].value >= 0 && at[2].value < 1 << zeros) return left.plus({{}, at[2].value});
      }
    }
    if (at.size() == 4 && name == "mad" && constant(2) && !one.has("hi")) {
      return of(at[1], depth).times(at[2].value).plus(of(at[3], depth));
    }
    return {};
  }

  const Knowledge& known_;
  std::map<int, Linear> values_, stable_;
  std::map<int, i64> writes_;
};

/// A shared access of the PTX that may be merged.
struct Asked {
  int index;
  Linear place;
  int width;
  i64 start() const { return place.constant; }
};

i64 floor_to(i64 value, i64 unit) { return (value >= 0 ? value / unit : -((-value + unit - 1) / unit)) * unit; }

std::optional<Asked> mergeable(const Instruction& one, BlockValues& values) {
  bool load = one.part(0) == "ld";
  if ((!load && one.part(0) != "st") || one.has("volatile") || one.guard >= 0) return {};
  int element = bytes_of(type_named(one.last()));
  if (!one.part(1).starts_with("shared") || (element != WORD_BYTES && (load || element != 2 * WORD_BYTES))) return {};
  if (one.operands.size() != 2 || one.operands[load].kind != Operand::address) return {};
  int vector = one.has("v2") ? 2 : one.has("v4") ? 4 : 1;
  return Asked{one.index, values.place(one.operands[load]), element * vector};
}

/// Whether it may read or write shared memory, or orders those that do.
bool may_access_shared(const Instruction& one) {
  std::string_view name = one.part(0);
  for (std::string_view sure : {"bar", "barrier", "membar", "fence", "cp", "ldmatrix", "mbarrier", "wmma"}) {
    if (name == sure) return true;
  }
  if (name != "ld" && name != "st" && name != "red" && name != "atom") return false;
  // An access that names no space may go to shared memory.
  return !one.has("global") && !one.has("local") && !one.has("param") && !one.has("const");
}

void merge_loads(const std::map<Terms, std::vector<Asked>>& loads, const BlockValues& values, Merged& merged) {
  for (const auto& [terms, asked] : loads) {
    int alignment = values.alignment(terms);
    std::map<i64, const Asked*> owner;
    for (const Asked& load : asked) {
      for (i64 word = load.start(); word < load.start() + load.width; word += WORD_BYTES) owner.try_emplace(word, &load);
      merged[load.index].clear();
    }
    std::set<i64> left;
    for (auto& [word, load] : owner) left.insert(word);
    for (auto& [word, load] : owner) {
      if (!left.contains(word)) continue;
      i64 start = word, quad = floor_to(word, 16), pair = floor_to(word, 8);
      int width = WORD_BYTES, in_quad = 0;
      for (i64 w = quad; w < quad + 16; w += WORD_BYTES) in_quad += left.contains(w);
      if (alignment >= 16 && in_quad >= 3) {
        start = quad, width = 16;
      } else if (alignment >= 8 && left.contains(pair) && left.contains(pair + WORD_BYTES)) {
        start = pair, width = 8;
      }
      // The machine load stands where the first of its words is needed.
      const Asked* first = nullptr;
      for (i64 w = start; w < start + width; w += WORD_BYTES) {
        left.erase(w);
        auto mine = owner.find(w);
        if (mine != owner.end() && (first == nullptr || mine->second->index < first->index)) first = mine->second;
      }
      merged[first->index].push_back({static_cast<int>(start - first->start()), width});
    }
    for (const Asked& load : asked) {
      // Where the analysis cannot prove the alignment of a vector, the programmer vouches for it.
      if (load.width > WORD_BYTES && (alignment < load.width || load.start() % load.width)) {
        merged[load.index] = {{0, load.width}};
      }
    }
  }
}

/// Stores that follow each other and lie in one aligned piece of shared memory.
class StoreRun {
 public:
  StoreRun(const BlockValues& values, Merged& merged) : values_(values), merged_(merged) {}

  void add(const Asked& store) {
    if (!continues(store)) end();
    stores_.push_back(store);
  }

  /// Says what the stores of the run become, and forgets them.
  void end() {
    std::vector<Asked> stores = std::move(stores_);
    stores_.clear();
    bool narrower = false;
    for (const Asked& store : stores) {
      merged_[store.index] = {{0, store.width}};
      narrower = narrower || store.width < stores[0].width;
    }
    if (narrower) return;
    // Whole pieces are merged last, over pairs of words.
    for (int width : {2 * WORD_BYTES, WIDEST}) {
      std::set<i64> starts;
      for (const Asked& store : stores) starts.insert(floor_to(store.start(), width));
      for (i64 start : starts) {
        int sum = 0;
        const Asked *first = nullptr, *last = nullptr;
        for (const Asked& store : stores) {
          if (floor_to(store.start(), width) != start) continue;
          sum += store.width;
          if (first == nullptr) first = &store;
          if (last == nullptr || store.index > last->index) last = &store;
        }
        if (sum != width || width > piece(*first)) continue;
        for (const Asked& store : stores) {
          if (floor_to(store.start(), width) == start) merged_[store.index].clear();
        }
        merged_[last->index] = {{static_cast<int>(start - last->start()), width}};
      }
    }
  }

 private:
  int piece(const Asked& store) const { return std::min(WIDEST, values_.alignment(store.place.terms)); }

  bool continues(const Asked& store) const {
    if (stores_.empty() || store.place.terms != stores_[0].place.terms) return false;
    for (const Asked& other : stores_) {
      if (store.start() < other.start() + other.width && other.start() < store.start() + store.width) return false;
    }
    return floor_to(store.start(), piece(store)) == floor_to(stores_[0].start(), piece(store));
  }

  const BlockValues& values_;
  Merged& merged_;
  std::vector<Asked> stores_;
};

}  // namespace

Merged merge_shared_accesses(const Kernel& kernel, const std::vector<BasicBlock>& blocks,
                             const std::vector<Placed>& shared) {
  Knowledge knowledge(kernel, blocks, shared);
  Merged merged;
  for (const BasicBlock& block : blocks) {
    BlockValues values(knowledge);
    std::map<Terms, std::vector<Asked>> loads;
    StoreRun stores(values, merged);
    for (int i = block.first; i < block.last; ++i) {
      const Instruction& one = kernel.instructions[i];
      std::optional<Asked> asked = mergeable(one, values);
      bool load = one.part(0) == "ld" || one.part(0) == "ldmatrix";
      if (load && asked) {
        loads[asked->place.terms].push_back(*asked);
        stores.end();
      } else if (may_access_shared(one)) {
        if (!load) {
          merge_loads(loads, values, merged);
          loads.clear();
        }
        if (asked) {
          stores.add(*asked);
        } else {
          stores.end();
        }
      }
      values.step(one);
    }
    merge_loads(loads, values, merged);
    stores.end();
  }
  return merged;
}

}  // namespace engine
