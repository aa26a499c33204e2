// Matrix multiply-accumulate of one warp, `mma.sync` and `wmma.mma`.
//
// How sums are rounded no manual says: see `sumOfProducts`. Those kept in half precision are
// rounded once more, to the nearest. Whole numbers are exact.

import { WARP } from "../hardware.py";
import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import {
  BITS,
  elementIn,
  type Fragment,
  fragmentOf,
  itemsOf,
  NUMBERS,
  SHAPE,
  type Sizes,
} from "./fragments.ts";
import type { ThreadGroup } from "./group.ts";
import { type Match, operations, type Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { type RegisterRow, toHalf } from "./registers.ts";

/**
 * Of each product and of the sum so far, how many bits below the highest of all an H200 keeps.
 */
const KEPT_BITS = 25;
/** The exponent of the smallest product of two float32 numbers. */
const LOWEST = -298;
/** The bits of the one NaN that a tensor core gives. */
const NAN = 0x7fffffff;

const [DOUBLE, DOUBLE_WORDS] = (() => {
  const doubles = new Float64Array(1);
  return [doubles, new Int32Array(doubles.buffer)];
})();

/** The exponent of a number's highest bit; far below all others for zero. */
export function exponentOf(value: number) {
  if (value === 0) return 4 * LOWEST;
  DOUBLE[0] = value;
  return ((DOUBLE_WORDS[1] >>> 20) & 0x7ff) - 1023;
}

/** A double as a float32, low bits cut off. From 2¹²⁸ on it is infinity. */
export function towardZero(value: number) {
  const near = Math.fround(value);
  const beyond = Math.abs(near) > Math.abs(value) && Math.abs(value) < 2 ** 128;
  if (!beyond) return near;
  FLOAT[0] = near;
  FLOAT_BITS[0] -= 1;
  return FLOAT[0];
}

/**
 * The sum of products of `depth` elements of A, from `row` on, with as many of B, from `column` on,
 * and of an addend, as a tensor core of an H200 sums, bit by bit.
 *
 * Products are exact. They and the addend are lined up by the largest of their exponents, where a
 * product has the sum of its factors' exponents; what lies more than `KEPT_BITS` below is cut off
 * each of them; and so is the sum, to single precision. Fasi, Higham, Mikaitis and Pranesh,
 * Numerical behavior of NVIDIA tensor cores (2021), found it so for older GPUs, which keep fewer
 * bits. All that an H200 was asked agrees, bit by bit.
 */
export function sumOfProducts(
  a: Elements,
  row: number,
  b: Elements,
  column: number,
  depth: number,
  addend: number,
) {
  // Beyond the edges of a matrix there are zeros, and most of a tile of a narrow one is beyond.
  if (b.finite && a.empty[row / depth] === 1) return addend + 0;
  if (a.finite && b.empty[column / depth] === 1) return addend + 0;
  let [highest, plain] = [exponentOf(addend), 0];
  for (let k = 0; k < depth; k++) {
    highest = Math.max(highest, a.exponents[row + k] + b.exponents[column + k]);
    plain += a.values[row + k] * b.values[column + k];
  }
  plain += addend;
  if (!Number.isFinite(plain)) return plain;
  const unit = 2 ** (Math.max(highest, LOWEST) - KEPT_BITS);
  let cut = Math.trunc(addend / unit);
  for (let k = 0; k < depth; k++) {
    cut += Math.trunc((a.values[row + k] * b.values[column + k]) / unit);
  }
  return towardZero(cut * unit + 0);
}

/**
 * Rows of A, or columns of B, one behind the other, with their exponents; which of them are all
 * zeros; whether no element is NaN or infinite.
 */
export interface Elements {
  values: Float64Array;
  exponents: Int32Array;
  empty: Uint8Array;
  finite: boolean;
}

export const elements = (rows: number, depth: number): Elements => ({
  values: new Float64Array(rows * depth),
  exponents: new Int32Array(rows * depth),
  empty: new Uint8Array(rows),
  finite: true,
});

/** Find out what is empty, and whether all is finite. */
export function look(elements: Elements) {
  const { values, empty } = elements;
  const depth = values.length / empty.length;
  empty.fill(1);
  let sizes = 0;
  for (let at = 0; at < values.length; at++) {
    if (values[at] === 0) continue;
    empty[(at / depth) | 0] = 0;
    sizes += Math.abs(values[at]);
  }
  elements.finite = Number.isFinite(sizes);
}

export function put(into: Elements, at: number, value: number) {
  into.values[at] = value;
  into.exponents[at] = exponentOf(value);
}

/**
 * What puts the numbers of a warp's registers, whose first lane is `first`, into rows of A or
 * columns of B. `place` says which of these, and where in it.
 */
export function filling(
  into: Elements,
  { rows, columns, count }: Fragment,
  registers: RegisterRow[],
  type: string,
  place: (row: number, column: number) => [line: number, at: number],
) {
  const [bits, number] = [BITS[type], NUMBERS[type]];
  const depth = into.values.length / into.empty.length;
  const places = rows.map((row, at) => {
    const [line, inLine] = place(row, columns[at]);
    return line * depth + inLine;
  });
  return (first: number) => {
    for (let lane = 0; lane < WARP; lane++) {
      for (let element = 0; element < count; element++) {
        const value = number(elementIn(registers, first + lane, element, bits));
        put(into, places[lane * count + element], value);
      }
    }
    look(into);
  };
}

/** The bits of a number as a float32; NaN as a tensor core gives it. */
export function floatBits(value: number) {
  FLOAT[0] = value;
  return Number.isNaN(value) ? NAN : FLOAT_BITS[0];
}

/** Products of TF32 that `wmma` sums at a time, as its results on an H200 show. */
const TF32_STEP = 4;
const RESULTS: Record<string, (value: number) => number> = {
  f16: toHalf,
  f32: floatBits,
  s32: (value) => value | 0,
};

/** `wmma.mma` and `mma.sync`: D = A·B + C. */
function multiply(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const sizes = [match.m, match.n, match.k].map(Number) as Sizes;
  const [m, n, k] = sizes;
  const given = match.types.split(".").filter(Boolean);
  // Of D and C; A and B are halves.
  const [d, a, b, c] =
    match.kind === "wmma" && given.length === 2 ? [given[0], "f16", "f16", given[1]] : given;
  const words = [1, 2, 3].map((position) => itemsOf(group, instruction, position));
  const out = itemsOf(group, instruction, 0);
  const places = fragmentOf("c", sizes, 32);
  const depth = match.kind === "wmma" && a === "tf32" ? TF32_STEP : k;
  const steps = k / depth;
  const [matrixA, matrixB] = [elements(steps * m, depth), elements(steps * n, depth)];
  const fillings = [
    filling(matrixA, fragmentOf("a", sizes, BITS[a]), words[0], a, (row, at) => [
      Math.floor(at / depth) * m + row,
      at % depth,
    ]),
    filling(matrixB, fragmentOf("b", sizes, BITS[b]), words[1], b, (at, column) => [
      Math.floor(at / depth) * n + column,
      at % depth,
    ]),
  ];
  const sum = d === "s32" ? wholeSum : sumOfProducts;
  const [bits, result, addend] = [BITS[d], RESULTS[d], NUMBERS[c]];
  const packed = new Uint32Array(out.length);
  return (mask) => {
    for (let first = 0; first < group.lanes; first += WARP) {
      if (mask !== null && !mask.subarray(first, first + WARP).includes(1)) continue;
      for (const fill of fillings) fill(first);
      for (let lane = 0; lane < WARP; lane++) {
        if (mask !== null && !mask[first + lane]) continue;
        packed.fill(0);
        for (let element = 0; element < places.count; element++) {
          const at = lane * places.count + element;
          const [row, column] = [places.rows[at], places.columns[at]];
          let total = addend(elementIn(words[2], first + lane, element, BITS[c]));
          for (let step = 0; step < steps; step++) {
            const [inA, inB] = [(step * m + row) * depth, (step * n + column) * depth];
            total = sum(matrixA, inA, matrixB, inB, depth, total);
          }
          const bit = element * bits;
          packed[bit >> 5] |= result(total) << (bit & 31);
        }
        for (let number = 0; number < out.length; number++) {
          out[number].u32[first + lane] = packed[number];
        }
      }
    }
  };
}

/** As `sumOfProducts`, of whole numbers. */
function wholeSum(
  a: Elements,
  row: number,
  b: Elements,
  column: number,
  depth: number,
  addend: number,
) {
  let total = addend;
  for (let k = 0; k < depth; k++) {
    total += a.values[row + k] * b.values[column + k];
  }
  return total;
}

const WHOLE = "\\.s32\\.(?:s8|u8)\\.(?:s8|u8)\\.s32";

export const TENSOR_OPERATIONS = operations([
  [
    `(?<kind>wmma)\\.mma\\.sync\\.aligned\\.(?:row|col)\\.(?:row|col)\\.${SHAPE}` +
      `(?<types>(?:\\.(?:f16|f32)){2}|\\.f32\\.(?:bf16\\.bf16|tf32\\.tf32)\\.f32|${WHOLE})` +
      "(?:\\.satfinite)?",
    multiply,
  ],
  [
    "mma\\.sync\\.aligned\\.m(?<m>16)n(?<n>8)k(?<k>8)\\.row\\.col(?<types>\\.f32\\.tf32\\.tf32\\.f32)",
    multiply,
  ],
  [
    "mma\\.sync\\.aligned\\.m(?<m>16)n(?<n>8)k(?<k>8|16)\\.row\\.col" +
      "(?<types>\\.f(?:16|32)\\.f16\\.f16\\.f(?:16|32)|\\.f32\\.bf16\\.bf16\\.f32)",
    multiply,
  ],
  [
    "mma\\.sync\\.aligned\\.m(?<m>8|16)n(?<n>8)k(?<k>16|(?<=m16n8k)32)\\.row\\.col" +
      `(?:\\.satfinite)?(?<types>${WHOLE})`,
    multiply,
  ],
]);
