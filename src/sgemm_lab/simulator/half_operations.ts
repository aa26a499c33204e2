// Arithmetic of 16-bit floats, alone or in pairs: half_operations.py in TypeScript.

import { beside } from "./approximations.ts";
import { oddSum } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import type { Binder, Match, Operations, Step } from "./operations.ts";
import { reader, slowly } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { fromHalf, toHalf } from "./registers.ts";

const NAN = 0x7fff;

/** As NumPy's fmin: the number where one is none. */
function lesser(a: number, b: number) {
  if (Number.isNaN(a)) return b;
  return b < a ? b : a;
}

const COMPUTE: Record<string, (...values: number[]) => number> = {
  // Rounded to odd, so that rounding once more is right.
  add: oddSum,
  sub: (a, b) => oddSum(a, -b),
  mul: (a, b) => a * b,
  fma: (a, b, c) => oddSum(a * b, c),
  min: lesser,
  max: (a, b) => -lesser(-a, -b),
};

const [FLOAT, WORD] = ((buffer) => [new Float32Array(buffer), new Uint32Array(buffer)])(
  new ArrayBuffer(4),
);

/** 16 bits as the number that they stand for. */
function widened(bits: number, type: string) {
  if (type === "f16") return fromHalf(bits);
  WORD[0] = bits << 16;
  return FLOAT[0];
}

/** A number rounded once to 16 bits. */
function narrowed(value: number, type: string) {
  if (Number.isNaN(value)) return NAN;
  if (type === "f16") return toHalf(value);
  // Rounded to odd in float32 first, so that the second rounding is right.
  FLOAT[0] = value;
  const nearest = FLOAT[0];
  const inexact = Number.isFinite(nearest) && nearest !== value;
  if (inexact && (WORD[0] & 1) === 0) FLOAT[0] = beside(nearest, value > nearest ? 1 : -1);
  const bits = WORD[0];
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

function compute(group: ThreadGroup, instruction: Instruction, { op, type, pair }: Match): Step {
  const width = pair ? "b32" : "b16";
  const operands = instruction.operands
    .slice(1)
    .map((_, at) => reader(group, instruction, at + 1, width));
  const operation = COMPUTE[op];
  return slowly(group, instruction, width, (lane) => {
    const words = operands.map((read) => Number(read(lane)));
    const half = (by: number) =>
      narrowed(operation(...words.map((word) => widened((word >>> by) & 0xffff, type))), type);
    return BigInt((pair ? (half(16) << 16) | half(0) : half(0)) >>> 0);
  });
}

function changeSign(group: ThreadGroup, instruction: Instruction, { op, pair }: Match): Step {
  const width = pair ? "b32" : "b16";
  const bits = reader(group, instruction, 1, width);
  const signs = pair ? 0x80008000n : 0x8000n;
  return slowly(group, instruction, width, (lane) => {
    const word = BigInt(bits(lane));
    return op === "neg" ? word ^ signs : word & ~signs;
  });
}

const COMPARISONS: Record<string, (a: number, b: number) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** Compare; with NaN an ordered comparison is false, an unordered one true. */
function compared({ compare, unordered }: Match, a: number, b: number) {
  if (Number.isNaN(a) || Number.isNaN(b)) return unordered !== undefined;
  return COMPARISONS[compare](a, b);
}

/** `set`: 1 where the comparison holds, else 0, as 16-bit floats. */
function set(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { type, pair } = match;
  const width = pair ? "b32" : "b16";
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, width));
  return slowly(group, instruction, width, (lane) => {
    const half = (by: number) => {
      const [left, right] = [a, b].map((read) => (Number(read(lane)) >>> by) & 0xffff);
      return compared(match, widened(left, type), widened(right, type)) ? narrowed(1, type) : 0;
    };
    return BigInt((pair ? (half(16) << 16) | half(0) : half(0)) >>> 0);
  });
}

function setPredicate(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, "b16"));
  const { type } = match;
  return slowly(group, instruction, "pred", (lane) =>
    Number(compared(match, widened(Number(a(lane)), type), widened(Number(b(lane)), type))),
  );
}

const COMPARE = "(?<compare>eq|ne|lt|le|gt|ge)(?<unordered>u)?";
const TYPE = "(?<type>bf16|f16)(?<pair>x2)?";

const PATTERNS: [string, Binder][] = [
  [`(?<op>add|sub|mul)(?:\\.rn)?\\.${TYPE}`, compute],
  [`(?<op>fma)\\.rn\\.${TYPE}`, compute],
  [`(?<op>min|max)\\.${TYPE}`, compute],
  [`(?<op>neg|abs)\\.${TYPE}`, changeSign],
  [`set\\.${COMPARE}\\.${TYPE}\\.\\k<type>(?:x2)?`, set],
  [`setp\\.${COMPARE}\\.(?<type>bf16|f16)`, setPredicate],
];

export const HALF_OPERATIONS: Operations = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
