// Every program at sizes that do not fit its tiles, against exact products: the inputs are small whole
// numbers, so that every sum is exact in a float, in any order.

import { LabError } from "../errors.ts";
import type { Kernel as Program, Size } from "../kernel.ts";
import { sizeText } from "../text.ts";
import { type Compiled, Product } from "./products.ts";
import type { Card } from "./webgpu_device.ts";

/** One element, full tiles of several blocks, less than a tile; K and N multiples of 4 and not. */
const AWKWARD_SIZES: Size[] = [
  [1, 1, 1],
  [3, 5, 7],
  [256, 256, 24],
  [33, 7, 129],
  [97, 203, 61],
  [130, 4, 6],
  [129, 132, 20],
];

/** Run a program at every awkward size. Throws a LabError that names the size where it is wrong. */
export async function check(card: Card, program: Program, compiled: Compiled) {
  for (const size of AWKWARD_SIZES) {
    const [m, n, k] = size;
    const [a, b] = [wholeNumbers(m * k, m), wholeNumbers(k * n, n + 1)];
    const product = await Product.on(card, size);
    product.fill(a, b);
    const fault = faultOf(a, b, await product.result(program, compiled), size);
    product.free();
    if (fault) throw new LabError(`${program.name} is wrong at ${sizeText(size)}: ${fault}`);
  }
}

/** Entries are at most this far from zero, so that sums stay far below 2²⁴. */
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
function wholeNumbers(count: number, seed: number) {
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
function faultOf(a: Float32Array, b: Float32Array, c: Float32Array, [m, n, k]: Size) {
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
