// In which memory each pointer of a kernel points: PTX has a load and a store for each.
//
// A pointer into shared or local memory is kept as the address within it, as NVRTC does, and
// becomes a generic address only where it meets others. Global addresses are generic ones.

import type { IrInstruction } from "../ir/instructions.ts";
import type { IrFunction, IrGlobal } from "../ir/module.ts";
import { SPACES } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";

const NOT_YET = "";

/** The memories that the pointers of a function point into. */
export class Spaces {
  known: Map<string, string> = new Map();

  constructor(
    kernel: IrFunction,
    public globals: Map<string, IrGlobal>,
  ) {
    for (const parameter of kernel.parameters) this.known.set(parameter.name, "global");
    const pointers = kernel.blocks
      .flatMap((block) => block.instructions)
      .filter((instruction) => instruction.result && instruction.type.kind === "ptr");
    for (const instruction of kernel.blocks.flatMap((block) => block.instructions)) {
      if (instruction.op === "alloca") this.known.set(instruction.result, "local");
    }
    for (let changed = true; changed; ) {
      changed = false;
      for (const instruction of pointers) {
        const space = this.written(instruction);
        if (space === (this.known.get(instruction.result) ?? NOT_YET)) continue;
        this.known.set(instruction.result, space);
        changed = true;
      }
    }
  }

  /** Where an instruction's result points, as far as is known. */
  written({ op, type, operands }: IrInstruction): string {
    if (type.space) return SPACES[type.space];
    if (op === "getelementptr" || op === "freeze" || op === "addrspacecast") {
      return this.guess(operands[0]);
    }
    if (op === "phi") return meet(operands.map((operand) => this.guess(operand)));
    if (op === "select") return meet(operands.slice(1).map((operand) => this.guess(operand)));
    return "generic";
  }

  guess(value: IrValue): string {
    if (value.kind === "local") {
      return value.type.space ? SPACES[value.type.space] : (this.known.get(value.name) ?? NOT_YET);
    }
    if (value.kind === "undefined") return NOT_YET;
    if (value.kind === "global") return SPACES[this.globals.get(value.name)?.space ?? 0];
    if (value.kind === "expression" && value.name !== "inttoptr") return this.guess(value.items[0]);
    return "generic";
  }

  /** Where a pointer points: "global", "shared", "local" or, where it may be any, "generic". */
  of(value: IrValue): string {
    return this.guess(value) || "generic";
  }
}

function meet(spaces: string[]): string {
  const different = new Set(spaces.filter((space) => space !== NOT_YET));
  if (different.size > 1) return "generic";
  return [...different][0] ?? NOT_YET;
}
