// What a step-through shows first, where no Python has said: steps.py's defaults and refusals.

import { sentence } from "../counting/sentences.ts";
import type { Walk } from "../counting/step_trace.ts";
import { LabError } from "../errors.ts";

/**
 * The state of a step-through of a walk: at the failing step where the launch fails, else before
 * the first one. Throws a LabError where there is nothing to step through.
 */
export function startOf(walk: Walk) {
  if (!walk.blocks.every((steps) => steps.length)) throw new LabError(sentence("walk.empty"));
  const fails = walk.blocks.map((steps) => steps.findIndex(({ fault }) => fault));
  const block = fails.findIndex((step) => step >= 0);
  // Of parties, that one copies while another multiplies: none of their threads does both.
  const all = block >= 0 || walk.parties.length > 1;
  return {
    walk,
    step: block < 0 ? 0 : fails[block] + 1,
    block: Math.max(0, block),
    thread: 0,
    who: (all ? "block" : "thread") as "thread" | "block",
    cells: "names" as const,
    left_out: 0,
  };
}
