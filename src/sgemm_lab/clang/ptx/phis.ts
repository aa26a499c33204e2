// Take the phis out of a kernel: the values that one joins get one register where they can, and
// are copied into it at the end of the blocks where they come from where they cannot.

import { Bits, Liveness } from "./liveness.ts";
import type { MachineBlock, MachineInstruction, Operand } from "./machine.ts";
import { machineInstruction, Register, successors } from "./machine.ts";
import { loopDepths } from "./order.ts";

interface Copy {
  to: Register;
  from: Operand;
}

/** Registers that are one in the end. */
class Classes {
  number = this.liveness.number;
  registers = [...this.number.keys()];
  parent = this.registers.map((_, number) => number);
  conflicts = this.liveness.conflicts();
  members = this.registers.map((_, number) => {
    const own = new Bits(this.registers.length);
    own.add(number);
    return own;
  });

  constructor(public liveness: Liveness) {}

  root(number: number): number {
    let at = number;
    while (this.parent[at] !== at) {
      this.parent[at] = this.parent[this.parent[at]];
      at = this.parent[at];
    }
    return at;
  }

  /** The register that stands for one in the end. */
  of<Any extends Operand>(operand: Any): Any | Register {
    const number = operand instanceof Register ? this.number.get(operand) : undefined;
    return number === undefined ? operand : this.registers[this.root(number)];
  }

  /** Make two registers one, unless both hold values at the same time. */
  join(a: Register, b: Register) {
    const first = this.root(this.number.get(a) ?? 0);
    const second = this.root(this.number.get(b) ?? 0);
    if (first === second || this.conflicts[first].meets(this.members[second])) return;
    this.parent[second] = first;
    this.conflicts[first].addAll(this.conflicts[second]);
    this.members[first].addAll(this.members[second]);
  }

  /** Whether a register's class has a member in a set. */
  meets(register: Register, set: Bits): boolean {
    const number = this.number.get(register);
    return number !== undefined && this.members[this.root(number)].meets(set);
  }
}

/** The blocks without phis; blocks are added where a copy has no other place. */
export function withoutPhis(
  blocks: MachineBlock[],
  fresh: (of: Register) => Register,
): MachineBlock[] {
  const liveness = new Liveness(blocks);
  const classes = new Classes(liveness);
  joinInnermostFirst(blocks, classes);
  const all: MachineBlock[] = [];
  for (const block of blocks) {
    all.push(block);
    for (const label of successors(block)) {
      const copies = copiesOnEdge(block, liveness.byLabel.get(label), classes);
      if (!copies.length) continue;
      const written = inSequence(copies, fresh);
      if (fits(block, label, copies, liveness, classes)) block.instructions.push(...written);
      else all.push(between(block, label, written));
    }
  }
  for (const block of all) rename(block, classes);
  return all;
}

function joinInnermostFirst(blocks: MachineBlock[], classes: Classes) {
  const depth = loopDepths(blocks);
  const pairs = blocks.flatMap(({ phis }) =>
    phis.flatMap(({ to, from }) =>
      [...from].map(([label, operand]) => ({ to, operand, depth: depth.get(label) ?? 0 })),
    ),
  );
  pairs.sort((a, b) => b.depth - a.depth);
  for (const { to, operand } of pairs) {
    if (operand instanceof Register) classes.join(to, operand);
  }
}

function copiesOnEdge(block: MachineBlock, next: MachineBlock | undefined, classes: Classes) {
  const copies: Copy[] = [];
  for (const phi of next?.phis ?? []) {
    const operand = phi.from.get(block.label);
    if (operand === undefined) continue;
    const [to, from] = [classes.of(phi.to) as Register, classes.of(operand)];
    if (to !== from) copies.push({ to, from });
  }
  return copies;
}

/** Whether copies for one way out of a block harm no other way. */
function fits(
  block: MachineBlock,
  label: string,
  copies: Copy[],
  liveness: Liveness,
  classes: Classes,
): boolean {
  const others = successors(block).filter((other) => other !== label);
  if (!others.length) return true;
  const condition = block.ending.condition && classes.of(block.ending.condition);
  return others.every((other) => {
    const live = liveness.onEdge(block, other);
    return copies.every(({ to }) => to !== condition && !classes.meets(to, live));
  });
}

function between(block: MachineBlock, label: string, instructions: MachineInstruction[]) {
  const own = `${block.label}.to.${label}`;
  if (block.ending.target === label) block.ending.target = own;
  else block.ending.otherwise = own;
  const ending = { condition: null, target: label, otherwise: "", line: 0 };
  return { label: own, phis: [], instructions, ending, staysLoop: false };
}

/** Copies that happen at once, one after the other. */
function inSequence(copies: Copy[], fresh: (of: Register) => Register): MachineInstruction[] {
  const left = [...copies];
  const written = [];
  while (left.length) {
    const free = left.findIndex(({ to }) => left.every((other) => other.from !== to));
    if (free >= 0) {
      written.push(copy(left[free]));
      left.splice(free, 1);
      continue;
    }
    // Only rings are left: keep one value aside, so that its register can be written.
    const kept = fresh(left[0].to);
    written.push(copy({ to: kept, from: left[0].to }));
    for (const other of left) if (other.from === left[0].to) other.from = kept;
  }
  return written;
}

const MOVES = { pred: "mov.pred", b32: "mov.u32", b64: "mov.u64", f32: "mov.f32", f64: "mov.f64" };

function copy({ to, from }: Copy): MachineInstruction {
  const read = from instanceof Register ? [from] : [];
  const parts = [`${MOVES[to.type]} `, to, ", ", from];
  return machineInstruction({ parts, to: [to], from: read, pure: true });
}

function rename(block: MachineBlock, classes: Classes) {
  for (const instruction of block.instructions) {
    instruction.parts = instruction.parts.map((part) => classes.of(part));
  }
  const { ending } = block;
  if (ending.condition) ending.condition = classes.of(ending.condition) as Register;
  block.phis = [];
}
