// The steps of a trace in the order of the source: the part of step_trace.ts that puts back in order
// what the compiler has mixed.

import type { Size } from "../kernel.ts";
import { type Entries, PRODUCT } from "./entries.ts";

/**
 * Put the factor of A first, and note in `swapped` where it was not; return which products add to
 * C, and to which row and column. Products with a zero from past an edge add nothing, and are not
 * `whole`.
 */
export function factorsInOrder(entries: Entries, [m, n, k]: Size) {
  const { a, b } = entries;
  entries.swapped = [];
  const [ofA, all] = [m * k, m * k + k * n];
  const whole: boolean[] = [];
  const row: number[] = [];
  const column: number[] = [];
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
 * @param row of each entry
 * @param moves whether a step only uses registers
 */
export function inTheOrderOfTheSource(
  entries: Entries,
  row: number[],
  column: number[],
  steps: number[][],
  moves: (those: number[]) => boolean,
) {
  const order = new Order(entries);
  let now: number | null = null;
  for (const those of steps) {
    const [first] = those;
    if (!moves(those) || entries.epoch[first] !== now) order.write(true);
    now = entries.epoch[first];
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
  ordered: number[][] = [];
  reads: number[][] = [];
  products: number[][] = [];
  /** sums that have their product of this k */
  added: Set<string> = new Set();

  constructor(public entries: Entries) {}

  write(last: boolean) {
    const { line, value, a, b } = this.entries;
    const used = new Set(this.products.flat().flatMap((i) => [a[i], b[i]]));
    used.delete(Number.NaN); // no number is equal to it
    const waits = (those: number[]) =>
      !last && this.products.length > 0 && !those.some((i) => used.has(value[i]));
    const now = this.reads.filter((those) => !waits(those));
    now.sort(([one], [other]) => line[one] - line[other]);
    this.ordered.push(...now, ...this.products);
    this.reads = this.reads.filter(waits);
    this.products = [];
    this.added.clear();
  }
}
