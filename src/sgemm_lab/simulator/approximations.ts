// Instructions that the hardware rounds in its own way, or not to nearest: approximations.py in
// TypeScript.

import { fma64 } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import type { Binder, Match, Operations, Step } from "./operations.ts";
import { reader, slowly } from "./operations.ts";
import type { Instruction } from "./ptx.ts";

const SMALLEST_NORMAL = 2 ** -126;

const FUNCTIONS: Record<string, (x: number) => number> = {
  ex2: (x) => 2 ** x,
  lg2: Math.log2,
  rcp: (x) => 1 / x,
  rsqrt: (x) => 1 / Math.sqrt(x),
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

function divide(group: ThreadGroup, instruction: Instruction, { ftz }: Match): Step {
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, "f32"));
  const keep = ftz ? flushed : same;
  return slowly(group, instruction, "f32", (lane) =>
    keep(Math.fround(keep(Number(a(lane))) / keep(Number(b(lane))))),
  );
}

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

function directedMultiplyAdd(
  group: ThreadGroup,
  instruction: Instruction,
  { direction }: Match,
): Step {
  const [a, b, c] = [1, 2, 3].map((at) => reader(group, instruction, at, "f32"));
  return slowly(group, instruction, "f32", (lane) =>
    directed(Number(a(lane)) * Number(b(lane)), Number(c(lane)), direction),
  );
}

function doubleMultiplyAdd(group: ThreadGroup, instruction: Instruction): Step {
  const [a, b, c] = [1, 2, 3].map((at) => reader(group, instruction, at, "f64"));
  return slowly(group, instruction, "f64", (lane) =>
    fma64(Number(a(lane)), Number(b(lane)), Number(c(lane))),
  );
}

const FTZ = "(?<ftz>\\.ftz)?";

const PATTERNS: [string, Binder][] = [
  [`(?<op>${Object.keys(FUNCTIONS).join("|")})\\.approx${FTZ}\\.f32`, approximate],
  [`div\\.(?:approx|full)${FTZ}\\.f32`, divide],
  [`cvt(?:\\.rn)?${FTZ}\\.sat\\.f32\\.f32`, saturate],
  ["fma\\.(?<direction>rm|rp|rz)\\.f32", directedMultiplyAdd],
  ["fma\\.rn\\.f64", doubleMultiplyAdd],
];

export const APPROXIMATIONS: Operations = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
