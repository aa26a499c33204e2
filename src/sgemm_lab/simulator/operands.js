// @ts-check
// Which registers an instruction reads and which it writes: operands.py in JavaScript.

/** @typedef {import("./ptx.js").Guard} Guard */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./ptx.js").Operand} Operand */
/** @typedef {import("./ptx.js").Register} Register */

const NO_DESTINATION = new Set(
  "st red bar barrier cp membar fence bra ret exit setmaxnreg".split(" "),
);

/**
 * Every register that an operand mentions.
 * @param {Operand} operand
 * @returns {Register[]}
 */
export function registersOf(operand) {
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

/**
 * @param {Instruction} instruction
 */
function hasDestination({ parts, operands }) {
  return !NO_DESTINATION.has(parts[0]) && operands.length > 0 && operands[0].kind !== "address";
}

/**
 * Registers that an instruction gives a value.
 * @param {Instruction} instruction
 */
export function registersWritten(instruction) {
  return hasDestination(instruction) ? registersOf(instruction.operands[0]) : [];
}

/**
 * Registers that an instruction needs, its guard included.
 * @param {Instruction} instruction
 */
export function registersRead(instruction) {
  const sources = instruction.operands.slice(hasDestination(instruction) ? 1 : 0);
  const found = sources.flatMap(registersOf);
  return instruction.guard ? [...found, instruction.guard.register] : found;
}
