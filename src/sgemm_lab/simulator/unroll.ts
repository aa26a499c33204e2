// The short loops that ptxas unrolls, written out, so that loads of neighbouring turns can merge.
//
// NVRTC leaves some loops with a fixed number of turns in the PTX, and ptxas then unrolls them.
// Once unrolled, loads of several turns become neighbours and merge into wide ones. Results do not
// change. How long a loop ptxas unrolls is not documented: `LONGEST` is an estimate from machine
// code, right for loops well below and well above it. `#pragma unroll` in the source leaves no
// doubt: then the PTX has no loop.

import { holds } from "./arithmetic.ts";
import { type BasicBlock, basicBlocks } from "./control_flow.ts";
import { registersRead, registersWritten } from "./operands.ts";
import type { Guard, Instruction, Operand, PtxKernel } from "./ptx.ts";

/** A loop of one block that counts from a constant to a constant. */
interface Loop {
  start: bigint;
  step: bigint;
  limit: bigint;
  compare: string;
  until: boolean;
}

/** PTX instructions of all turns together, up to which a loop is unrolled. */
const LONGEST = 450;
const MOST_TURNS = 64;

const COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"];

/** The kernel with its short loops of one basic block written out. */
export function unrollShortLoops(kernel: PtxKernel) {
  const blocks = basicBlocks(kernel);
  const copies: Map<number, { turns: Instruction[]; replaced: number }> = new Map();
  for (const block of blocks) {
    const loop = loopOf(block, blocks);
    if (!loop || !block.instructions.length) continue;
    const turns = turnsOf(loop);
    const first = block.instructions[0].index;
    const each = block.instructions.length + 1;
    if (turns > 1 && turns * each <= LONGEST && !kernel.notUnrolled.has(first)) {
      const before = startValues(block, blocks[block.number - 1]);
      const body = Array(turns).fill(block.instructions).flat();
      // The loop's instructions and its branch are replaced.
      copies.set(first, { turns: [...before, ...body], replaced: each });
    }
  }
  return copies.size ? rewritten(kernel, copies) : kernel;
}

function rewritten(
  kernel: PtxKernel,
  copies: Map<number, { turns: Instruction[]; replaced: number }>,
) {
  const instructions: Instruction[] = [];
  const moved: Map<number, number> = new Map();
  for (let index = 0; index < kernel.instructions.length; ) {
    moved.set(index, instructions.length);
    const { turns, replaced } = copies.get(index) ?? {
      turns: [kernel.instructions[index]],
      replaced: 1,
    };
    instructions.push(...turns);
    index += replaced;
  }
  moved.set(kernel.instructions.length, instructions.length);
  const to = (at: number) => moved.get(at) as number;
  return kernel.rewritten({
    instructions: instructions.map((old, index) => ({ ...old, index })),
    labels: new Map([...kernel.labels].map(([label, at]) => [label, to(at)])),
    notUnrolled: new Set([...kernel.notUnrolled].filter((at) => moved.has(at)).map(to)),
  });
}

/** How a block counts its turns, null where it is no loop, or one whose turns are not known. */
function loopOf(block: BasicBlock, blocks: BasicBlock[]): Loop | null {
  const guard = block.terminator?.guard;
  if (!guard || block.target !== block.number || block.number === 0) return null;
  const enters = blocks.filter(
    (other) =>
      other !== block &&
      ((other.terminator && other.target === block.number) ||
        (other.fallThrough === block.number && fallsThrough(other))),
  );
  if (enters.length !== 1 || enters[0].number !== block.number - 1) return null;
  const counter = counterOf(block, guard);
  if (!counter) return null;
  const before = blocks[block.number - 1].instructions;
  const mov = before.findLast((one) => writes(one, counter.name));
  if (mov?.parts[0] !== "mov" || mov.guard) return null;
  const start = constantOf(mov.operands[1]);
  return start === null ? null : { ...counter, start };
}

/**
 * Instructions before a loop that set what it changes, to be said again inside. Standing in the
 * same basic block as the turns, they let the addresses of every turn be known. Running them twice
 * changes nothing: none reads what it or a later one writes.
 */
function startValues(block: BasicBlock, before: BasicBlock) {
  const changed = new Set(block.instructions.flatMap((one) => registersWritten(one).map(nameOf)));
  const later: Set<string> = new Set();
  const chosen: Instruction[] = [];
  for (const instruction of before.instructions.toReversed()) {
    const written = registersWritten(instruction).map(nameOf);
    const again = ["mov", "add"].includes(instruction.parts[0]) && !instruction.guard;
    if (again && written.every((name) => changed.has(name) && !later.has(name))) {
      const reads = registersRead(instruction).map(nameOf);
      const keeps = reads.every(
        (name) => !written.includes(name) && !later.has(name) && !changed.has(name),
      );
      if (keeps) chosen.unshift(instruction);
    }
    for (const name of written) later.add(name);
  }
  return chosen;
}

function nameOf({ name }: { name: string }) {
  return name;
}

function fallsThrough({ terminator }: BasicBlock) {
  return !terminator || terminator.guard !== null;
}

function writes(instruction: Instruction, register: string) {
  return registersWritten(instruction).some(({ name }) => name === register);
}

function constantOf(operand: Operand) {
  return operand.kind === "immediate" ? operand.bits : null;
}

/** The only instruction of a block that writes a register. */
function lastWriter(block: BasicBlock, register: string) {
  const writers = block.instructions.filter((one) => writes(one, register));
  return writers.length === 1 && !writers[0].guard ? writers[0] : null;
}

/** The register that the loop's condition compares with a constant, and how it goes on. */
function counterOf(block: BasicBlock, guard: Guard) {
  const compare = lastWriter(block, guard.register.name);
  if (compare?.parts[0] !== "setp" || compare.parts.length !== 3) return null;
  if (!COMPARISONS.includes(compare.parts[1])) return null;
  const counter = compare.operands[1];
  if (counter.kind !== "register") return null;
  const add = lastWriter(block, counter.name);
  if (add?.parts[0] !== "add" || add.index >= compare.index) return null;
  const from = add.operands[1];
  const [limit, step] = [constantOf(compare.operands[2]), constantOf(add.operands[2])];
  const goesOn = from.kind === "register" && from.name === counter.name;
  if (!goesOn || limit === null || step === null) return null;
  return { name: counter.name, step, limit, compare: compare.parts[1], until: guard.negated };
}

/** How often the loop runs; 0 where that is more than anyone would unroll. */
function turnsOf({ start, step, limit, compare, until }: Loop) {
  let value = start;
  for (let turn = 1; turn <= MOST_TURNS; turn++) {
    value += step;
    if (holds(compare, value, limit) === until) return turn;
  }
  return 0;
}
