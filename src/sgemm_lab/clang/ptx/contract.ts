// Which products and sums become one fused multiply-add, as NVRTC fuses them.
//
// A sum takes in a product of its own block, though others need the product too. Of two products
// it takes the one that fewer others need.

import type { IrInstruction } from "../ir/instructions.ts";
import type { IrBlock } from "../ir/module.ts";
import type { IrValue } from "../ir/values.ts";

/** `a * b + c`, where a product or the sum's other part may count as negative. */
export interface Fused {
  a: IrValue;
  b: IrValue;
  c: IrValue;
  minusProduct: boolean;
  minusC: boolean;
}

/** The sums of a kernel that are fused. */
export function contractions(blocks: IrBlock[]): Map<IrInstruction, Fused> {
  const uses = useCounts(blocks);
  const fused: Map<IrInstruction, Fused> = new Map();
  for (const block of blocks) {
    const products: Map<string, IrInstruction> = new Map();
    for (const instruction of block.instructions) {
      const { op, type, flags, operands } = instruction;
      if (type.kind !== "float" || !flags.includes("contract")) continue;
      if (op === "fmul") products.set(instruction.result, instruction);
      if (op !== "fadd" && op !== "fsub") continue;
      const chosen = choose(operands, products, uses);
      if (chosen < 0) continue;
      const [a, b] = products.get(operands[chosen].name)?.operands ?? [];
      const minus = op === "fsub";
      const [minusProduct, minusC] = [minus && chosen === 1, minus && chosen === 0];
      fused.set(instruction, { a, b, c: operands[1 - chosen], minusProduct, minusC });
    }
  }
  return fused;
}

function useCounts(blocks: IrBlock[]): Map<string, number> {
  const uses: Map<string, number> = new Map();
  for (const block of blocks) {
    for (const { operands } of block.instructions) {
      for (const { name } of operands) uses.set(name, (uses.get(name) ?? 0) + 1);
    }
  }
  return uses;
}

function choose(
  operands: IrValue[],
  products: Map<string, IrInstruction>,
  uses: Map<string, number>,
) {
  const [first, second] = operands.map((operand) =>
    operand.kind === "local" && products.has(operand.name)
      ? (uses.get(operand.name) ?? 0)
      : Number.POSITIVE_INFINITY,
  );
  if (first === second && first === Number.POSITIVE_INFINITY) return -1;
  return first <= second ? 0 : 1;
}
