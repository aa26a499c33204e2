// @ts-check
// The steps of a walk in the order of the source: of walk.py the part that puts back in order what
// the compiler has mixed.

import { PRODUCT } from "./entries.py";

/** @typedef {import("./entries.js").Entries} Entries */

/**
 * Put the factor of A first, and note in `swapped` where it was not; tell which products add to C, and to which row and column. Products
 * with a zero from past an edge add nothing, and are not `whole`.
 * @param {Entries} entries
 * @param {import("../kernel.js").Size} size
 */
export function factorsInOrder(entries, [m, n, k]) {
  const { a, b } = entries;
  entries.swapped = [];
  const [ofA, all] = [m * k, m * k + k * n];
  /** @type {boolean[]} */
  const whole = [];
  /** @type {number[]} */
  const row = [];
  /** @type {number[]} */
  const column = [];
  for (let i = 0; i < a.length; i++) {
    const swapped = (a[i] > ofA && a[i] <= all) || (b[i] > 0 && b[i] <= ofA);
    entries.swapped.push(Number(swapped));
    if (swapped) [a[i], b[i]] = [b[i], a[i]];
    const known = a[i] > 0 && a[i] <= ofA && b[i] > ofA && b[i] <= all;
    const inA = known ? Math.trunc(a[i] - 1) : 0;
    const inB = known ? Math.trunc(b[i] - ofA - 1) : 0;
    row.push(Math.floor(inA / k));
    column.push(inB % n);
    whole.push(known && inA % k === Math.floor(inB / n));
  }
  return { whole, row, column };
}

/**
 * Put what the compiler has mixed back in order: reads of one k, then its products.
 * @param {Entries} entries
 * @param {number[]} row of each entry
 * @param {number[]} column
 * @param {number[][]} steps
 * @param {(those: number[]) => boolean} moves whether a step only uses registers
 * @param {(those: number[]) => number} turnOf of whom a step is, and when: others wait for a barrier
 */
export function inTheOrderOfTheSource(entries, row, column, steps, moves, turnOf) {
  const order = new Order(entries);
  /** @type {number | null} */
  let turn = null;
  for (const those of steps) {
    const [first] = those;
    if (!moves(those) || turnOf(those) !== turn) order.write(true);
    turn = turnOf(those);
    if (!moves(those)) order.ordered.push(those);
    else if (entries.array[first] !== PRODUCT) order.reads.push(those);
    else {
      const sums = those.map((i) => `${entries.thread[i]} ${row[i]} ${column[i]}`);
      if (sums.some((sum) => order.added.has(sum))) order.write(false);
      order.products.push(those);
      for (const sum of sums) order.added.add(sum);
    }
  }
  order.write(true);
  return order.ordered;
}

/** Steps in order, and those that wait for their place. */
class Order {
  /** @param {Entries} entries */
  constructor(entries) {
    this.entries = entries;
    /** @type {number[][]} */
    this.ordered = [];
    /** @type {number[][]} */
    this.reads = [];
    /** @type {number[][]} */
    this.products = [];
    /** @type {Set<string>} sums that have their product of this k */
    this.added = new Set();
  }

  /** @param {boolean} last */
  write(last) {
    const { line, value, a, b } = this.entries;
    const used = new Set(this.products.flat().flatMap((i) => [a[i], b[i]]));
    used.delete(Number.NaN); // no number is equal to it
    /** @param {number[]} those */
    const waits = (those) =>
      !last && this.products.length > 0 && !those.some((i) => used.has(value[i]));
    const now = this.reads.filter((those) => !waits(those));
    now.sort(([one], [other]) => line[one] - line[other]);
    this.ordered.push(...now, ...this.products);
    this.reads = this.reads.filter(waits);
    this.products = [];
    this.added.clear();
  }
}
