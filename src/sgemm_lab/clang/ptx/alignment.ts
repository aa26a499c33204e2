// How many zero bits an address surely ends in.

import type { MachineBlock, MachineInstruction, Operand } from "./machine.ts";
import { Register } from "./machine.ts";

/** No access is wider than 16 bytes: more zero bits are of no use. */
const MOST = 4;

/** A function that gives the zero bits of an operand: as many as every instruction agrees on. */
export function zeroBits(
  blocks: MachineBlock[],
  arrays: Map<string, number>,
): (operand: Operand) => number {
  const known: Map<Register, number> = new Map();
  const of = (operand: Operand): number => {
    if (operand instanceof Register) return known.get(operand) ?? MOST;
    const bytes = arrays.get(operand);
    if (bytes !== undefined) return Math.min(MOST, Math.log2(bytes));
    return /^-?\d+$/.test(operand) ? trailing(BigInt(operand)) : 0;
  };
  for (let changed = true; changed; ) {
    changed = false;
    const lower = (register: Register, zeros: number): void => {
      if (zeros >= (known.get(register) ?? MOST + 1)) return;
      known.set(register, zeros);
      changed = true;
    };
    for (const { phis, instructions } of blocks) {
      for (const { to, from } of phis) lower(to, Math.min(MOST, ...[...from.values()].map(of)));
      for (const instruction of instructions) {
        const zeros = Math.min(MOST, written(instruction, of));
        for (const to of instruction.to) lower(to, zeros);
      }
    }
  }
  return of;
}

function trailing(value: bigint): number {
  let zeros = 0;
  while (zeros < MOST && !((value >> BigInt(zeros)) & 1n)) zeros++;
  return zeros;
}

function written(
  { opcode, operands }: MachineInstruction,
  of: (operand: Operand) => number,
): number {
  const [name, ...kinds] = opcode.split(".");
  if (kinds.includes("f32") || kinds.includes("pred") || kinds.includes("hi")) return 0;
  const [a, b, c] = operands;
  const shift = typeof b === "string" ? Number(b) : Number.NaN;
  switch (name) {
    case "mov":
    case "cvt":
    case "cvta":
    case "neg":
      return of(a);
    case "add":
    case "sub":
    case "or":
    case "xor":
    case "min":
    case "max":
    case "selp":
      return Math.min(of(a), of(b));
    case "and":
      return Math.max(of(a), of(b));
    case "mul":
      return of(a) + of(b);
    case "mad":
      return Math.min(of(a) + of(b), of(c));
    case "shl":
      return of(a) + (shift || 0);
    case "shr":
      return of(a) < MOST && shift ? Math.max(0, of(a) - shift) : 0;
    default:
      return 0;
  }
}
