// What the tests ask of walks in JavaScript, as plain data.

import { withoutBarrier } from "../../src/sgemm_lab/counting/barrier_removal.js";
import { registerNames } from "../../src/sgemm_lab/counting/register_names.js";
import { walk } from "../../src/sgemm_lab/counting/step_trace.js";
import { parseKernel } from "../../src/sgemm_lab/kernel.js";

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
