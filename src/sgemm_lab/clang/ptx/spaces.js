// In which memory each pointer of a kernel points: PTX has a load and a store for each.
//
// A pointer into shared or local memory is kept as the address within it, as NVRTC does, and
// becomes a generic address only where it meets others. Global addresses are generic ones.

import { SPACES } from "../ir/types.js";

/** @typedef {import("../ir/instructions.js").IrInstruction} IrInstruction */
/** @typedef {import("../ir/module.js").IrFunction} IrFunction */
/** @typedef {import("../ir/module.js").IrGlobal} IrGlobal */
/** @typedef {import("../ir/values.js").IrValue} IrValue */

const NOT_YET = "";

/** The memories that the pointers of a function point into. */
export class Spaces {
  /** @param {IrFunction} kernel @param {Map<string, IrGlobal>} globals */
  constructor(kernel, globals) {
    this.globals = globals;
    /** @type {Map<string, string>} */
    this.known = new Map();
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

  /** Where an instruction's result points, as far as is known.
   * @type {(instruction: IrInstruction) => string} */
  written({ op, type, operands }) {
    if (type.space) return SPACES[type.space];
    if (op === "getelementptr" || op === "freeze" || op === "addrspacecast") {
      return this.guess(operands[0]);
    }
    if (op === "phi") return meet(operands.map((operand) => this.guess(operand)));
    if (op === "select") return meet(operands.slice(1).map((operand) => this.guess(operand)));
    return "generic";
  }

  /** @type {(value: IrValue) => string} */
  guess(value) {
    if (value.kind === "local") {
      return value.type.space ? SPACES[value.type.space] : (this.known.get(value.name) ?? NOT_YET);
    }
    if (value.kind === "undefined") return NOT_YET;
    if (value.kind === "global") return SPACES[this.globals.get(value.name)?.space ?? 0];
    if (value.kind === "expression" && value.name !== "inttoptr") return this.guess(value.items[0]);
    return "generic";
  }

  /** Where a pointer points: "global", "shared", "local" or, where it may be any, "generic".
   * @type {(value: IrValue) => string} */
  of(value) {
    return this.guess(value) || "generic";
  }
}

/** @type {(spaces: string[]) => string} */
function meet(spaces) {
  const different = new Set(spaces.filter((space) => space !== NOT_YET));
  if (different.size > 1) return "generic";
  return [...different][0] ?? NOT_YET;
}
