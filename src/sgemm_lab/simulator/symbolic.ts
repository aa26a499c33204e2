// What is known of an address without running the kernel: a sum of unknowns, and zero bits.
//
// ptxas merges shared accesses only where it can prove how their addresses differ and how they are
// aligned. This follows the registers of a kernel's PTX to prove the same.

import type { BasicBlock } from "./control_flow.ts";
import { registersWritten } from "./operands.ts";
import { type Address, type Instruction, type Operand, TYPE_BYTES } from "./ptx.ts";

// No vector access is wider than 16 bytes, so more than 4 known zero bits are of no use.
export const MAX_ZEROS = 4;
// Narrower conversions change the value.
const WORD = 4;
const NO_NUMBERS = ["f32", "f64", "pred"];

/**
 * A value as a sum of multiples of unknowns and a constant. An unknown is a name and how often it
 * had been written, `%r1#2`, or `?` and an operand that nothing is known of.
 */
export class Linear {
  /** @param terms factor of each unknown */
  constructor(
    public terms: Map<string, bigint>,
    public constant: bigint,
  ) {}

  /** Add `sign` times another value. */
  plus(other: Linear, sign = 1n) {
    const total = new Map(this.terms);
    for (const [root, factor] of other.terms) {
      const sum = (total.get(root) ?? 0n) + sign * factor;
      if (sum) total.set(root, sum);
      else total.delete(root);
    }
    return new Linear(total, this.constant + sign * other.constant);
  }

  /** Multiply by a whole number. */
  times(factor: bigint) {
    if (!factor) return new Linear(new Map(), 0n);
    const terms = new Map([...this.terms].map(([root, times]) => [root, factor * times]));
    return new Linear(terms, this.constant * factor);
  }

  /** A text that is the same for equal sums of unknowns, and different for others. */
  get key() {
    return [...this.terms]
      .map(([root, factor]) => `${root}*${factor}`)
      .sort()
      .join(" ");
  }
}

function unknown(root: string) {
  return new Linear(new Map([[root, 1n]]), 0n);
}

/** What holds in the whole kernel: where arrays start, what is aligned, what is set once. */
export class Knowledge {
  starts;
  zeros;
  once;

  constructor(blocks: BasicBlock[], shared: { name: string; start: number }[]) {
    const instructions = blocks.flatMap((block) => block.instructions);
    this.starts = new Map(shared.map(({ name, start }) => [name, start]));
    this.zeros = new Map(shared.map(({ name, start }) => [name, trailingZeros(BigInt(start))]));
    for (const [name, zeros] of knownZeros(instructions, this.starts)) this.zeros.set(name, zeros);
    this.once = writtenOnce(instructions);
  }
}

/** Follows the values of registers through one basic block as linear expressions. */
export class BlockValues {
  values: Map<string, Linear> = new Map();
  writes: Map<string, number> = new Map();
  stable: Map<string, Linear> = new Map();

  constructor(public knowledge: Knowledge) {}

  /** The byte address that a memory operand stands for. */
  place({ base, offset }: Address) {
    let where = this.of(base);
    if (base.kind === "symbol") {
      // No register is involved: the whole address is a known constant.
      const start = (this.knowledge.starts.get(base.name) ?? 0) + base.offset;
      where = new Linear(new Map(), BigInt(start));
    }
    return new Linear(where.terms, where.constant + BigInt(offset));
  }

  /** A power of two in bytes, at most 16, that a sum of terms is surely a multiple of. */
  alignment(terms: Map<string, bigint>) {
    return 1 << this.zerosOf(terms);
  }

  /** Zero bits that a sum of terms surely ends in. */
  zerosOf(terms: Map<string, bigint>) {
    let fewest = MAX_ZEROS;
    for (const [root, factor] of terms) {
      const name = root.slice(0, root.lastIndexOf("#"));
      const known = root[0] === "?" ? 0 : (this.knowledge.zeros.get(name) ?? 0);
      fewest = Math.min(fewest, known + trailingZeros(factor));
    }
    return fewest;
  }

  /** The present value of an operand. */
  of(operand: Operand): Linear {
    if (operand.kind === "immediate") return new Linear(new Map(), operand.bits);
    if (operand.kind === "register") {
      return this.values.get(operand.name) ?? this.stableValue(operand.name);
    }
    if (operand.kind === "symbol" && this.knowledge.starts.has(operand.name)) {
      // In machine code a register holds the array's start: an unknown like any other.
      return new Linear(new Map([[`${operand.name}#0`, 1n]]), BigInt(operand.offset));
    }
    const words = JSON.stringify(operand, (_, value) =>
      typeof value === "bigint" ? `${value}` : value,
    );
    return unknown(`?${words}`);
  }

  /** Take in what an instruction writes. */
  step(instruction: Instruction) {
    const expression = linear(instruction, this);
    for (const { name } of registersWritten(instruction)) {
      const count = (this.writes.get(name) ?? 0) + 1;
      this.writes.set(name, count);
      const opaque = unknown(`${name}#${this.knowledge.once.has(name) ? 0 : count}`);
      this.values.set(name, expression ?? opaque);
    }
  }

  /** The value of a register from before this block. */
  stableValue(name: string) {
    const known = this.stable.get(name);
    if (known) return known;
    const opaque = unknown(`${name}#0`);
    this.stable.set(name, opaque);
    const { once } = this.knowledge;
    const writer = once.get(name);
    const computed = writer?.operands.every(
      (operand) => operand.kind !== "register" || once.has(operand.name),
    );
    // All that goes into it is written once, so it can be computed from the roots.
    const value = (computed && writer && linear(writer, this)) || opaque;
    this.stable.set(name, value);
    return value;
  }
}

/** What an instruction computes, null where that is no linear expression. */
function linear({ parts, operands, guard }: Instruction, values: BlockValues) {
  const type = parts[parts.length - 1];
  if (guard || NO_NUMBERS.includes(type)) return null;
  const [, a, b, c] = operands;
  const form = `${parts[0]} ${operands.length}`;
  const factor = b?.kind === "immediate" ? b.bits : null;
  const low = !parts.includes("hi");
  if (form === "mov 2") {
    return ["register", "immediate", "symbol"].includes(a.kind) ? values.of(a) : null;
  }
  if (form === "cvt 2" || form === "cvta 2") {
    return a.kind === "register" && (TYPE_BYTES.get(type) ?? 8) >= WORD ? values.of(a) : null;
  }
  if (form === "add 3") return values.of(a).plus(values.of(b));
  if (form === "sub 3") return values.of(a).plus(values.of(b), -1n);
  if (factor === null) return null;
  if (form === "shl 3") return values.of(a).times(1n << factor);
  if (form === "mul 3" && low) return values.of(a).times(factor);
  if (form === "mad 4" && low) return values.of(a).times(factor).plus(values.of(c));
  return form === "or 3" ? joined(values.of(a), factor, values) : null;
}

/** "or" adds where the bits it sets are known to be zero. */
function joined(left: Linear, bits: bigint, values: BlockValues) {
  const zeros = Math.min(values.zerosOf(left.terms), trailingZeros(left.constant));
  return bits >= 0n && bits < 1n << BigInt(zeros) ? left.plus(new Linear(new Map(), bits)) : null;
}

export function trailingZeros(value: bigint) {
  for (let zeros = 0; zeros < MAX_ZEROS; zeros++) {
    if ((value >> BigInt(zeros)) & 1n) return zeros;
  }
  return MAX_ZEROS;
}

function writtenOnce(instructions: Instruction[]) {
  const once: Map<string, Instruction> = new Map();
  const several = new Set<string>();
  for (const instruction of instructions) {
    for (const { name } of registersWritten(instruction)) {
      if (once.has(name)) several.add(name);
      once.set(name, instruction);
    }
  }
  for (const name of several) once.delete(name);
  return once;
}

/**
 * For each register, how many zero bits its value always ends in. Starts from the best and lowers
 * it until every instruction agrees.
 */
function knownZeros(instructions: Instruction[], starts: Map<string, number>) {
  const zeros: Map<string, number> = new Map();
  for (let changed = true; changed; ) {
    changed = false;
    for (const instruction of instructions) {
      const found = zerosWritten(instruction, zeros, starts);
      for (const { name } of registersWritten(instruction)) {
        if (found < (zeros.get(name) ?? MAX_ZEROS + 1)) {
          zeros.set(name, found);
          changed = true;
        }
      }
    }
  }
  return zeros;
}

function zerosWritten(
  { parts, operands }: Instruction,
  zeros: Map<string, number>,
  starts: Map<string, number>,
) {
  const of = (operand: Operand) => {
    if (operand.kind === "register") return zeros.get(operand.name) ?? MAX_ZEROS;
    if (operand.kind === "immediate") return trailingZeros(operand.bits);
    const start = operand.kind === "symbol" ? starts.get(operand.name) : undefined;
    return operand.kind === "symbol" && start !== undefined
      ? trailingZeros(BigInt(start + operand.offset))
      : 0;
  };
  if (NO_NUMBERS.includes(parts[parts.length - 1])) return 0;
  const [, ...sources] = operands;
  const shift = sources[1]?.kind === "immediate" ? Number(sources[1].bits) : null;
  return Math.min(zerosOfResult(parts, sources, of, shift), MAX_ZEROS);
}

/**
 * Zero bits that a result surely ends in.
 * @param of those of an operand
 * @param shift the second operand, where it is a constant
 */
export function zerosOfResult<One>(
  parts: string[],
  sources: One[],
  of: (operand: One) => number,
  shift: number | null,
) {
  const [a, b, c] = sources;
  const low = !parts.includes("hi");
  switch (`${parts[0]} ${sources.length}`) {
    case "mov 1":
    case "cvt 1":
    case "cvta 1":
    case "neg 1":
      return of(a);
    case "add 2":
    case "sub 2":
    case "or 2":
    case "xor 2":
    case "min 2":
    case "max 2":
    case "selp 3":
      return Math.min(of(a), of(b));
    case "and 2":
      return Math.max(of(a), of(b));
    case "mul 2":
      return low ? of(a) + of(b) : 0;
    case "mad 3":
      return low ? Math.min(of(a) + of(b), of(c)) : 0;
    case "shl 2":
      return of(a) + (shift ?? 0);
    case "shr 2":
      return shift !== null && of(a) < MAX_ZEROS ? Math.max(0, of(a) - shift) : 0;
    default:
      return 0;
  }
}
