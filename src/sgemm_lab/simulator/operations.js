// @ts-check
// How an instruction becomes a function that runs it for a group of threads: operations.py in
// JavaScript. Each module of operations lists pairs of a pattern and a binder. The pattern matches
// whole opcodes; the binder looks up the registers once and returns a step that runs the
// instruction in the lanes of a mask, or in all.

/** @typedef {import("./group.js").ThreadGroup} ThreadGroup */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./ptx.js").Register} Register */
/** @typedef {import("./registers.js").Mask} Mask */
/** @typedef {import("./registers.js").RegisterRow} Row */
/** @typedef {import("./registers.js").Value} Value */

/**
 * @typedef {(mask: Mask | null) => void} Step
 * @typedef {Record<string, string>} Match the named groups of a pattern; those that took no part
 *   are undefined
 * @typedef {(group: ThreadGroup, instruction: Instruction, match: Match) => Step} Binder
 * @typedef {[RegExp, Binder][]} Operations
 */

/**
 * The register that an instruction writes.
 * @param {Instruction} instruction
 * @returns {Register}
 */
export function target({ operands, opcode }) {
  const [first] = operands;
  if (first?.kind !== "register") throw new TypeError(opcode);
  return first;
}

/**
 * The rows of some operands, of so many bytes a lane; null where one has to be read in another way.
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {number[]} positions
 * @param {number} bytes
 * @returns {Row[] | null}
 */
export function rowsOf(group, instruction, positions, bytes) {
  const rows = positions.map((at) => group.registers.source(instruction.operands[at], bytes));
  const found = rows.filter((row) => row !== null);
  return found.length === rows.length ? found : null;
}

/**
 * A step that does something for each run of lanes: those from one to before another, all of them
 * where the third argument is null, else those of a mask.
 * @param {ThreadGroup} group
 * @param {(from: number, to: number, mask: Mask | null) => void} visit
 * @returns {Step}
 */
export function overRuns(group, visit) {
  return (mask) => {
    if (mask === null) {
      visit(0, group.lanes, null);
      return;
    }
    const runs = group.runsOf(mask);
    for (let at = 0; at < runs.length; at += 3) {
      visit(runs[at], runs[at + 1], runs[at + 2] === 1 ? null : mask);
    }
  };
}

/**
 * A step that lets `compute` fill a run of lanes of a row, then keeps those of active lanes.
 * `compute` gets the row to fill, which may be one of its own inputs.
 * @param {ThreadGroup} group
 * @param {Row} row
 * @param {(out: Row, from: number, to: number) => void} compute
 * @returns {Step}
 */
export function elementwise(group, row, compute) {
  const scratch = group.registers.scratch(row.width);
  const copy = row.width === 8 ? copyPairs : copyWords;
  return overRuns(group, (from, to, mask) => {
    if (mask === null) compute(row, from, to);
    else {
      compute(scratch, from, to);
      copy(row.i32, scratch.i32, mask, from, to);
    }
  });
}

/**
 * @param {Int32Array} out
 * @param {Int32Array} values
 * @param {Mask} mask
 * @param {number} from
 * @param {number} to
 */
export function copyWords(out, values, mask, from, to) {
  for (let lane = from; lane < to; lane++) if (mask[lane] !== 0) out[lane] = values[lane];
}

/**
 * @param {Int32Array} out
 * @param {Int32Array} values
 * @param {Mask} mask
 * @param {number} from
 * @param {number} to
 */
function copyPairs(out, values, mask, from, to) {
  for (let lane = from; lane < to; lane++) {
    if (mask[lane] === 0) continue;
    out[2 * lane] = values[2 * lane];
    out[2 * lane + 1] = values[2 * lane + 1];
  }
}

/**
 * A step that gives each active lane its value, one by one: for what is rare.
 * @param {ThreadGroup} group
 * @param {(lane: number, value: Value) => void} write
 * @param {(lane: number) => Value} compute
 * @returns {Step}
 */
export function lanewise(group, write, compute) {
  return overRuns(group, (from, to, mask) => {
    for (let lane = from; lane < to; lane++) {
      if (mask === null || mask[lane] !== 0) write(lane, compute(lane));
    }
  });
}

/**
 * A function that reads the operand at a position, as a PTX type.
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {number} position
 * @param {string} type
 */
export function reader(group, instruction, position, type) {
  return group.registers.reader(instruction.operands[position], type);
}

/**
 * A step that computes whole numbers or floats of any width lane by lane: what no row loop does.
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {string} type of the result
 * @param {(lane: number) => Value} compute
 * @returns {Step}
 */
export function slowly(group, instruction, type, compute) {
  return lanewise(group, group.registers.writer(target(instruction), type), compute);
}
