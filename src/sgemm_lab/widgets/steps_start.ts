// What a step-through shows first, where no Python has said: steps.py's defaults and refusals.

import { sentence } from "../counting/sentences.ts";
import type { StepTrace } from "../counting/step_trace.ts";
import { LabError } from "../errors.ts";

/**
 * The state of a step-through of a trace: at the failing step where the launch fails, else before
 * the first one. Throws a LabError where there is nothing to step through.
 */
export function startOf(trace: StepTrace) {
  if (!trace.blocks.every((steps) => steps.length)) throw new LabError(sentence("trace.empty"));
  const fails = trace.blocks.map((steps) => steps.findIndex(({ fault }) => fault));
  const block = fails.findIndex((step) => step >= 0);
  return {
    trace,
    step: block < 0 ? 0 : fails[block] + 1,
    block: Math.max(0, block),
    thread: 0,
    who: (block >= 0 ? "block" : "thread") as "thread" | "block",
    left_out: 0,
  };
}
