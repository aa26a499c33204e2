// `ex2`, `rcp` and `rsqrt` as an H200 rounds them, bit by bit.
//
// approximations_h200.gz holds, for every number of single precision from 1 to 2 (`rsqrt` up to 4),
// how many units in the last place the hardware's answer lies beside the nearest: two bits each,
// plus two. So much is enough, for the hardware works on the significand alone: `rcp` and `rsqrt`
// of other numbers differ by a power of two, and `ex2` drops what lies below 2⁻²³. Of a negative
// number it takes the bits of its size, each turned over, so that a multiple of 2⁻²³ falls to the
// next one. All 50 million answers that were recorded follow this. Pages have no tables: their
// answers are the nearest.

import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import { exponentOf } from "./tensor_operations.ts";

/** How many float32 are from 1 to 2. */
const COUNT = 2 ** 23;

/** What each table says of a number from 1 to 2, in the order of the file. */
const TABLES: ((x: number) => number)[] = [
  (x) => 2 ** x,
  (x) => 1 / x,
  (x) => 1 / Math.sqrt(x),
  (x) => 1 / Math.sqrt(2 * x),
];
const [EX2, RCP, RSQRT, RSQRT_OF_2_TO_4] = [0, 1, 2, 3];

let read: (() => Uint8Array) | null = null;
let packed: Uint8Array | null = null;

/** Give what reads all tables, four answers to a byte; it is called when they are asked for. */
export function provideTables(reads: (() => Uint8Array) | null) {
  [read, packed] = [reads, null];
}

function tables() {
  packed ??= read?.() ?? null;
  return packed;
}

/** What the hardware answers to the number from 1 to 2 whose bits behind the first are given. */
function answer(packed: Uint8Array, table: number, bits: number) {
  FLOAT[0] = TABLES[table](1 + bits / COUNT);
  const beside = packed[(table * COUNT + bits) >> 2] >> (2 * (bits & 3));
  FLOAT_BITS[0] += (beside & 3) - 2;
  return FLOAT[0];
}

/** 2^x, in double precision that holds the hardware's answer. */
export function powerOfTwo(x: number) {
  const packed = tables();
  if (!packed || !Number.isFinite(x)) return 2 ** x;
  const size = Math.floor(Math.min(Math.abs(x), 1024) * COUNT);
  const steps = x < 0 ? -size - 1 : size;
  const whole = Math.floor(steps / COUNT);
  // The table begins at 2^1.
  return (answer(packed, EX2, steps - whole * COUNT) / 2) * 2 ** whole;
}

/** 1/x, in double precision that holds the hardware's answer. */
export function reciprocal(x: number) {
  const packed = tables();
  if (!packed || !Number.isFinite(x) || x === 0) return 1 / x;
  const exponent = exponentOf(x);
  const bits = (Math.abs(x) / 2 ** exponent - 1) * COUNT;
  return Math.sign(x) * answer(packed, RCP, bits) * 2 ** -exponent;
}

/** 1/√x, in double precision that holds the hardware's answer. */
export function reciprocalRoot(x: number) {
  const packed = tables();
  if (!packed || !Number.isFinite(x) || x <= 0) return 1 / Math.sqrt(x);
  const exponent = exponentOf(x);
  const bits = (x / 2 ** exponent - 1) * COUNT;
  const table = exponent & 1 ? RSQRT_OF_2_TO_4 : RSQRT;
  return answer(packed, table, bits) * 2 ** -Math.floor(exponent / 2);
}

/** a/b as the hardware divides: by a product with the reciprocal, rounded twice. */
export function quotient(a: number, b: number) {
  return tables() ? a * Math.fround(reciprocal(b)) : a / b;
}
