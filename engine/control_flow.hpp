// Control flow of a kernel: basic blocks, and where diverged threads meet again.

#pragma once

#include "ptx.hpp"

namespace engine {

constexpr int END = -1;  // block number that stands for the end of the kernel

/// Instructions that always run one after the other.
struct BasicBlock {
  int number;
  int first, last;  // instructions [first, last), without the branch or return at the end
  int terminator;   // index of a branch or return, -1 where the block falls through
  int target;       // block that the terminator jumps to; END for a return
  int fall_through; // block that follows in the text, END after the last
  int reconvergence = END;  // first block that every path from here passes: the immediate post-dominator
};

/// Cuts a kernel into basic blocks; block 0 is the entry.
std::vector<BasicBlock> basic_blocks(const Kernel& kernel);

/// Blocks that may run next.
std::vector<int> successors(const Kernel& kernel, const BasicBlock& block);

/// Writes out short loops with a fixed number of turns, as ptxas does.
Kernel unroll_short_loops(Kernel kernel);

}  // namespace engine
