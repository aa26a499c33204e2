// What the tests ask of walks in JavaScript, as plain data.

import { withoutBarrier } from "../../src/sgemm_lab/counting/barrier_removal.ts";
import { registerNames } from "../../src/sgemm_lab/counting/register_names.ts";
import { walk } from "../../src/sgemm_lab/counting/step_trace.ts";
import { parseKernel } from "../../src/sgemm_lab/kernel.ts";

export const names = registerNames;
export const without = withoutBarrier;

/** A walk, or the sentence of what it throws. */
export function walked(name, source, ptx, size) {
  try {
    return walk(parseKernel(name, source), ptx, size, 60);
  } catch (error) {
    return { raised: error.constructor.name, message: error.message };
  }
}
