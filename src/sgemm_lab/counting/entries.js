// @ts-check
// The accesses and products of a launch in one table, thread by thread: entries.py in JavaScript.

import { PRODUCT } from "./entries.py";

/** @typedef {import("../simulator/trace.js").Trace} Trace */
/**
 * What the threads of one block did, one entry per thread and element, in order: entries.py tells
 * what the columns hold.
 * @typedef {Record<string, number[]>} Entries
 */

const SHARED = ["step", "thread", "line", "window", "value"];

/**
 * What a block did. Arrays are numbered as in the trace, or as in `arrays`, their names: another
 * launch may meet them in another order.
 * @param {Trace} trace
 * @param {number} block
 * @param {string[] | null} [arrays]
 * @returns {Entries}
 */
export function entriesOf(trace, block, arrays = null) {
  const { columns, products } = trace;
  const numbers = arrays && trace.arrays.map(({ name }) => arrays.indexOf(name));
  /** @type {(array: number) => number} */
  const numbered = (array) => (numbers ? Number(numbers.at(array)) : array);
  const accessed = placesOf(columns.block, block);
  const made = placesOf(products.block, block);
  /** @type {Entries} */
  const joined = {
    array: [...accessed.map((i) => numbered(columns.array[i])), ...made.map(() => PRODUCT)],
    element: [...accessed.map((i) => columns.element[i]), ...made.map(() => -1)],
    store: [...accessed.map((i) => columns.store[i]), ...made.map(() => 1)],
  };
  for (const name of SHARED) {
    joined[name] = [
      ...accessed.map((i) => columns[name][i]),
      ...made.map((i) => products[name][i]),
    ];
  }
  for (const name of ["a", "b"]) {
    joined[name] = [...accessed.map(() => Number.NaN), ...made.map((i) => products[name][i])];
  }
  const order = joined.step.map((_, i) => i).sort((i, j) => joined.step[i] - joined.step[j]);
  return Object.fromEntries(
    Object.entries(joined).map(([name, column]) => [name, order.map((i) => column[i])]),
  );
}

/**
 * Numbers of the entries, thread after thread, each in its own order.
 * @param {Entries} entries
 */
export function byThread({ thread, step }) {
  return step.map((_, i) => i).sort((i, j) => thread[i] - thread[j] || step[i] - step[j] || i - j);
}

/**
 * @param {number[]} column
 * @param {number} value
 */
const placesOf = (column, value) => column.flatMap((one, i) => (one === value ? [i] : []));
