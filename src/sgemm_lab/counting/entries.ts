// The accesses and products of a launch in one table, thread by thread.

import type { Trace } from "../simulator/trace.ts";

/** Stands in the column `array` of a multiply-add. */
export const PRODUCT = -1;

/**
 * What the threads of one block did, one entry per thread and element, in order. The columns are
 * those of a trace without `block`; of a product `element` is -1, `a` and `b` are the factors, and
 * `value` is the sum after it.
 */
export type Entries = Record<string, number[]>;

const SHARED = ["step", "thread", "line", "epoch", "value"];

/**
 * What a block did. Arrays are numbered as in the trace, or as in `arrays`, their names: another
 * launch may meet them in another order.
 */
export function entriesOf(trace: Trace, block: number, arrays: string[] | null = null): Entries {
  const { columns, products } = trace;
  const numbers = arrays && trace.arrays.map(({ name }) => arrays.indexOf(name));
  const numbered = (array: number): number => (numbers ? Number(numbers.at(array)) : array);
  const accessed = placesOf(columns.block, block);
  const made = placesOf(products.block, block);
  const joined: Entries = {
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

/** Numbers of the entries, thread after thread, each in its own order. */
export function byThread({ thread, step }: Entries) {
  return step.map((_, i) => i).sort((i, j) => thread[i] - thread[j] || step[i] - step[j] || i - j);
}

const placesOf = (column: number[], value: number) =>
  column.flatMap((one, i) => (one === value ? [i] : []));
