#include "ptx.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace engine {

namespace {

constexpr std::array<std::pair<std::string_view, Type>, 20> TYPES{{
    {"pred", Type::pred}, {"b8", Type::b8},     {"u8", Type::u8},       {"s8", Type::s8},
    {"b16", Type::b16},   {"u16", Type::u16},   {"s16", Type::s16},     {"f16", Type::f16},
    {"bf16", Type::bf16}, {"b32", Type::b32},   {"u32", Type::u32},     {"s32", Type::s32},
    {"f32", Type::f32},   {"f16x2", Type::f16x2}, {"bf16x2", Type::bf16x2}, {"tf32", Type::tf32},
    {"b64", Type::b64},   {"u64", Type::u64},   {"s64", Type::s64},     {"f64", Type::f64},
}};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

std::string_view strip(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view without_digits(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name;
}

[[noreturn]] void unreadable(std::string_view statement, Location place) {
  refuse(Refusal::ptx, "ptx.unreadable", {named("statement", std::string(statement)), named("place", place)});
}

/// Reads words from the start of a text.
struct Reader {
  std::string_view rest;

  void skip() {
    while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip();
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }
  std::string_view word(bool (*belongs)(char)) {
    skip();
    std::size_t length = 0;
    while (length < rest.size() && belongs(rest[length])) ++length;
    std::string_view found = rest.substr(0, length);
    rest.remove_prefix(length);
    return found;
  }
  /// A whole number, or `otherwise` where none stands.
  i64 number(i64 otherwise) {
    std::string_view digits = word(is_digit);
    if (digits.empty() || digits.size() > 15) return otherwise;
    i64 value = 0;
    for (char c : digits) value = 10 * value + (c - '0');
    return value;
  }
};

/// An integer as C writes it, with sign and base; false where it is none.
bool whole_number(std::string_view text, i64& value) {
  text = strip(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text = strip(text.substr(1));
  }
  u64 base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) base = 2;
  if (base != 10) text.remove_prefix(2);
  if (text.empty() || (base == 10 && text.size() > 1 && text[0] == '0')) return false;
  u64 sum = 0;
  for (char c : text) {
    u64 digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    if (digit >= base) return false;
    sum = sum * base + digit;
  }
  value = static_cast<i64>(negative ? 0 - sum : sum);
  return true;
}

/// An integer constant, or the bit pattern of a float written 0f3F800000.
bool constant(std::string_view text, i64& value) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
    return whole_number("0x" + std::string(text.substr(2)), value);
  }
  while (!text.empty() && text.back() == 'U') text.remove_suffix(1);
  return whole_number(text, value);
}

/// Cuts at the commas that stand outside brackets and braces.
std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    char c = at < text.size() ? text[at] : ',';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && (depth == 0 || at == text.size())) {
      std::string_view part = strip(text.substr(start, at - start));
      if (!part.empty()) parts.push_back(part);
      start = at + 1;
    }
  }
  return parts;
}

std::string without_comments(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (text.substr(at, 2) == "/*" && text.find("*/", at + 2) != text.npos) {
      at = text.find("*/", at + 2) + 2;
    } else {
      kept += text[at++];
    }
  }
  return kept;
}

/// Headers of CUDA's own: what stands in them is told of the line that calls it.
bool is_cudas_header(std::string_view name) {
  static constexpr std::string_view WHOLE[] = {
      "mma.hpp", "cooperative_groups.h", "sync.h", "helpers.h", "reduce.h", "scan.h",
      "coalesced_reduce.h", "coalesced_scan.h", "partitioning.h", "async.h", "info.h", "memory.h",
      "functional.h", "pipeline", "barrier", "atomic"};
  if (std::find(std::begin(WHOLE), std::end(WHOLE), name) != std::end(WHOLE)) return true;
  auto fits = [&](std::string_view start, std::string_view end, bool empty) {
    if (!name.starts_with(start) || !name.ends_with(end)) return false;
    if (name.size() < start.size() + end.size() + !empty) return false;
    std::string_view inside = name.substr(start.size(), name.size() - start.size() - end.size());
    return std::all_of(inside.begin(), inside.end(), [](char c) { return is_word(c) && c != '$'; });
  };
  if (fits("__nv_nvrtc", ".h", true) || fits("cuda_", ".hpp", false)) return true;
  if (fits("sm_", ".h", false) || fits("sm_", ".hpp", false)) return true;
  for (std::string_view start : {"cp_async_", "memcpy_", "dispatch_memcpy_", "completion_", "mbarrier_",
                                 "barrier_", "is_local_smem_", "try_get_"}) {
    if (fits(start, ".h", false)) return true;
  }
  return false;
}

/// Follows the places that a kernel's text names with `.loc`, line by line.
class Places {
 public:
  explicit Places(Kernel& kernel, const std::map<i64, int>& table) : kernel_(kernel), table_(table) {}
  Location here;

  void read(std::string_view line) {
    Reader reader{line};
    std::array<i64, 3> at, caller{-1, -1, -1};
    if (!reader.take(".loc")) return;
    for (i64& number : at) number = reader.number(-1);
    if (at[2] < 0 || at[1] <= 0) return;
    std::size_t inlined = reader.rest.find("inlined_at");
    if (inlined != reader.rest.npos) {
      Reader inside{reader.rest.substr(inlined + 10)};
      for (i64& number : caller) number = inside.number(-1);
    }
    Location place{file(at[0]), static_cast<int>(at[1])};
    if (caller[2] >= 0 && is_cudas_header(kernel_.files[place.file])) {
      auto known = callers_.find(caller);
      place = known != callers_.end() ? known->second : Location{file(caller[0]), static_cast<int>(caller[1])};
    }
    callers_[at] = place;
    here = place;
  }

 private:
  int file(i64 number) {
    auto found = table_.find(number);
    if (found != table_.end()) return found->second;
    for (std::size_t i = 0; i < kernel_.files.size(); ++i) {
      if (kernel_.files[i] == "source") return static_cast<int>(i);
    }
    kernel_.files.push_back("source");
    return static_cast<int>(kernel_.files.size()) - 1;
  }

  Kernel& kernel_;
  const std::map<i64, int>& table_;
  std::map<std::array<i64, 3>, Location> callers_;
};

/// Names of the module's source files, without their folders, by number.
std::map<i64, int> file_table(std::string_view ptx, Kernel& kernel) {
  std::map<i64, int> table;
  for (std::size_t at = 0; at < ptx.size();) {
    std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    Reader line{ptx.substr(at, end - at)};
    at = end + 1;
    if (!line.take(".file")) continue;
    i64 number = line.number(-1);
    if (number < 0 || !line.take("\"")) continue;
    std::string_view name = line.rest.substr(0, line.rest.find('"'));
    name = name.substr(name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1);
    auto known = std::find(kernel.files.begin(), kernel.files.end(), name);
    table[number] = static_cast<int>(known - kernel.files.begin());
    if (known == kernel.files.end()) kernel.files.emplace_back(name);
  }
  return table;
}

/// Reads the statements between the braces of one kernel.
class BodyReader {
 public:
  BodyReader(Kernel& kernel, const std::map<i64, int>& files) : kernel_(kernel), places_(kernel, files) {
    kernel.registers.push_back({"_", Type::none});
    numbers_["_"] = SINK;
  }

  void read(std::string_view text) {
    std::string pending;
    for (std::size_t at = 0; at <= text.size();) {
      std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = strip(text.substr(at, end - at));
      at = end + 1;
      while (!line.empty()) {
        if (pending.empty()) {
          line = line_start(line);
          if (line.empty()) break;
        }
        std::size_t semicolon = line.find(';');
        pending += line.substr(0, semicolon);
        if (semicolon == line.npos) {
          pending += ' ';
          break;
        }
        statement(strip(pending));
        pending.clear();
        line = strip(line.substr(semicolon + 1));
      }
    }
  }

 private:
  struct Scope {
    std::size_t start;  // instructions before it
    std::map<std::string, std::string, std::less<>> registers, labels;
  };

  /// Takes what needs no semicolon off the start of a line; returns the rest.
  std::string_view line_start(std::string_view line) {
    if (line.starts_with(".loc ") || line.starts_with(".loc\t")) {
      places_.read(line);
      return {};
    }
    if (line[0] == '{') {
      scopes_.push_back({kernel_.instructions.size(), {}, {}});
      return strip(line.substr(1));
    }
    if (line[0] == '}') {
      if (scopes_.empty()) unreadable(line, places_.here);
      close_scope();
      return strip(line.substr(1));
    }
    Reader reader{line};
    std::string_view word = reader.word(is_word);
    reader.skip();
    if (!word.empty() && reader.rest.starts_with(":") && !reader.rest.starts_with("::")) {
      std::string name(word);
      if (!scopes_.empty()) {
        name += "@" + std::to_string(++scope_count_);
        scopes_.back().labels[std::string(word)] = name;
      }
      kernel_.labels[name] = static_cast<int>(kernel_.instructions.size());
      return strip(reader.rest.substr(1));
    }
    return line;
  }

  /// Leaves a scope: its branches to its own labels mean those and no others.
  void close_scope() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    if (scope.labels.empty()) return;
    for (std::size_t i = scope.start; i < kernel_.instructions.size(); ++i) {
      Instruction& one = kernel_.instructions[i];
      if (one.part(0) != "bra" || one.operands.empty() || one.operands[0].kind != Operand::symbol) continue;
      auto own = scope.labels.find(kernel_.names[one.operands[0].name]);
      if (own != scope.labels.end()) one.operands[0].name = name_number(own->second);
    }
  }

  void statement(std::string_view text) {
    if (text.starts_with(".reg")) {
      read_registers(text);
    } else if (text.starts_with(".shared") || text.starts_with(".local")) {
      read_array(text);
    } else if (text.starts_with(".pragma") && text.find("nounroll") != text.npos) {
      kernel_.not_unrolled.push_back(static_cast<int>(kernel_.instructions.size()));
    } else if (!text.empty() && text[0] != '.') {
      read_instruction(text);
    }
  }

  void read_registers(std::string_view text) {
    Reader reader{text};
    reader.take(".reg");
    if (!reader.take(".")) refuse(Refusal::ptx, "ptx.registers", {named("statement", std::string(text))});
    Type type = type_named(reader.word(is_word));
    if (type == Type::none || reader.rest.empty() || !is_space(reader.rest[0])) {
      refuse(Refusal::ptx, "ptx.registers", {named("statement", std::string(text))});
    }
    std::string_view rest = reader.rest;
    for (std::size_t start = 0; start <= rest.size();) {
      std::size_t end = std::min(rest.find(',', start), rest.size());
      std::string_view name = strip(rest.substr(start, end - start));
      start = end + 1;
      std::string plain(name.substr(0, name.find('<')));
      if (!scopes_.empty()) {
        std::string marked = plain + "@" + std::to_string(++scope_count_);
        scopes_.back().registers[plain] = marked;
        plain = marked;
      }
      types_[plain] = type;
    }
  }

  void read_array(std::string_view text) {
    Reader reader{text};
    bool shared = reader.take(".shared");
    if (!shared) reader.take(".local");
    i64 alignment = reader.take(".align") ? reader.number(0) : 0;
    Type type = reader.take(".") ? type_named(reader.word(is_word)) : Type::none;
    std::string_view name = reader.word([](char c) { return is_word(c) || c == '%'; });
    i64 count = 1;
    if (reader.take("[")) {
      count = reader.number(0);
      if (!reader.take("]")) name = {};
    }
    if (type == Type::none || type == Type::pred) unreadable(text, places_.here);
    if (name.empty() || count < 0 || count > (1 << 30)) {
      refuse(Refusal::ptx, "ptx.array", {named("statement", std::string(text))});
    }
    if (alignment <= 0 || alignment > (1 << 20)) alignment = bytes_of(type);
    (shared ? kernel_.shared : kernel_.local)
        .push_back({std::string(name), bytes_of(type) * count, static_cast<int>(alignment)});
  }

  void read_instruction(std::string_view text) {
    Instruction one;
    one.index = static_cast<int>(kernel_.instructions.size());
    one.place = places_.here;
    std::string_view rest = text;
    if (rest[0] == '@') {
      Reader reader{rest.substr(1)};
      one.guard_negated = reader.take("!");
      std::string_view name = reader.word([](char c) { return is_word(c) || c == '%'; });
      Operand guard = operand(name, text);
      if (guard.kind != Operand::register_ || kernel_.registers[guard.reg].type != Type::pred) unreadable(text, places_.here);
      one.guard = guard.reg;
      rest = strip(reader.rest);
    }
    std::size_t end = 0;
    while (end < rest.size() && !is_space(rest[end])) ++end;
    one.opcode = rest.substr(0, end);
    if (one.opcode.empty()) unreadable(text, places_.here);
    one.cut();
    for (std::string_view item : split_operands(rest.substr(end))) one.operands.push_back(operand(item, text));
    kernel_.instructions.push_back(one);
  }

  Operand operand(std::string_view text, std::string_view statement, int depth = 0) {
    if (text.empty() || depth > 4) unreadable(statement, places_.here);
    Operand found;
    if (text[0] == '[' || text[0] == '{') {
      if (text.size() < 2) unreadable(statement, places_.here);
      std::string_view inside = strip(text.substr(1, text.size() - 2));
      if (text[0] == '[' && inside.find(',') == inside.npos) return address(inside, statement);
      found.kind = Operand::vector;
      for (std::string_view item : split_operands(inside)) found.items.push_back(operand(item, statement, depth + 1));
      return found;
    }
    if (std::size_t bar = text.find('|'); bar != text.npos) {
      if (text.find('|', bar + 1) != text.npos) unreadable(statement, places_.here);
      found.kind = Operand::pair;
      found.reg = register_number(scoped(strip(text.substr(0, bar))), statement);
      found.second = register_number(scoped(strip(text.substr(bar + 1))), statement);
      return found;
    }
    if (text[0] == '!') {
      found.kind = Operand::negated;
      found.reg = register_number(scoped(strip(text.substr(1))), statement);
      return found;
    }
    if (is_digit(text[0]) || text[0] == '-') {
      found.kind = Operand::immediate;
      if (!constant(text, found.value)) unreadable(statement, places_.here);
      return found;
    }
    std::string name = scoped(text);
    if (text == "_" || types_.contains(name)) {
      found.kind = Operand::register_;
      found.reg = register_number(name, statement);
      return found;
    }
    if (text[0] == '%') {
      if (types_.contains(without_digits(text))) {
        found.kind = Operand::register_;
        found.reg = register_number(std::string(text), statement);
      } else {
        found.kind = Operand::special;
        found.name = name_number(std::string(text));
      }
      return found;
    }
    std::size_t plus = text.find('+');
    found.kind = Operand::symbol;
    found.name = name_number(std::string(strip(text.substr(0, plus))));
    if (plus != text.npos && !whole_number(text.substr(plus + 1), found.value)) unreadable(statement, places_.here);
    return found;
  }

  Operand address(std::string_view text, std::string_view statement) {
    std::size_t end = 0;
    while (end < text.size() && text[end] != '+' && !is_space(text[end]) && (text[end] != '-' || end == 0)) ++end;
    if (end == 0 || text[0] == '-' || text[0] == '[') unreadable(statement, places_.here);
    Operand base = operand(text.substr(0, end), statement, 3);
    if (base.kind != Operand::register_ && base.kind != Operand::symbol && base.kind != Operand::immediate) {
      refuse(Refusal::ptx, "ptx.address", {named("text", std::string(text))});
    }
    Operand found = base;
    found.base = base.kind;
    found.kind = Operand::address;
    found.start = base.value;
    found.value = 0;
    std::string_view rest = strip(text.substr(end));
    if (!rest.empty() && (rest[0] != '+' || !whole_number(rest.substr(1), found.value))) unreadable(statement, places_.here);
    return found;
  }

  std::string scoped(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->registers.find(name);
      if (found != scope->registers.end()) return found->second;
    }
    return std::string(name);
  }

  int name_number(const std::string& name) {
    auto found = std::find(kernel_.names.begin(), kernel_.names.end(), name);
    if (found == kernel_.names.end()) {
      kernel_.names.push_back(name);
      return static_cast<int>(kernel_.names.size()) - 1;
    }
    return static_cast<int>(found - kernel_.names.begin());
  }

  int register_number(const std::string& name, std::string_view statement) {
    auto [known, fresh] = numbers_.try_emplace(name, static_cast<int>(kernel_.registers.size()));
    if (!fresh) return known->second;
    auto exact = types_.find(name);
    if (exact == types_.end()) exact = types_.find(without_digits(name));
    if (exact == types_.end()) {
      if (name[0] != '%') unreadable(statement, places_.here);
      refuse(Refusal::ptx, "ptx.undeclared", {named("name", name.substr(0, name.find('@')))});
    }
    kernel_.registers.push_back({name, exact->second});
    return known->second;
  }

  Kernel& kernel_;
  Places places_;
  std::map<std::string, Type, std::less<>> types_;
  std::map<std::string, int> numbers_;
  std::vector<Scope> scopes_;
  int scope_count_ = 0;
};

std::vector<Parameter> parameters_of(std::string_view text) {
  std::vector<Parameter> found;
  for (std::size_t start = 0; start <= text.size();) {
    std::size_t end = std::min(text.find(',', start), text.size());
    std::string_view declaration = strip(text.substr(start, end - start));
    start = end + 1;
    if (declaration.empty()) continue;
    Type type = Type::none;
    std::string_view last;
    Reader reader{declaration};
    while (true) {
      last = reader.word([](char c) { return !is_space(c); });
      if (last[0] == '.' && type == Type::none) type = type_named(last.substr(1));
      reader.skip();
      if (reader.rest.empty()) break;
    }
    if (type == Type::none || type == Type::pred) {
      refuse(Refusal::ptx, "ptx.parameter", {named("declaration", std::string(declaration))});
    }
    std::size_t bracket = last.find('[');
    found.push_back({std::string(last.substr(0, bracket)), type, bracket != last.npos});
  }
  return found;
}

std::size_t closing_brace(std::string_view text, std::size_t start) {
  int depth = 1;
  for (std::size_t at = start; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  refuse(Refusal::ptx, "ptx.cut");
}

/// Shared arrays that stand outside the kernels: `.shared .align 4 .b8 name[size];`.
std::vector<ArrayDeclaration> module_shared(std::string_view outside) {
  std::vector<ArrayDeclaration> found;
  for (std::size_t at = 0; at < outside.size();) {
    std::size_t end = std::min(outside.find('\n', at), outside.size());
    Reader line{outside.substr(at, end - at)};
    at = end + 1;
    // Linkage may stand before the space: `.extern .shared`.
    while (line.take(".extern") || line.take(".visible") || line.take(".weak") || line.take(".common")) {}
    if (!line.take(".shared")) continue;
    i64 alignment = line.take(".align") ? line.number(0) : 0;
    Type type = line.take(".") ? type_named(line.word(is_word)) : Type::none;
    std::string_view name = line.word(is_word);
    i64 count = 1;
    if (line.take("[")) {
      count = line.number(0);
      if (!line.take("]")) continue;
    }
    if (type == Type::none || type == Type::pred || name.empty() || count > (1 << 30) || !line.take(";")) continue;
    if (alignment <= 0 || alignment > (1 << 20)) alignment = bytes_of(type);
    found.push_back({std::string(name), bytes_of(type) * count, static_cast<int>(alignment)});
  }
  return found;
}

}  // namespace

Type type_named(std::string_view name) {
  for (auto [known, type] : TYPES) {
    if (known == name) return type;
  }
  return Type::none;
}

int bytes_of(Type type) {
  if (type <= Type::pred) return 0;
  if (type <= Type::s8) return 1;
  if (type <= Type::bf16) return 2;
  return type <= Type::tf32 ? 4 : 8;
}

bool Instruction::has(std::string_view word) const {
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

void Instruction::cut() {
  parts.clear();
  std::string_view rest = opcode;
  for (std::size_t start = 0; start <= rest.size();) {
    std::size_t end = std::min(rest.find('.', start), rest.size());
    parts.push_back(rest.substr(start, end - start));
    start = end + 1;
  }
}

Instruction& Instruction::operator=(const Instruction& other) {
  index = other.index;
  opcode = other.opcode;
  operands = other.operands;
  guard = other.guard;
  guard_negated = other.guard_negated;
  place = other.place;
  cut();
  return *this;
}

Kernel parse(std::string_view ptx, std::string_view entry) {
  std::string text = without_comments(ptx);
  if (text.find(".func") != text.npos) unknown("functions");
  std::string names, outside, target;
  Kernel found;
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    Reader line{std::string_view(text).substr(at, end - at)};
    if (line.take(".target")) {
      line.skip();
      std::string_view word = line.word(is_word);
      if (target.empty() && word.starts_with("sm_")) {
        std::size_t digits = 3;
        while (digits < word.size() && is_digit(word[digits])) ++digits;
        target = word.substr(0, digits);
      }
    }
    at = end + 1;
  }
  std::size_t position = 0;
  while (true) {
    std::size_t start = text.find(".entry", position);
    if (start == text.npos) break;
    Reader header{std::string_view(text).substr(start + 6)};
    std::string_view name = header.word(is_word);
    std::string_view takes;
    if (header.take("(")) {
      takes = header.rest.substr(0, header.rest.find(')'));
      header.rest.remove_prefix(std::min(takes.size() + 1, header.rest.size()));
    }
    std::size_t brace = header.rest.find('{');
    if (name.empty() || brace == std::string_view::npos) {
      outside += std::string_view(text).substr(position, start + 6 - position);
      position = start + 6;
      continue;
    }
    std::size_t body = static_cast<std::size_t>(header.rest.data() - text.data()) + brace + 1;
    std::size_t end = closing_brace(text, body);
    outside += std::string_view(text).substr(position, start - position);
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (name == entry) {
      any = true;
      found = Kernel{};
      found.name = entry;
      found.target = target;
      found.parameters = parameters_of(takes);
      std::map<i64, int> files = file_table(ptx, found);
      BodyReader(found, files).read(std::string_view(text).substr(body, end - body));
    }
    position = end + 1;
  }
  outside += std::string_view(text).substr(position);
  if (names.empty()) refuse(Refusal::ptx, "ptx.empty");
  if (!any) refuse(Refusal::launch, "run.entry", {named("entry", std::string(entry)), named("names", names)});
  std::set<std::string_view> used;
  for (const Instruction& one : found.instructions) {
    for (const Operand& operand : one.operands) {
      bool is_symbol = operand.kind == Operand::symbol || (operand.kind == Operand::address && operand.base == Operand::symbol);
      if (is_symbol) used.insert(found.names[operand.name]);
    }
  }
  std::vector<ArrayDeclaration> shared;
  for (const ArrayDeclaration& array : module_shared(outside)) {
    if (used.contains(array.name)) shared.push_back(array);
  }
  found.shared.insert(found.shared.begin(), shared.begin(), shared.end());
  return found;
}

void add_registers(const Operand& operand, std::vector<int>& into) {
  switch (operand.kind) {
    case Operand::register_:
    case Operand::negated:
      into.push_back(operand.reg);
      break;
    case Operand::pair:
      into.push_back(operand.reg);
      into.push_back(operand.second);
      break;
    case Operand::vector:
      for (const Operand& item : operand.items) add_registers(item, into);
      break;
    case Operand::address:
      if (operand.base == Operand::register_) into.push_back(operand.reg);
      break;
    default:
      break;
  }
}

namespace {

bool has_destination(const Instruction& one) {
  static constexpr std::string_view NONE[] = {"st", "sust", "red", "bar", "barrier", "cp", "membar",
                                              "fence", "bra", "ret", "exit", "setmaxnreg"};
  if (one.operands.empty() || one.operands[0].kind == Operand::address) return false;
  return std::find(std::begin(NONE), std::end(NONE), one.part(0)) == std::end(NONE);
}

}  // namespace

std::vector<int> registers_written(const Instruction& one) {
  std::vector<int> found;
  if (has_destination(one)) add_registers(one.operands[0], found);
  return found;
}

std::vector<int> registers_read(const Instruction& one) {
  std::vector<int> found;
  for (std::size_t i = has_destination(one); i < one.operands.size(); ++i) add_registers(one.operands[i], found);
  if (one.guard >= 0) found.push_back(one.guard);
  return found;
}

}  // namespace engine
