// Integer, float and predicate instructions. What moves, converts or takes apart bits is in
// conversions.ts.

import { fma32 } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import type { Binder, Match, Step } from "./operations.ts";
import {
  elementwise,
  operations,
  overRuns,
  perLane,
  reader,
  rowsOf,
  slowly,
  target,
} from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { predicateOf, type RegisterRow as Row, typeOf, type Value } from "./registers.ts";
import {
  LOOPS,
  lesser,
  multiplyAdd,
  multiplyWideSigned,
  multiplyWideUnsigned,
  PAIR_TESTS,
  PAIRS,
  shiftPairsLeft,
} from "./row_loops.ts";
import { sentence } from "./sentences.ts";

const WIDER: Record<string, string> = { s16: "s32", u16: "u32", s32: "s64", u32: "u64" };

/** whole numbers of any width */
export const WHOLE: Record<string, (a: bigint, b: bigint) => bigint> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  "mul.lo": (a, b) => a * b,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  rem: (a, b) => (b ? a % b : 0n),
  div: (a, b) => (b ? a / b : 0n),
};
const REAL: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: lesser,
  max: (a, b) => -lesser(-a, -b),
};

const VIEWS = { s: "i32", u: "u32", f: "f32" } as const;

/** A loop for an operation on rows of a type, and the view of rows that it takes; null for none. */
function loopFor(type: string, operation: string) {
  const { kind, bytes } = typeOf(type);
  if (kind === "pred" || bytes < 4 || (kind === "f" && bytes === 8)) return null;
  const [view, loop] =
    bytes === 8
      ? (["i32", PAIRS[operation]] as const)
      : ([VIEWS[kind], LOOPS[kind][operation]] as const);
  return loop ? { view, loop: loop as (typeof LOOPS)["s"][string], bytes } : null;
}

/** A step that fills the target from the rows of operands 1 and 2 in one loop; null without one. */
function rowStep(group: ThreadGroup, instruction: Instruction, type: string, operation: string) {
  const found = loopFor(type, operation);
  const rows = found && rowsOf(group, instruction, [1, 2], found.bytes);
  const out = found && group.registers.row(target(instruction), found.bytes);
  if (!rows || !out) return null;
  const { view, loop } = found;
  const [a, b] = rows.map((row) => row[view]);
  return elementwise(group, out, (row, from, to) => loop(row[view], a, b, from, to));
}

function binary(group: ThreadGroup, instruction: Instruction, { op, type }: Match): Step {
  const rows = rowStep(group, instruction, type, op);
  if (rows) return rows;
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, type));
  const operation = (typeOf(type).kind === "f" ? REAL[op] : WHOLE[op]) as (
    a: Value,
    b: Value,
  ) => Value;
  return slowly(group, instruction, type, (lane) => operation(a(lane), b(lane)));
}

const divideIntegers: Binder = (group, instruction, { type }) =>
  binary(group, instruction, { op: "div", type });

const COMBINE: Record<string, (a: number, b: number) => number> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

function predicateBinary(group: ThreadGroup, instruction: Instruction, { op }: Match): Step {
  const [a, b] = [1, 2].map((at) => predicateOf(group.registers, instruction.operands[at]));
  const out = group.registers.predicate(target(instruction));
  const combine = COMBINE[op];
  return overRuns(group, (from, to, mask) => {
    for (let lane = from; lane < to; lane++) {
      if (mask !== null && mask[lane] === 0) continue;
      out[lane] = combine(a.row[lane] ^ a.flip, b.row[lane] ^ b.flip);
    }
  });
}

function unary(group: ThreadGroup, instruction: Instruction, { op, type }: Match): Step {
  if (type === "pred") {
    const { row, flip } = predicateOf(group.registers, instruction.operands[1]);
    const out = group.registers.predicate(target(instruction));
    return overRuns(group, (from, to, mask) => {
      for (let lane = from; lane < to; lane++) {
        if (mask === null || mask[lane] !== 0) out[lane] = 1 - (row[lane] ^ flip);
      }
    });
  }
  const fast = unaryRows(group, instruction, op, type);
  if (fast) return fast;
  const a = reader(group, instruction, 1, type);
  // biome-ignore lint/suspicious/noExplicitAny: a number or a bigint, by the type
  const operations: Record<string, (a: any) => Value> = {
    neg: (value) => -value,
    abs: (value) => (value < 0 ? -value : typeof value === "number" ? Math.abs(value) : value),
    not: (value) => ~value,
    sqrt: Math.sqrt,
  };
  return slowly(group, instruction, type, (lane) => operations[op](a(lane)));
}

/** Signs and bits turned over by an operation with a constant. */
function unaryRows(group: ThreadGroup, instruction: Instruction, operation: string, type: string) {
  const { kind, bytes } = typeOf(type);
  if (bytes < 4 || operation === "sqrt" || (kind === "f" && bytes === 8)) return null;
  const rows = rowsOf(group, instruction, [1], bytes);
  const out = group.registers.row(target(instruction), bytes);
  if (!rows || !out || (operation === "abs" && kind !== "f")) return null;
  const [a] = rows;
  const [loop, constant] =
    operation === "not"
      ? [bytes === 8 ? PAIRS.xor : LOOPS.s.xor, -1n]
      : operation === "abs"
        ? [LOOPS.s.and, 0x7fffffffn]
        : kind === "f"
          ? [LOOPS.s.xor, 0x80000000n]
          : [null, 0n];
  const other = group.registers.constant(constant, bytes);
  if (loop)
    return elementwise(group, out, (row, from, to) => loop(row.i32, a.i32, other.i32, from, to));
  const subtract = bytes === 8 ? PAIRS.sub : LOOPS.s.sub;
  return elementwise(group, out, (row, from, to) => subtract(row.i32, other.i32, a.i32, from, to));
}

function shift(group: ThreadGroup, instruction: Instruction, { op, type }: Match): Step {
  const found = rowStep(group, instruction, type, op);
  if (found) return found;
  const { bytes } = typeOf(type);
  const by = instruction.operands[2];
  const rows = bytes === 8 ? rowsOf(group, instruction, [1], 8) : null;
  const out = rows && group.registers.row(target(instruction), 8);
  if (rows && out && op === "shl" && by.kind === "immediate") {
    const [a] = rows;
    const fixed = Number(by.bits < 64n ? by.bits : 64n);
    return elementwise(group, out, (row, from, to) =>
      shiftPairsLeft(row.i32, a.i32, fixed, from, to),
    );
  }
  const [a, amount] = [reader(group, instruction, 1, type), reader(group, instruction, 2, "u32")];
  const most = BigInt(8 * bytes);
  return slowly(group, instruction, type, (lane) => {
    const asked = BigInt(amount(lane));
    const places = asked < most ? asked : most;
    return op === "shl" ? BigInt(a(lane)) << places : BigInt(a(lane)) >> places;
  });
}

function multiplyHigh(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const found = rowStep(group, instruction, type, "mul.hi");
  if (found) return found;
  const bits = BigInt(8 * typeOf(type).bytes);
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, type));
  return slowly(group, instruction, type, (lane) => (BigInt(a(lane)) * BigInt(b(lane))) >> bits);
}

/**
 * What fills a row with the 64-bit products of operands 1 and 2; null where they have other widths.
 */
function wideProducts(
  group: ThreadGroup,
  instruction: Instruction,
  type: string,
): ((out: Row, from: number, to: number) => void) | null {
  const { kind, bytes } = typeOf(type);
  const rows = bytes === 4 ? rowsOf(group, instruction, [1, 2], 4) : null;
  if (!rows) return null;
  const [a, b] = rows;
  return kind === "s"
    ? (out, from, to) => multiplyWideSigned(out.i32, a.i32, b.i32, from, to)
    : (out, from, to) => multiplyWideUnsigned(out.i32, a.u32, b.u32, from, to);
}

function multiplyWide(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const products = wideProducts(group, instruction, type);
  if (products) {
    const out = group.registers.row(target(instruction), 8);
    if (out) return elementwise(group, out, products);
  }
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, type));
  return slowly(group, instruction, WIDER[type], (lane) => BigInt(a(lane)) * BigInt(b(lane)));
}

function multiplyAddIntegers(group: ThreadGroup, instruction: Instruction, { part, type }: Match) {
  const wide = part === "wide";
  const sumType = wide ? WIDER[type] : type;
  const { bytes } = typeOf(sumType);
  const out = bytes >= 4 ? group.registers.row(target(instruction), bytes) : null;
  const rest = out && rowsOf(group, instruction, [3], bytes);
  const rows = bytes === 4 && !wide ? rowsOf(group, instruction, [1, 2], 4) : null;
  if (out && rest && rows) {
    const [[a, b], [c]] = [rows, rest];
    return elementwise(group, out, (row, from, to) =>
      multiplyAdd(row.i32, a.i32, b.i32, c.i32, from, to),
    );
  }
  const products = wide ? wideProducts(group, instruction, type) : null;
  if (out && rest && products) {
    const [product, [c]] = [group.registers.scratch(8, "product"), rest];
    return elementwise(group, out, (row, from, to) => {
      products(product, from, to);
      PAIRS.add(row.i32, product.i32, c.i32, from, to);
    });
  }
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, type));
  const c = reader(group, instruction, 3, sumType);
  return slowly(
    group,
    instruction,
    sumType,
    (lane) => BigInt(a(lane)) * BigInt(b(lane)) + BigInt(c(lane)),
  );
}

function fusedMultiplyAdd(group: ThreadGroup, instruction: Instruction): Step {
  const rows = rowsOf(group, instruction, [1, 2, 3], 4);
  const out = group.registers.row(target(instruction), 4);
  if (!rows || !out) throw new TypeError(instruction.opcode);
  const [a, b, c] = rows.map((row) => row.f32);
  const step = elementwise(group, out, (row, from, to) => fma32(row.f32, a, b, c, from, to));
  const listener = group.launch.products;
  if (!listener) return step;
  return (mask) => {
    const lanes = group.lanesOf(mask ?? new Uint8Array(group.lanes).fill(1));
    // Before the step: its target may be one of its factors.
    const [left, right] = [a, b].map((factor) => Float32Array.from(lanes, (lane) => factor[lane]));
    step(mask);
    const sums = Float32Array.from(lanes, (lane) => out.f32[lane]);
    listener.onProduct(group, instruction, lanes, [left, right], sums);
  };
}

const PLAIN_NAMES = new Map([
  ["lo", "lt"],
  ["ls", "le"],
  ["hi", "gt"],
  ["hs", "ge"],
]);
const UNORDERED = /^(?:eq|ne|lt|le|gt|ge)u$/;

/** What fills a row of predicates with a comparison of operands 1 and 2. */
function comparison(
  group: ThreadGroup,
  instruction: Instruction,
  compare: string,
  type: string,
): (out: Uint8Array, from: number, to: number) => void {
  const { kind, bytes } = typeOf(type);
  const name = PLAIN_NAMES.get(compare) ?? compare;
  if (bytes === 8 && (kind === "s" || (kind === "u" && (name === "eq" || name === "ne")))) {
    const rows = rowsOf(group, instruction, [1, 2], 8);
    if (rows) return (out, from, to) => PAIR_TESTS[name](out, rows[0].i32, rows[1].i32, from, to);
  }
  const found = bytes === 4 ? loopFor(type, name) : null;
  const rows = found && rowsOf(group, instruction, [1, 2], 4);
  if (found && rows) {
    const { view, loop } = found;
    return (out, from, to) => loop(out, rows[0][view], rows[1][view], from, to);
  }
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, type));
  return (out, from, to) => {
    for (let lane = from; lane < to; lane++) {
      out[lane] = holds(name, a(lane), b(lane)) ? 1 : 0;
    }
  };
}

/** Whether a comparison holds of two numbers of one kind. */
export function holds(name: string, a: number | bigint, b: number | bigint): boolean {
  const nan = Number.isNaN(a) || Number.isNaN(b);
  if (UNORDERED.test(name)) return nan || holds(name.slice(0, -1), a, b);
  const found: Record<string, boolean> = {
    ...{ eq: a === b, ne: a !== b && !nan, lt: a < b, le: a <= b, gt: a > b, ge: a >= b },
    ...{ num: !nan, nan },
  };
  return found[name];
}

function setPredicate(
  group: ThreadGroup,
  instruction: Instruction,
  { compare, combine, type }: Match,
): Step {
  const floatOnly = UNORDERED.test(compare) || compare === "num" || compare === "nan";
  if (floatOnly && typeOf(type).kind !== "f") {
    const { opcode, location } = instruction;
    throw new PtxError(sentence("run.comparison", { opcode, place: `${location}` }));
  }
  const test = comparison(group, instruction, compare, type);
  const [first] = instruction.operands;
  const register = first.kind === "pair" ? first.first : target(instruction);
  const out = group.registers.predicate(register);
  const inverse = first.kind === "pair" ? group.registers.predicate(first.second) : null;
  const result = group.registers.scratchPredicate;
  const other = combine ? predicateOf(group.registers, instruction.operands[3]) : null;
  const join = combine ? COMBINE[combine] : null;
  return overRuns(group, (from, to, mask) => {
    if (mask === null && !inverse && !join) {
      test(out, from, to);
      return;
    }
    test(result, from, to);
    for (let lane = from; lane < to; lane++) {
      if (mask !== null && mask[lane] === 0) continue;
      let one = result[lane];
      let opposite = 1 - one;
      if (join && other) {
        const condition = other.row[lane] ^ other.flip;
        one = join(one, condition);
        opposite = join(opposite, condition);
      }
      out[lane] = one;
      if (inverse) inverse[lane] = opposite;
    }
  });
}

const reciprocal = perLane([""], "", (_, a) => 1 / a);

const INT = "(?<type>[su](?:16|32|64))";
const FLOAT = "(?<type>f32|f64)";
const COMPARISONS = "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan";

export const ARITHMETIC = operations([
  [`(?<op>add|sub|mul\\.lo|min|max|rem)\\.${INT}`, binary],
  [`(?<op>add|sub|mul|div)(?:\\.rn)?\\.${FLOAT}`, binary],
  [`(?<op>min|max)\\.${FLOAT}`, binary],
  ["(?<op>and|or|xor)\\.(?<type>b(?:16|32|64))", binary],
  ["(?<op>and|or|xor)\\.pred", predicateBinary],
  ["(?<op>neg|abs)\\.(?<type>s16|s32|s64|f32|f64)", unary],
  ["(?<op>not)\\.(?<type>b16|b32|b64|pred)", unary],
  [`(?<op>sqrt)\\.rn\\.${FLOAT}`, unary],
  [`rcp\\.rn\\.${FLOAT}`, reciprocal],
  ["(?<op>shl|shr)\\.(?<type>[sub](?:16|32|64))", shift],
  [`div\\.${INT}`, divideIntegers],
  ["mul\\.hi\\.(?<type>[su](?:16|32|64))", multiplyHigh],
  ["mul\\.wide\\.(?<type>[su](?:16|32))", multiplyWide],
  ["mad\\.(?<part>lo)\\.(?<type>[su](?:16|32|64))", multiplyAddIntegers],
  ["mad\\.(?<part>wide)\\.(?<type>[su](?:16|32))", multiplyAddIntegers],
  ["fma\\.rn\\.f32", fusedMultiplyAdd],
  [
    `setp\\.(?<compare>${COMPARISONS})(?:\\.(?<combine>and|or|xor))?\\.(?<type>[subf](?:16|32|64))`,
    setPredicate,
  ],
]);
