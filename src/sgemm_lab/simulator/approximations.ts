// Instructions that the hardware rounds in its own way, or not to nearest.
//
// `ex2`, `rcp` and `rsqrt` that end in `.approx` give what an H200 gave, bit for bit, and so does
// `div`, which multiplies with `rcp`: see measured_functions.ts. `lg2`, `sqrt`, `sin`, `cos` and
// `tanh` are worked out in double precision and rounded to single: the hardware's last bits may
// differ. How far, the PTX ISA says under each of them. `add`, `sub`, `mul` and `fma` round down,
// up or towards zero as they say, bit for bit; only the sign of a sum that is exactly zero may
// differ.

import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import { fma64, leftOver, nextInwards } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import { powerOfTwo, quotient, reciprocal, reciprocalRoot } from "./measured_functions.ts";
import { type Match, operations, perLane, reader, type Step, slowly } from "./operations.ts";
import type { Instruction } from "./ptx.ts";

const SMALLEST_NORMAL = 2 ** -126;

const FUNCTIONS: Record<string, (x: number) => number> = {
  ex2: powerOfTwo,
  lg2: Math.log2,
  rcp: reciprocal,
  rsqrt: reciprocalRoot,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
};

/** Below the normal range only the sign is kept. */
const flushed = (value: number) =>
  Math.abs(value) < SMALLEST_NORMAL ? 0 * Math.sign(value) : value;

const same = (value: number) => value;

const approximate = perLane(["f32"], "f32", ({ op, ftz }, a) => {
  const keep = ftz ? flushed : same;
  return keep(Math.fround(FUNCTIONS[op](keep(a))));
});

const divide = perLane(["f32", "f32"], "f32", ({ how, ftz }, a, b) => {
  const [keep, of] = [ftz ? flushed : same, how === "approx" ? quotient : exact];
  return keep(Math.fround(of(keep(a), keep(b))));
});

const exact = (a: number, b: number) => a / b;

/** `cvt.sat`: between 0 and 1, and 0 for NaN. */
const saturate = perLane(["f32"], "f32", (_, a) => (a > 0 ? Math.min(a, 1) : 0));

/** The float32 beside another, above it or below. */
export function beside(value: number, direction: 1 | -1) {
  if (Number.isNaN(value) || value === direction * Number.POSITIVE_INFINITY) return value;
  FLOAT[0] = value;
  if (value === 0) FLOAT_BITS[0] = direction > 0 ? 1 : -0x7fffffff;
  else FLOAT_BITS[0] += value > 0 === direction > 0 ? 1 : -1;
  return FLOAT[0];
}

/**
 * a·b + c in float32, rounded down (rm), up (rp) or towards zero (rz).
 * @param product exact in double precision
 */
function directed(product: number, c: number, direction: string) {
  const total = product + c;
  const error = leftOver(product, c, total);
  const nearest = Math.fround(total);
  const above = nearest > total || (nearest === total && error < 0);
  const below = nearest < total || (nearest === total && error > 0);
  if (above && (direction === "rm" || (direction === "rz" && total > 0))) {
    return beside(nearest, -1);
  }
  if (below && (direction === "rp" || (direction === "rz" && total < 0))) {
    return beside(nearest, 1);
  }
  return nearest;
}

/** The product and the addend that each operation is made of. */
const PARTS: Record<string, (a: number, b: number, c: number) => [number, number]> = {
  add: (a, b) => [a, b],
  sub: (a, b) => [a, -b],
  mul: (a, b) => [a * b, 0],
  fma: (a, b, c) => [a * b, c],
};

/** `add`, `sub`, `mul` and `fma` of float32 that round down, up or towards zero. */
function directedOperation(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const [a, b, c = a] = instruction.operands
    .slice(1)
    .map((_, at) => reader(group, instruction, at + 1, "f32"));
  const parts = PARTS[match.op];
  return slowly(group, instruction, "f32", (lane) =>
    directed(...parts(Number(a(lane)), Number(b(lane)), Number(c(lane))), match.direction),
  );
}

const DOUBLES = ["f64", "f64", "f64"];

const doubleMultiplyAdd = perLane(DOUBLES, "f64", (_, a, b, c) => fma64(a, b, c));

/** `add.rz` and `sub.rz` of float64. */
const addTowardsZero = perLane(["f64", "f64"], "f64", ({ op }, a, b) => {
  const other = op === "sub" ? -b : b;
  const total = a + other;
  const error = leftOver(a, other, total);
  const beyond = Number.isFinite(total) && error !== 0 && error > 0 !== total > 0;
  return beyond ? nextInwards(total) : total;
});

/** Where the code of a division starts; it corrects the last bits itself. */
const approximateDouble = perLane(
  ["f64"],
  "f64",
  ({ op }, a) => 1 / (op === "rsqrt" ? Math.sqrt(a) : a),
);

const FTZ = "(?<ftz>\\.ftz)?";

export const APPROXIMATIONS = operations([
  [`(?<op>${Object.keys(FUNCTIONS).join("|")})\\.approx${FTZ}\\.f32`, approximate],
  [`div\\.(?<how>approx|full)${FTZ}\\.f32`, divide],
  [`cvt(?:\\.rn)?${FTZ}\\.sat\\.f32\\.f32`, saturate],
  ["(?<op>add|sub|mul|fma)\\.(?<direction>rm|rp|rz)\\.f32", directedOperation],
  ["(?<op>add|sub)\\.rz\\.f64", addTowardsZero],
  ["(?<op>rcp|rsqrt)\\.approx(?:\\.ftz)?\\.f64", approximateDouble],
  ["fma\\.rn\\.f64", doubleMultiplyAdd],
]);
