// PTX text, read into a list of instructions. Only syntax is handled here; decode.cpp decides what
// an instruction does. The grammar is that of NVIDIA's "Parallel Thread Execution ISA".

#pragma once

#include <map>

#include "machine.hpp"

namespace engine {

enum class Type : u8 {
  none, pred, b8, u8, s8, b16, u16, s16, f16, bf16, b32, u32, s32, f32, f16x2, bf16x2, tf32,
  b64, u64, s64, f64,
};

Type type_named(std::string_view name);
int bytes_of(Type type);
inline bool is_float(Type type) { return type == Type::f32 || type == Type::f64; }
inline bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

/// An operand of an instruction.
struct Operand {
  enum Kind : u8 {
    nothing,
    register_,  // %r12; `reg` is its number
    special,    // %tid.x; `name` is an index into Kernel::names
    immediate,  // `value` is the integer, or the bit pattern of a float
    symbol,     // an array's address plus `value` bytes
    address,    // [base+value]; `base` says what the base is
    negated,    // !%p1
    vector,     // {%f1, %f2}
    pair,       // %r1|%p1; two destinations
  };
  Kind kind = nothing;
  Kind base = nothing;  // of an address: register_, symbol or immediate
  int reg = -1;
  int second = -1;  // of a pair
  int name = -1;    // of a symbol or special register
  i64 value = 0;    // of an address: the offset
  i64 start = 0;    // of an address: what an immediate or symbol base adds
  std::vector<Operand> items;

  bool operator==(const Operand&) const = default;
};

constexpr int SINK = 0;  // number of the register `_`, which drops what is written

struct Instruction {
  int index = 0;  // position in the kernel
  std::string opcode;
  std::vector<std::string_view> parts;  // the opcode cut at its dots
  std::vector<Operand> operands;
  int guard = -1;  // register of the predicate before it, -1 for none
  bool guard_negated = false;
  Location place;

  std::string_view part(std::size_t at) const { return at < parts.size() ? parts[at] : ""; }
  std::string_view last() const { return parts.back(); }
  bool has(std::string_view word) const;
  void cut();  // fills `parts` from `opcode`
  Instruction() = default;
  Instruction(const Instruction& other) { *this = other; }
  Instruction& operator=(const Instruction& other);
};

struct Register {
  std::string name;
  Type type;
};

/// A shared or local array. `bytes` is 0 for dynamic shared memory.
struct ArrayDeclaration {
  std::string name;
  i64 bytes;
  int alignment;
};

struct Parameter {
  std::string name;
  Type type;
  bool is_struct;
};

/// One `.entry` of a PTX module.
struct Kernel {
  std::string name;
  std::string target;
  std::vector<Parameter> parameters;
  std::vector<Register> registers;  // number 0 is the sink
  std::vector<ArrayDeclaration> shared, local;
  std::vector<std::string> names;  // of symbols and special registers
  std::vector<std::string> files;  // names of source files
  std::vector<Instruction> instructions;
  std::map<std::string, int> labels;  // to the index of the instruction that follows
  std::vector<int> not_unrolled;      // indices of instructions after a .pragma "nounroll"
};

/// Reads one kernel of a module.
Kernel parse(std::string_view ptx, std::string_view entry);

/// Registers that an instruction writes, and those that it reads, its guard included.
std::vector<int> registers_written(const Instruction& instruction);
std::vector<int> registers_read(const Instruction& instruction);
void add_registers(const Operand& operand, std::vector<int>& into);

}  // namespace engine
