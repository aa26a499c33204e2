// How many zero bits an address surely ends in.

import { MAX_ZEROS, trailingZeros, zerosOfResult } from "../../simulator/symbolic.ts";
import { type MachineBlock, type MachineInstruction, type Operand, Register } from "./machine.ts";

/** A function that gives the zero bits of an operand: as many as every instruction agrees on. */
export function zeroBits(
  blocks: MachineBlock[],
  arrays: Map<string, number>,
): (operand: Operand) => number {
  const known: Map<Register, number> = new Map();
  const of = (operand: Operand): number => {
    if (operand instanceof Register) return known.get(operand) ?? MAX_ZEROS;
    const bytes = arrays.get(operand);
    if (bytes !== undefined) return Math.min(MAX_ZEROS, Math.log2(bytes));
    return /^-?\d+$/.test(operand) ? trailingZeros(BigInt(operand)) : 0;
  };
  for (let changed = true; changed; ) {
    changed = false;
    const lower = (register: Register, zeros: number): void => {
      if (zeros >= (known.get(register) ?? MAX_ZEROS + 1)) return;
      known.set(register, zeros);
      changed = true;
    };
    for (const { phis, instructions } of blocks) {
      for (const { to, from } of phis)
        lower(to, Math.min(MAX_ZEROS, ...[...from.values()].map(of)));
      for (const instruction of instructions) {
        const zeros = Math.min(MAX_ZEROS, written(instruction, of));
        for (const to of instruction.to) lower(to, zeros);
      }
    }
  }
  return of;
}

function written({ opcode, operands }: MachineInstruction, of: (operand: Operand) => number) {
  const parts = opcode.split(".");
  if (parts.includes("f32") || parts.includes("pred")) return 0;
  const [, shift] = operands;
  return zerosOfResult(parts, operands, of, typeof shift === "string" ? Number(shift) : null);
}
