// Arithmetic of 16-bit floats, alone or in pairs: half precision (`f16`) and bfloat16 (`bf16`).
//
// Each result is worked out in double precision and rounded to nearest even, as if once. Every NaN
// becomes 0x7FFF, that of the GPU.

import { beside } from "./approximations.ts";
import { holds } from "./arithmetic.ts";
import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import { oddSum } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import { OVERFLOW } from "./hazard_types.ts";
import { type Match, operations, perLane, reader, type Step, slowly } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { fromHalf, toHalf, type Value } from "./registers.ts";
import { lesser } from "./row_loops.ts";

const NAN = 0x7fff;
/** The bits of a half without the sign, and those of infinity. */
const [MAGNITUDE, INFINITE] = [0x7fff, 0x7c00];

const COMPUTE: Record<string, (...values: number[]) => number> = {
  // Rounded to odd, so that rounding once more is right.
  add: oddSum,
  sub: (a, b) => oddSum(a, -b),
  mul: (a, b) => a * b,
  fma: (a, b, c) => oddSum(a * b, c),
  min: lesser,
  max: (a, b) => -lesser(-a, -b),
};

/** 16 bits as the number that they stand for. */
function widened(bits: number, type: string) {
  if (type === "f16") return fromHalf(bits);
  FLOAT_BITS[0] = bits << 16;
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
  if (inexact && (FLOAT_BITS[0] & 1) === 0) FLOAT[0] = beside(nearest, value > nearest ? 1 : -1);
  const bits = FLOAT_BITS[0];
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** The bits of a result, half by half of some words, or of 16 bits alone. */
function byHalves(
  words: number[],
  type: string,
  pair: boolean,
  compute: (...values: number[]) => number,
) {
  const half = (by: number) =>
    compute(...words.map((word) => widened((word >>> by) & 0xffff, type)));
  return (pair ? (half(16) << 16) | half(0) : half(0)) >>> 0;
}

/** Whether a result of half precision is infinite, and its operands are not. */
const overflows = (words: number[], result: number) =>
  [0, 16].some((by) => {
    const isInfinite = ((result >>> by) & MAGNITUDE) === INFINITE;
    return isInfinite && words.every((word) => ((word >>> by) & MAGNITUDE) < INFINITE);
  });

/** A step that works out the bits of each half from the numbers in those of the operands. */
function halfwise(
  group: ThreadGroup,
  instruction: Instruction,
  { type, pair }: Match,
  compute: (...values: number[]) => number,
  result: string = pair ? "b32" : "b16",
): Step {
  const operands = instruction.operands
    .slice(1)
    .map((_, at) => reader(group, instruction, at + 1, pair ? "b32" : "b16"));
  return slowly(group, instruction, result, (lane) => {
    const words = operands.map((read) => Number(read(lane)));
    const found = byHalves(words, type, pair !== undefined, compute);
    if (type === "f16" && overflows(words, found)) {
      group.launch.hazards.odd(OVERFLOW, group, lane, instruction);
    }
    return BigInt(found);
  });
}

function compute(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const operation = COMPUTE[match.op];
  return halfwise(group, instruction, match, (...values) =>
    narrowed(operation(...values), match.type),
  );
}

/** A product and a sum in one, rounded once; `how` as in fma_contraction.ts. */
export function fusedHalves(
  group: ThreadGroup,
  instruction: Instruction,
  type: string,
  how: string,
): Step {
  const [, plain, pair] = /^(\w+16)(x2)?$/.exec(type) as string[];
  return halfwise(group, instruction, { type: plain, pair }, (a, b, c) =>
    narrowed(oddSum(how === "from" ? -a * b : a * b, how === "less" ? -c : c), plain),
  );
}

/** The sum of two 16-bit floats, or of pairs, as bits. */
export function addSmall(old: Value, added: Value, type: string) {
  const plain = type.replace("x2", "");
  const words = [Number(old), Number(added)];
  return BigInt(byHalves(words, plain, type !== plain, (a, b) => narrowed(oddSum(a, b), plain)));
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

/** `set`: 1 where the comparison holds, else 0, as 16-bit floats; all ones as whole numbers. */
function set(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { to, type, pair } = match;
  const whole = to === "u32" || to === "s32";
  const one = whole ? (pair ? 0xffff : 0xffffffff) : narrowed(1, type);
  const result = whole || pair ? "b32" : "b16";
  const test = (a: number, b: number) => (holds(match.compare, a, b) ? one : 0);
  return halfwise(group, instruction, match, test, result);
}

function convertWhole(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const value = reader(group, instruction, 1, instruction.parts.at(-1) ?? "");
  return slowly(group, instruction, "b16", (lane) => BigInt(narrowed(Number(value(lane)), type)));
}

const setPredicate = perLane(["b16", "b16"], "pred", (match, a, b) =>
  Number(holds(match.compare, widened(Number(a), match.type), widened(Number(b), match.type))),
);

const COMPARE = "(?<compare>(?:eq|ne|lt|le|gt|ge)u?|num|nan)";
const TYPE = "(?<type>bf16|f16)(?<pair>x2)?";

export const HALF_OPERATIONS = operations([
  ["cvt\\.rn\\.(?<type>bf16)\\.[sufb]+(?:8|16|64|(?<=[su])32)", convertWhole],
  [`(?<op>add|sub|mul)(?:\\.rn)?\\.${TYPE}`, compute],
  [`(?<op>fma)\\.rn\\.${TYPE}`, compute],
  [`(?<op>min|max)\\.${TYPE}`, compute],
  [`(?<op>neg|abs)\\.${TYPE}`, changeSign],
  [`set\\.${COMPARE}\\.(?<to>f16x2|bf16x2|f16|bf16|u32|s32)\\.${TYPE}`, set],
  [`setp\\.${COMPARE}\\.(?<type>bf16|f16)`, setPredicate],
]);
