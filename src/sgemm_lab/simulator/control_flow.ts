// Control flow of a kernel: basic blocks, and where diverged threads meet again.

import type { Instruction, PtxKernel } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { sentence } from "./sentences.ts";

/** Block number that stands for the end of the kernel. */
export const END = -1;

const EXITS = ["ret", "exit"];

/**
 * Instructions that always run one after the other. `instructions` are without the `terminator`, a
 * branch or return at the end, null where the block falls through. `target`: block that the
 * terminator jumps to (END for a return, unused where there is none). `fallThrough`: block that
 * follows in the text, END after the last. `reconvergence`: first block that every path from here
 * passes, the immediate post-dominator, or END.
 */
export interface BasicBlock {
  number: number;
  instructions: Instruction[];
  terminator: Instruction | null;
  target: number;
  fallThrough: number;
  reconvergence: number;
}

function ends({ parts }: Instruction) {
  return parts[0] === "bra" || EXITS.includes(parts[0]);
}

/**
 * Cut a kernel into basic blocks; block 0 is the entry. Throws a PtxError where a branch names a
 * label that does not exist.
 */
export function basicBlocks(kernel: PtxKernel): BasicBlock[] {
  const { instructions } = kernel;
  const starts = new Set([0, ...kernel.labels.values()]);
  for (const instruction of instructions) if (ends(instruction)) starts.add(instruction.index + 1);
  const ordered = [...starts].filter((start) => start < instructions.length).sort((a, b) => a - b);
  const numberAt = new Map(ordered.map((start, number) => [start, number]));
  numberAt.set(instructions.length, END);

  // Threads that branch to a bare return are done: nothing waits for them, no barrier either.
  for (const start of ordered) {
    const { parts, guard } = instructions[start];
    if (EXITS.includes(parts[0]) && !guard) numberAt.set(start, END);
  }

  const blocks = ordered.map((start, number) => {
    const body = instructions.slice(start, ordered[number + 1] ?? instructions.length);
    const last = body[body.length - 1];
    const terminator = ends(last) ? last : null;
    const jumps = terminator?.parts[0] === "bra";
    return {
      number,
      instructions: terminator ? body.slice(0, -1) : body,
      terminator,
      target: jumps ? (numberAt.get(branchTarget(kernel, last)) as number) : END,
      fallThrough: number + 1 < ordered.length ? number + 1 : END,
    };
  });
  const reconvergence = immediatePostDominators(blocks.map(successors));
  return blocks.map((block) => ({ ...block, reconvergence: reconvergence[block.number] }));
}

function branchTarget(kernel: PtxKernel, branch: Instruction) {
  const label = branch.operands[0];
  const target = label?.kind === "symbol" ? kernel.labels.get(label.name) : undefined;
  if (target === undefined) {
    throw new PtxError(sentence("ptx.label", { place: branch.location.toString() }));
  }
  return target;
}

/** Blocks that may follow, END among them. */
export function successors({
  terminator,
  target,
  fallThrough,
}: {
  terminator: Instruction | null;
  target: number;
  fallThrough: number;
}) {
  if (!terminator) return [fallThrough];
  return terminator.guard ? [target, fallThrough] : [target];
}

/**
 * For each block the first block on every path from it to the end. Solves post(b) = {b} + the
 * blocks common to post(s) over all successors s, with sets as bits.
 */
function immediatePostDominators(following: number[][]) {
  const count = following.length;
  const endBit = 1n << BigInt(count);
  const everything = (endBit << 1n) - 1n;
  const post: bigint[] = Array(count).fill(everything);
  for (let changed = true; changed; ) {
    changed = false;
    for (let block = count - 1; block >= 0; block--) {
      let common = everything;
      for (const next of following[block]) common &= next === END ? endBit : post[next];
      const updated = common | (1n << BigInt(block));
      if (updated !== post[block]) {
        post[block] = updated;
        changed = true;
      }
    }
  }
  const members = post.map((set) => bits(set, count));
  // Post-dominators lie on one path to the end: the nearest is the one with most others after it.
  return members.map((others, block) => {
    let nearest = END;
    for (const other of others) {
      const closer = nearest === END || members[other].length > members[nearest].length;
      if (other !== block && closer) nearest = other;
    }
    return nearest;
  });
}

/** Positions below `count` of the ones in a number. */
function bits(number: bigint, count: number) {
  const digits = number.toString(2);
  const found = [];
  for (let bit = 0; bit < count; bit++)
    if (digits[digits.length - 1 - bit] === "1") found.push(bit);
  return found;
}
