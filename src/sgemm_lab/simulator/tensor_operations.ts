// Matrix multiply-accumulate of one warp, `mma.sync`.
//
// Where each element of A, B and C sits among the lanes is fixed by the PTX manual ("Matrix
// Fragments for mma.m16n8k8 / m16n8k16"). How the sums are rounded is not: see `sumOfProducts`.

import { WARP } from "../hardware.py";
import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import type { ThreadGroup } from "./group.ts";
import type { Match, Step } from "./operations.ts";
import { operations } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import type { RegisterRow } from "./registers.ts";
import { fromHalf } from "./registers.ts";
import { sentence } from "./sentences.ts";

export const ROWS = 16;
const COLUMNS = 8;
/**
 * Of each product and of the sum so far, how many bits below the highest of all an H200 keeps.
 */
const KEPT_BITS = 25;
/** The exponent of the smallest product of two float32 numbers. */
const LOWEST = -298;
/** The bits of the one NaN that a tensor core gives. */
const NAN = 0x7fffffff;

/** The rows of an operand in braces. */
export function itemsOf(
  group: ThreadGroup,
  { operands, location, opcode }: Instruction,
  position: number,
) {
  const operand = operands[position];
  if (operand?.kind !== "vector") throw new PtxError(sentence("run.mma", { place: `${location}` }));
  return operand.items.map((item) => {
    const row = group.registers.source(item, 4);
    if (!row) throw new TypeError(opcode);
    return row;
  });
}

function asFloat(bits: number) {
  FLOAT_BITS[0] = bits;
  return FLOAT[0];
}

/**
 * What an element of A or B is, by the type: the tensor core ignores the 13 lowest bits of a
 * float32; a register holds two elements of 16 bits, neighbours along k.
 */
export const ELEMENTS: Record<string, (bits: number, half: number) => number> = {
  f32: asFloat,
  tf32: (bits) => asFloat(bits & 0xffffe000),
  f16: (bits, half) => fromHalf((bits >>> (16 * half)) & 0xffff),
  bf16: (bits, half) => asFloat(half ? bits & 0xffff0000 : bits << 16),
};

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

/** The bits of a number as a float32; NaN as a tensor core gives it. */
export function floatBits(value: number) {
  FLOAT[0] = value;
  return Number.isNaN(value) ? NAN : FLOAT_BITS[0];
}

/** Fill A from the registers of a warp whose first lane is `first`. */
export function fillA(into: Elements, a: RegisterRow[], first: number, type: string) {
  const packed = type === "tf32" ? 1 : 2;
  const depth = 2 * packed * a.length;
  const element = ELEMENTS[type];
  for (let lane = 0; lane < WARP; lane++) {
    const [row, inside] = [lane >> 2, lane & 3];
    for (let half = 0; half < packed; half++) {
      a.forEach((register, number) => {
        const k = packed * inside + half + 4 * packed * (number >> 1);
        const value = element(register.u32[first + lane], half);
        put(into, (row + 8 * (number & 1)) * depth + k, value);
      });
    }
  }
  look(into);
}

/** D = A·B + C, summed as a tensor core sums. */
function multiplyAccumulate(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const [a, b, c] = [1, 2, 3].map((position) => itemsOf(group, instruction, position));
  const out = itemsOf(group, instruction, 0);
  const packed = type === "tf32" ? 1 : 2;
  const depth = 4 * packed * b.length;
  const element = ELEMENTS[type];
  const [matrixA, matrixB] = [elements(ROWS, depth), elements(COLUMNS, depth)];
  const sums = new Uint32Array(4 * WARP);
  const fill = (first: number) => {
    for (let lane = 0; lane < WARP; lane++) {
      const [row, inside] = [lane >> 2, lane & 3];
      for (let half = 0; half < packed; half++) {
        b.forEach((register, number) => {
          const k = packed * inside + half + 4 * packed * number;
          put(matrixB, row * depth + k, element(register.u32[first + lane], half));
        });
      }
    }
    fillA(matrixA, a, first, type);
    look(matrixB);
  };
  const sumAt = (at: number, first: number) => {
    const [lane, number] = [at >> 2, at & 3];
    const row = (lane >> 2) + 8 * (number >> 1);
    const column = 2 * (lane & 3) + (number & 1);
    const addend = c[number].f32[first + lane];
    return sumOfProducts(matrixA, row * depth, matrixB, column * depth, depth, addend);
  };
  return (mask) => {
    for (let first = 0; first < group.lanes; first += WARP) {
      fill(first);
      for (let at = 0; at < 4 * WARP; at++) {
        sums[at] = floatBits(sumAt(at, first));
      }
      for (let at = 0; at < 4 * WARP; at++) {
        const lane = first + (at >> 2);
        if (mask === null || mask[lane]) out[at & 3].u32[lane] = sums[at];
      }
    }
  };
}

export const TENSOR_OPERATIONS = operations([
  [
    "mma\\.sync\\.aligned\\.m16n8k8\\.row\\.col\\.f32\\.(?<type>tf32)\\.tf32\\.f32",
    multiplyAccumulate,
  ],
  [
    "mma\\.sync\\.aligned\\.m16n8k(?:8|16)\\.row\\.col\\.f32\\.(?<type>f16|bf16)\\.\\k<type>\\.f32",
    multiplyAccumulate,
  ],
]);
