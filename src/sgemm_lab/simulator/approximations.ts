// Instructions that the hardware rounds in its own way, or not to nearest.
//
// `ex2`, `rcp` and `rsqrt` that end in `.approx` give what an H200 gave, bit for bit, and so does
// `div`, which multiplies with `rcp`: see measured_functions.ts. `lg2`, `sqrt`, `sin`, `cos` and
// `tanh` are worked out in double precision and rounded to single: the hardware's last bits may
// differ. How far, the PTX ISA says under each of them. `add`, `sub`, `mul` and `fma` round down,
// up or towards zero as they say, bit for bit; only the sign of a sum that is exactly zero may
// differ.

import { fma64, leftOver, nextInwards } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import { powerOfTwo, quotient, reciprocal, reciprocalRoot } from "./measured_functions.ts";
import type { Binder, Match, Operations, Step } from "./operations.ts";
import { reader, slowly } from "./operations.ts";
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

function approximate(group: ThreadGroup, instruction: Instruction, { op, ftz }: Match): Step {
  const a = reader(group, instruction, 1, "f32");
  const [compute, keep] = [FUNCTIONS[op], ftz ? flushed : same];
  return slowly(group, instruction, "f32", (lane) =>
    keep(Math.fround(compute(keep(Number(a(lane)))))),
  );
}

function divide(group: ThreadGroup, instruction: Instruction, { how, ftz }: Match): Step {
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, "f32"));
  const [keep, of] = [ftz ? flushed : same, how === "approx" ? quotient : exact];
  return slowly(group, instruction, "f32", (lane) =>
    keep(Math.fround(of(keep(Number(a(lane))), keep(Number(b(lane)))))),
  );
}

const exact = (a: number, b: number) => a / b;

/** `cvt.sat`: between 0 and 1, and 0 for NaN. */
function saturate(group: ThreadGroup, instruction: Instruction): Step {
  const a = reader(group, instruction, 1, "f32");
  return slowly(group, instruction, "f32", (lane) => {
    const value = Number(a(lane));
    return value > 0 ? Math.min(value, 1) : 0;
  });
}

const [FLOAT, WORD] = ((buffer) => [new Float32Array(buffer), new Int32Array(buffer)])(
  new ArrayBuffer(4),
);

/** The float32 beside another, above it or below. */
export function beside(value: number, direction: 1 | -1) {
  if (Number.isNaN(value) || value === direction * Number.POSITIVE_INFINITY) return value;
  FLOAT[0] = value;
  if (value === 0) WORD[0] = direction > 0 ? 1 : -0x7fffffff;
  else WORD[0] += value > 0 === direction > 0 ? 1 : -1;
  return FLOAT[0];
}

/**
 * a·b + c in float32, rounded down (rm), up (rp) or towards zero (rz).
 * @param product exact in double precision
 */
function directed(product: number, c: number, direction: string) {
  const total = product + c;
  // Knuth's two-sum: the rounding error of product + c, exactly.
  const kept = total - product;
  const error = product - (total - kept) + (c - kept);
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

function doubleMultiplyAdd(group: ThreadGroup, instruction: Instruction): Step {
  const [a, b, c] = [1, 2, 3].map((at) => reader(group, instruction, at, "f64"));
  return slowly(group, instruction, "f64", (lane) =>
    fma64(Number(a(lane)), Number(b(lane)), Number(c(lane))),
  );
}

/** `add.rz` and `sub.rz` of float64. */
function addTowardsZero(group: ThreadGroup, instruction: Instruction, { op }: Match): Step {
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, "f64"));
  return slowly(group, instruction, "f64", (lane) => {
    const [one, other] = [Number(a(lane)), op === "sub" ? -Number(b(lane)) : Number(b(lane))];
    const total = one + other;
    const error = leftOver(one, other, total);
    const beyond = Number.isFinite(total) && error !== 0 && error > 0 !== total > 0;
    return beyond ? nextInwards(total) : total;
  });
}

/** Where the code of a division starts; it corrects the last bits itself. */
function approximateDouble(group: ThreadGroup, instruction: Instruction, { op }: Match): Step {
  const a = reader(group, instruction, 1, "f64");
  const root = op === "rsqrt";
  return slowly(group, instruction, "f64", (lane) => {
    const value = Number(a(lane));
    return 1 / (root ? Math.sqrt(value) : value);
  });
}

const FTZ = "(?<ftz>\\.ftz)?";

const PATTERNS: [string, Binder][] = [
  [`(?<op>${Object.keys(FUNCTIONS).join("|")})\\.approx${FTZ}\\.f32`, approximate],
  [`div\\.(?<how>approx|full)${FTZ}\\.f32`, divide],
  [`cvt(?:\\.rn)?${FTZ}\\.sat\\.f32\\.f32`, saturate],
  ["(?<op>add|sub|mul|fma)\\.(?<direction>rm|rp|rz)\\.f32", directedOperation],
  ["(?<op>add|sub)\\.rz\\.f64", addTowardsZero],
  ["(?<op>rcp|rsqrt)\\.approx(?:\\.ftz)?\\.f64", approximateDouble],
  ["fma\\.rn\\.f64", doubleMultiplyAdd],
];

export const APPROXIMATIONS: Operations = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
