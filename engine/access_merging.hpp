// Which shared accesses ptxas merges: from the PTX as written to the machine code as compiled. The
// rules were read off the machine code of test kernels for sm_90.

#pragma once

#include "control_flow.hpp"

namespace engine {

/// Where an array lies in its memory, in bytes.
struct Placed {
  std::string name;
  i64 start;
  i64 bytes;
};

/// Places shared or local arrays as ptxas does: in declared order, each at its alignment, dynamic
/// shared memory after all others.
std::vector<Placed> lay_out(const std::vector<ArrayDeclaration>& declarations, i64 dynamic_bytes);

/// A load or store in the machine code that stands for one or several in the PTX.
struct WideAccess {
  int offset;  // where it starts, in bytes from the address of the PTX instruction
  int width;   // bytes per lane
  bool operator==(const WideAccess&) const = default;
};

/// For a shared access's instruction, the machine accesses issued in its place. Accesses that ptxas
/// never merges are left out.
using Merged = std::map<int, std::vector<WideAccess>>;

Merged merge_shared_accesses(const Kernel& kernel, const std::vector<BasicBlock>& blocks,
                             const std::vector<Placed>& shared);

}  // namespace engine
