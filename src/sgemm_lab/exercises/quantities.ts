// What a launch of a kernel asks of memory, counted: in Python counts() of kernel_counts.py.

import { Drawing } from "../checking/drawing.ts";
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
  const random = new Drawing(m + 3 * n + 7 * k);
  const drawn = (count: number) => Float32Array.from(random.integers(-MOST, MOST, count));
  const a = { rows: m, columns: k, values: drawn(m * k) };
  const b = { rows: k, columns: n, values: drawn(k * n) };
  const launched = launchArguments(shape, a, b, null);
  return simulate(ptx, ENTRY, shape.grid, shape.block, launched, {
    ...launchOptions(kernel, shape, size),
    checkHazards: false,
    timeLimit,
  }).counts;
}
