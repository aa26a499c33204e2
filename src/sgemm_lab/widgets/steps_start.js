// @ts-check
// What a step-through shows first, where no Python has said: steps.py's defaults and refusals.

import { sentence } from "../counting/sentences.js";
import { LabError } from "../errors.js";

/** @typedef {import("../counting/step_trace.js").Walk} Walk */

/**
 * The state of a step-through of a walk: at the failing step where the launch fails, else before the
 * first one. Throws a LabError where there is nothing to step through.
 * @param {Walk} walk
 */
export function startOf(walk) {
  if (!walk.blocks.every((steps) => steps.length)) throw new LabError(sentence("walk.empty"));
  const outside = walk.blocks.flat().find(({ array }) => array < 0);
  if (outside) throw new LabError(sentence("walk.array", outside));
  const fails = walk.blocks.map((steps) => steps.findIndex(({ fault }) => fault));
  const block = fails.findIndex((step) => step >= 0);
  // Of parties, that one copies while another multiplies: none of their threads does both.
  const all = block >= 0 || walk.parties.length > 1;
  return {
    walk,
    step: block < 0 ? 0 : fails[block] + 1,
    block: Math.max(0, block),
    thread: 0,
    who: /** @type {"thread" | "block"} */ (all ? "block" : "thread"),
    cells: /** @type {const} */ ("names"),
    left_out: 0,
  };
}
