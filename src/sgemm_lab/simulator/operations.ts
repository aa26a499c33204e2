// How an instruction becomes a function that runs it for a group of threads.
//
// Each module of operations lists pairs of a pattern and a binder. The pattern matches whole
// opcodes; the binder looks up the registers once and returns a step that runs the instruction in
// the lanes of a mask, or in all.

import type { ThreadGroup } from "./group.ts";
import type { Instruction, Register } from "./ptx.ts";
import type { Mask, RegisterRow as Row, Value } from "./registers.ts";

export type Step = (mask: Mask | null) => void;

/**
 * the named groups of a pattern; those that took no part
 *   are undefined
 */
export type Match = Record<string, string>;

export type Binder = (group: ThreadGroup, instruction: Instruction, match: Match) => Step;

/** A table of operations: each pattern matches whole opcodes. */
export const operations = (patterns: [string, Binder][]): [RegExp, Binder][] =>
  patterns.map(([text, bind]) => [new RegExp(`^(?:${text})$`), bind]);

/** An instruction that changes nothing here, such as a hint to a cache. */
export const nothing: Binder = () => () => {};

/** The register that an instruction writes. */
export function target({ operands, opcode }: Instruction): Register {
  const [first] = operands;
  if (first?.kind !== "register") throw new TypeError(opcode);
  return first;
}

/**
 * The rows of some operands, of so many bytes a lane; null where one has to be read in another way.
 */
export function rowsOf(
  group: ThreadGroup,
  instruction: Instruction,
  positions: number[],
  bytes: number,
): Row[] | null {
  const rows = positions.map((at) => group.registers.source(instruction.operands[at], bytes));
  const found = rows.filter((row) => row !== null);
  return found.length === rows.length ? found : null;
}

/**
 * A step that does something for each run of lanes: those from one to before another, all of them
 * where the third argument is null, else those of a mask.
 */
export function overRuns(
  group: ThreadGroup,
  visit: (from: number, to: number, mask: Mask | null) => void,
): Step {
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
 */
export function elementwise(
  group: ThreadGroup,
  row: Row,
  compute: (out: Row, from: number, to: number) => void,
): Step {
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

/** A step that gives a row the 32-bit words of another. */
export function copied(group: ThreadGroup, out: Row, values: Int32Array) {
  const words = out.width >> 2;
  return elementwise(group, out, (row, from, to) => {
    for (let i = words * from; i < words * to; i++) row.i32[i] = values[i];
  });
}

export function copyWords(
  out: Int32Array,
  values: Int32Array,
  mask: Mask,
  from: number,
  to: number,
) {
  for (let lane = from; lane < to; lane++) if (mask[lane] !== 0) out[lane] = values[lane];
}

function copyPairs(out: Int32Array, values: Int32Array, mask: Mask, from: number, to: number) {
  for (let lane = from; lane < to; lane++) {
    if (mask[lane] === 0) continue;
    out[2 * lane] = values[2 * lane];
    out[2 * lane + 1] = values[2 * lane + 1];
  }
}

/** A step that gives each active lane its value, one by one: for what is rare. */
export function lanewise(
  group: ThreadGroup,
  write: (lane: number, value: Value) => void,
  compute: (lane: number) => Value,
): Step {
  return overRuns(group, (from, to, mask) => {
    for (let lane = from; lane < to; lane++) {
      if (mask === null || mask[lane] !== 0) write(lane, compute(lane));
    }
  });
}

/** A function that reads the operand at a position, as a PTX type. */
export function reader(
  group: ThreadGroup,
  instruction: Instruction,
  position: number,
  type: string,
) {
  return group.registers.reader(instruction.operands[position], type);
}

/**
 * A step that computes whole numbers or floats of any width lane by lane: what no row loop does.
 * @param type of the result
 */
export function slowly(
  group: ThreadGroup,
  instruction: Instruction,
  type: string,
  compute: (lane: number) => Value,
): Step {
  return lanewise(group, group.registers.writer(target(instruction), type), compute);
}

/** Works out a result from the operands behind the first, in a lane. */
// biome-ignore lint/suspicious/noExplicitAny: numbers or bigints, by the types
type Compute = (match: Match, ...given: any[]) => Value;

/**
 * An operation that works lane by lane.
 * @param given types of up to three operands, and `result` that of the result; "" stands for the
 *   one in the opcode
 */
export function perLane(given: string[], result: string, compute: Compute): Binder {
  return (group, instruction, match) => {
    const [a, b, c] = given.map((type, at) =>
      reader(group, instruction, at + 1, type || match.type),
    );
    const each = c
      ? (lane: number) => compute(match, a(lane), b(lane), c(lane))
      : (lane: number) => (b ? compute(match, a(lane), b(lane)) : compute(match, a(lane)));
    return slowly(group, instruction, result || match.type, each);
  };
}
