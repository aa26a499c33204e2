// What a launch of a kernel asks of memory, counted: in Python counts() of kernel_counts.py.

import { RandomState } from "../checking/random.ts";
import { checkSize, launchArguments, launchOptions } from "../counting/kernel_counts.ts";
import { ENTRY, type Kernel, launchShape, type Size } from "../kernel.ts";
import { simulate } from "../simulator/simulation.ts";

const MOST = 8;

/**
 * What one launch on small whole numbers asks of memory. Throws a LabError where it cannot be.
 * @param timeLimit in seconds
 */
export function countsOf(kernel: Kernel, ptx: string, size: Size, timeLimit: number) {
  checkSize(size);
  const [m, n, k] = size;
  const shape = launchShape(kernel, size);
  const random = new RandomState(m + 3 * n + 7 * k);
  const a = { rows: m, columns: k, values: random.integers(-MOST, MOST + 1, m * k) };
  const b = { rows: k, columns: n, values: random.integers(-MOST, MOST + 1, k * n) };
  const launched = launchArguments(shape, a, b, null);
  return simulate(ptx, ENTRY, shape.grid, shape.block, launched, {
    ...launchOptions(kernel, shape, size),
    checkHazards: false,
    timeLimit,
  }).counts;
}
