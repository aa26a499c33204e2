// Is a product right? Its inputs are small whole numbers: every product and every sum is then exact
// in a float, in any order, so that C must equal the reference to the last bit.

import type { Size } from "../kernel.ts";

/** Entries are at most this far from zero: with K = 4096 sums stay below 2²⁴. */
const LARGEST = 8;

/**
 * Numbers that are alike in every run: a linear congruential generator, its upper bits. Constants
 * from Numerical Recipes, 2nd edition, chapter 7.1.
 */
function drawing(seed: number) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Whole numbers from −8 to 8. */
export function wholeNumbers(count: number, seed: number) {
  const draw = drawing(seed);
  return new Float32Array(count).map(() => Math.floor(draw() * (2 * LARGEST + 1)) - LARGEST);
}

/** Numbers in ±0.5, such as a product is timed with. */
export function fractions(count: number, seed: number) {
  const draw = drawing(seed);
  return new Float32Array(count).map(() => draw() - 0.5);
}

/**
 * What is wrong with C, in a sentence; null where every element is right.
 * @param a M×K whole numbers
 * @param b K×N whole numbers
 * @param c M×N
 */
export function faultOf(a: Float32Array, b: Float32Array, c: Float32Array, [m, n, k]: Size) {
  for (let row = 0; row < m; row++) {
    for (let col = 0; col < n; col++) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
      const found = c[row * n + col];
      if (found === sum) continue;
      const is = Number.isNaN(found) ? "was not written" : `is ${found}`;
      return `C[${row}][${col}] ${is}; it must be ${sum}.`;
    }
  }
  return null;
}

/**
 * What is wrong with C where `half_windows` made it, of entries up to 1: an element is further off
 * than rounding explains. Two entries are rounded, a product, and up to 32 sums of a window; WGSL
 * lets each be off by a whole unit in the last place, 2⁻¹⁰. What is smaller than 2⁻¹⁴ may become
 * zero: two entries, a product, a sum.
 */
export function faultOfRounded(a: Float32Array, b: Float32Array, c: Float32Array, [m, n, k]: Size) {
  for (let row = 0; row < m; row++) {
    for (let col = 0; col < n; col++) {
      let [sum, scale] = [0, 0];
      for (let i = 0; i < k; i++) {
        const product = a[row * k + i] * b[i * n + col];
        sum += product;
        scale += Math.abs(product);
      }
      const off = Math.abs(c[row * n + col] - sum);
      if (off <= 36 * 2 ** -10 * scale + 4 * 2 ** -14 * k) continue;
      return `C[${row}][${col}] is further off than rounding explains.`;
    }
  }
  return null;
}

/**
 * As faultOf, for matrices so large that a page cannot multiply them: C·x must equal A·(B·x), for a
 * vector x of whole numbers. A wrong row escapes two such x with a chance below one in a million
 * (R. Freivalds, Probabilistic machines can use less running time, 1977).
 */
export function faultOfLarge(a: Float32Array, b: Float32Array, c: Float32Array, [m, n, k]: Size) {
  for (const seed of [1, 2]) {
    const draw = drawing(seed);
    const x = new Float64Array(n).map(() => 1 + Math.floor(draw() * 1000));
    const wanted = times(a, times(b, x, k), m);
    const found = times(c, x, m);
    const row = wanted.findIndex((value, i) => value !== found[i]);
    if (row >= 0) return `Row ${row} of C is wrong.`;
  }
  return null;
}

/** A matrix times a vector. */
function times(matrix: Float32Array, vector: Float64Array, rows: number) {
  const width = vector.length;
  return new Float64Array(rows).map((_, row) => {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += matrix[row * width + i] * vector[i];
    return sum;
  });
}
