// Which products and sums become one fused multiply-add, as NVRTC fuses them.
//
// A sum takes in a product of its own block, though others need the product too. Of two products
// it takes the one that fewer others need.

/** @typedef {import("../ir/instructions.js").IrInstruction} IrInstruction */
/** @typedef {import("../ir/module.js").IrBlock} IrBlock */
/** @typedef {import("../ir/values.js").IrValue} IrValue */

/** `a * b + c`, where a product or the sum's other part may count as negative.
 * @typedef {{ a: IrValue, b: IrValue, c: IrValue, minusProduct: boolean, minusC: boolean }} Fused */

/** The sums of a kernel that are fused.
 * @type {(blocks: IrBlock[]) => Map<IrInstruction, Fused>} */
export function contractions(blocks) {
  const uses = useCounts(blocks);
  /** @type {Map<IrInstruction, Fused>} */
  const fused = new Map();
  for (const block of blocks) {
    /** @type {Map<string, IrInstruction>} */
    const products = new Map();
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

/** @type {(blocks: IrBlock[]) => Map<string, number>} */
function useCounts(blocks) {
  /** @type {Map<string, number>} */
  const uses = new Map();
  for (const block of blocks) {
    for (const { operands } of block.instructions) {
      for (const { name } of operands) uses.set(name, (uses.get(name) ?? 0) + 1);
    }
  }
  return uses;
}

/**
 * @param {IrValue[]} operands
 * @param {Map<string, IrInstruction>} products
 * @param {Map<string, number>} uses
 */
function choose(operands, products, uses) {
  const [first, second] = operands.map((operand) =>
    operand.kind === "local" && products.has(operand.name)
      ? (uses.get(operand.name) ?? 0)
      : Number.POSITIVE_INFINITY,
  );
  if (first === second && first === Number.POSITIVE_INFINITY) return -1;
  return first <= second ? 0 : 1;
}
