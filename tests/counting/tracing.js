// What the tests ask of traces in JavaScript, as plain data.

import { withoutBarrier } from "../../src/sgemm_lab/counting/barrier_removal.ts";
import { registerNames } from "../../src/sgemm_lab/counting/register_names.ts";
import { traceSteps } from "../../src/sgemm_lab/counting/step_trace.ts";
import { parseKernel } from "../../src/sgemm_lab/kernel.ts";

export const names = registerNames;
export const without = withoutBarrier;

/** A trace, or the sentence of what it throws. */
export function traced(name, source, ptx, size) {
  try {
    return traceSteps(parseKernel(name, source), ptx, size, 60);
  } catch (error) {
    return { raised: error.constructor.name, message: error.message };
  }
}
