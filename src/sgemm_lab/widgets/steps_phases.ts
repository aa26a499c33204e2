// The rhythm of a trace: stretches between barriers, and in them runs of steps of one kind.

import { plural } from "../text.ts";
import type { Action, Phase, Stage, Step } from "./steps_types.ts";

/** What a step does. Reads from global memory and copies to shared memory go together. */
function actionOf({ array, store, fault }: Step): Action {
  if (fault) return "fail";
  if (array.space === "register") return "multiply";
  if (array.space === "shared" && !store) return "read";
  return array.name === "C" ? "store" : "copy";
}

/**
 * Runs of steps of one kind; `together` is how many threads have one turn: the next ones begin
 * another run.
 */
export function phasesOf(steps: Step[], together: number) {
  const phases: Phase[] = [];
  steps.forEach((step, i) => {
    const turn = Math.floor((step.entries[0]?.thread ?? 0) / together);
    const { window } = step;
    const [action, now] = [actionOf(step), phases[phases.length - 1]];
    const same = now && now.action === action && now.window === window && now.turn === turn;
    if (same) now.last = i + 1;
    else phases.push({ first: i, last: i + 1, action, turn, window });
  });
  return phases;
}

/** "Product 3 of 16": where a step stands in its phase. */
export function placeInPhase({ first, last, action }: Phase, step: number) {
  const words = { copy: "Copy", read: "Read", multiply: "Product", store: "Store", fail: "Step" };
  return `${words[action]} ${step - first} of ${last - first}`;
}

/** What the steps of a phase do, in a word or two: "16 products". */
export function phaseWords({ first, last, action }: Phase) {
  const count = last - first;
  if (action === "copy" || action === "fail") return action;
  return plural(count, { read: "read", multiply: "product", store: "store" }[action]);
}

/** The stretches between barriers, named by what happens in them. */
export function stagesOf(steps: Step[]) {
  const stages: Stage[] = [];
  steps.forEach((step, i) => {
    if (!i || step.window !== steps[i - 1].window) {
      stages.push({ first: i, last: i, does: new Set(), name: "" });
    }
    const stage = stages[stages.length - 1];
    stage.last = i + 1;
    stage.does.add(actionOf(step));
  });
  nameStages(stages);
  // From the second stage on, the first step of a stage is the one that it begins with.
  for (const stage of stages.slice(1)) stage.first += 1;
  return stages;
}

function nameStages(stages: Stage[]) {
  // K tiles that shared memory was filled with, and that were multiplied.
  let [filled, multiplied] = [-1, -1];
  for (const stage of stages) {
    const { does } = stage;
    const copies = does.has("copy");
    const multiplies = does.has("read");
    if (copies) filled += 1;
    if (multiplies) multiplied += 1;
    const multiply = multiplies && `multiply K tile ${multiplied}`;
    const alone = does.has("multiply") && !multiplies && "multiply";
    const parts = [
      multiplied < filled && multiply,
      copies && (alone ? "load" : `copy K tile ${filled}`),
      multiplied === filled && multiply,
      alone,
      does.has("store") && "store C",
      does.has("fail") && "fail",
    ];
    const words = parts.filter(Boolean).join(", ") || "load";
    stage.name = words[0].toUpperCase() + words.slice(1);
  }
}
