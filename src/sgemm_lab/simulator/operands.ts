// Which registers an instruction reads and which it writes.

import type { Instruction, Operand, PtxKernel, Register } from "./ptx.ts";

const NO_DESTINATION = new Set(
  "st sust red bar barrier cp membar fence bra ret exit setmaxnreg".split(" "),
);

/** Every register that an operand mentions. */
export function registersOf(operand: Operand): Register[] {
  switch (operand.kind) {
    case "register":
      return [operand];
    case "vector":
      return operand.items.flatMap(registersOf);
    case "pair":
      return [operand.first, operand.second];
    case "negated":
      return [operand.register];
    case "address":
      return operand.base.kind === "register" ? [operand.base] : [];
    default:
      return [];
  }
}

function hasDestination({ parts, operands }: Instruction) {
  return !NO_DESTINATION.has(parts[0]) && operands.length > 0 && operands[0].kind !== "address";
}

/** Registers that an instruction gives a value. */
export function registersWritten(instruction: Instruction) {
  return hasDestination(instruction) ? registersOf(instruction.operands[0]) : [];
}

/** By name of a register, the instructions that give it a value. */
export const writersOf = (instructions: Instruction[]) => byName(instructions, registersWritten);

/** By name of a register, the instructions that need it. */
export const readersOf = (instructions: Instruction[]) => byName(instructions, registersRead);

function byName(instructions: Instruction[], registers: (one: Instruction) => Register[]) {
  const found = new Map<string, Instruction[]>();
  for (const one of instructions) {
    for (const { name } of registers(one)) found.set(name, [...(found.get(name) ?? []), one]);
  }
  return found;
}

const read: WeakMap<PtxKernel, Set<string>> = new WeakMap();

/** Names of the registers that some instruction of a kernel reads. */
export function readSomewhere(kernel: PtxKernel) {
  const found =
    read.get(kernel) ??
    new Set(kernel.instructions.flatMap(registersRead).map((register) => register.name));
  read.set(kernel, found);
  return found;
}

/** Registers that an instruction needs, its guard included. */
export function registersRead(instruction: Instruction) {
  const sources = instruction.operands.slice(hasDestination(instruction) ? 1 : 0);
  const found = sources.flatMap(registersOf);
  return instruction.guard ? [...found, instruction.guard.register] : found;
}
