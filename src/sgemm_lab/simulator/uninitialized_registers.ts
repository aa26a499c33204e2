// Registers that are read before anything wrote them: variables without a first value.
//
// The compiler gives such a variable a register, and on some path to a read of it nothing writes
// that. What it holds then is chance. Here it holds a mark, a number that no computation makes, so
// that a result that depends on it is wrong at every run, and a read of it can be reported.
//
// A compiler also makes such reads by itself, where the result is not used afterwards. So a read is
// told only where it does harm: see uninitialized_values.ts.

import { type BasicBlock, END, successors } from "./control_flow.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { ThreadGroup, UnsetReads } from "./group.ts";
import { registersRead, registersWritten } from "./operands.ts";
import type { Instruction, PtxKernel, Register } from "./ptx.ts";
import type { Mask, RegisterFile } from "./registers.ts";

/** By bytes of a register: signalling NaNs, which no arithmetic returns, as words or halves. */
const MARKS: Record<number, number[]> = {
  2: [0x7dad],
  4: [0x7fb0dead],
  8: [0x7fb0dead, 0x7ff4dead],
};
/** What hands a value on without using it. */
const COPIES = ["mov", "selp"];

/**
 * Find the instructions that use a register which on some path nothing has written. What a guarded
 * instruction writes counts as written: its guard mostly stands before the reads too. Predicates
 * are left out, for they have room for no mark.
 */
export function unsetReads(kernel: PtxKernel, blocks: BasicBlock[]): UnsetReads {
  const bits: Map<string, bigint> = new Map();
  const bitsOf = (registers: Register[]) => {
    let found = 0n;
    for (const { name } of registers) {
      if (name === "_" || kernel.registerType(name) === "pred") continue;
      found |= getOrInsert(bits, name, () => 1n << BigInt(bits.size));
    }
    return found;
  };
  const uses = blocks.map(({ instructions }) =>
    instructions.map((one) => ({
      one,
      reads: bitsOf(registersRead(one)),
      writes: bitsOf(registersWritten(one)),
      copies: COPIES.includes(one.parts[0]),
    })),
  );
  const everything = (1n << BigInt(bits.size)) - 1n;
  const written = blocks.map(({ number }) => (number ? everything : 0n));
  const waiting = new Set(blocks.slice(0, 1).map(({ number }) => number));
  while (waiting.size) {
    const number = Math.min(...waiting);
    waiting.delete(number);
    const known = uses[number].reduce(after, written[number]);
    for (const successor of successors(blocks[number])) {
      if (successor === END) continue;
      if ((written[successor] & known) === written[successor]) continue;
      written[successor] &= known;
      waiting.add(successor);
    }
  }
  const found: Map<number, Register[]> = new Map();
  for (const { number } of blocks) {
    let known = written[number];
    for (const use of uses[number]) {
      const missing = use.reads & ~known;
      if (missing && !use.copies) found.set(use.one.index, missingOf(use.one, bits, missing));
      known = after(known, use);
    }
  }
  return found;
}

/** Which registers have a value behind an instruction; a copy of none has none. */
function after(
  known: bigint,
  { reads, writes, copies }: { reads: bigint; writes: bigint; copies: boolean },
) {
  return copies && reads & ~known ? known & ~writes : known | writes;
}

function missingOf(instruction: Instruction, bits: Map<string, bigint>, missing: bigint) {
  const found: Map<string, Register> = new Map();
  for (const one of registersRead(instruction)) {
    if ((bits.get(one.name) ?? 0n) & missing) found.set(one.name, one);
  }
  return [...found.values()];
}

/** Put the marks into all registers that may be read before they are written. */
export function mark({ registers, lanes }: ThreadGroup, unset: UnsetReads) {
  for (const reads of unset.values()) {
    for (const { name } of reads) {
      const { row, marks } = rowOf(registers, name);
      for (let i = 0; i < marks.length * lanes; i++) row[i] = marks[i % marks.length];
    }
  }
}

/** The lanes of a mask in which a register still holds its mark; null if none. */
export function unsetLanes({ registers, lanes }: ThreadGroup, name: string, mask: Mask | null) {
  const { row, marks } = rowOf(registers, name);
  let found: Mask | null = null;
  for (let lane = 0; lane < lanes; lane++) {
    if (row[marks.length * lane] !== marks[0] || mask?.[lane] === 0) continue;
    if (!marks.every((one, i) => row[marks.length * lane + i] === one)) continue;
    found ??= new Uint8Array(lanes);
    found[lane] = 1;
  }
  return found;
}

function rowOf(registers: RegisterFile, name: string) {
  const { buffer, start, lanes, width, u32 } = registers.whole(name);
  const row = width === 2 ? new Uint16Array(buffer, start, lanes) : u32;
  return { row, marks: MARKS[width] };
}
