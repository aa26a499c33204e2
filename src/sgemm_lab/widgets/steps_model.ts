// The steps of a trace: what one is, what is wrong with it, and the rhythm of them all: stretches between
// barriers, and in them runs of steps of one kind.

import type { TracedArray } from "../counting/step_trace.ts";
import { plural } from "../text.ts";

/**
 * What one thread does to one element. `meant` is the value that it would have with all barriers,
 * `racing` a thread that writes it in the same epoch. Of a product, `key` is the element of C,
 * `value` the sum after it, and `a` and `b` are its factors.
 */
export interface Entry {
  thread: number;
  row: number;
  column: number;
  value: number | null;
  meant: number | null;
  /** of the cell */
  key: string;
  factors?: Factors;
  racing?: number;
  unwritten?: boolean;
}

export type Factors = Record<Matrix, Register>;

export interface Register {
  value: number | null;
  meant: number | null;
}

/** `of` is the number of the step with all barriers. */
interface StepHead {
  line: number;
  epoch: number;
  store: boolean;
  fault: string;
  of: number;
}

export type Step = StepHead & { array: TracedArray; entries: Entry[] };

export type Matrix = "A" | "B";

/** The element of A or B that holds a value. */
export interface Origin {
  matrix: Matrix;
  row: number;
  column: number;
}

/** Where values come from. */
export type Origins = Map<number | null | undefined, Origin>;

type Action = "copy" | "read" | "multiply" | "store" | "fail";

/** Steps of one kind in a row; `first` is the step before them. */
interface Phase {
  first: number;
  last: number;
  action: Action;
  turn: number;
  epoch: number;
}

/** The stretch between two barriers; `first` is the step before it. */
interface Stage {
  first: number;
  last: number;
  does: Set<Action>;
  name: string;
}

/**
 * "unsafe": it read what another thread writes in the same epoch, or what nobody has written;
 * "wrong": what it read, multiplied or stored is not what it would be with all barriers.
 */
type Trouble = "none" | "unsafe" | "wrong";

/**
 * Mark the reads of shared memory that another thread writes in the same epoch: it must wait for
 * a barrier. And those of what nobody has written.
 */
export function markRaces(steps: Step[]) {
  const shared = steps.filter(({ array }) => array.space === "shared");
  /** epoch and cell → the threads that write it */
  const writers: Map<string, Set<number>> = new Map();
  for (const { epoch, entries } of shared.filter(({ store }) => store)) {
    for (const { key, thread } of entries) {
      const place = `${epoch}/${key}`;
      writers.set(place, (writers.get(place) ?? new Set()).add(thread));
    }
  }
  for (const { epoch, entries } of shared.filter(({ store, fault }) => !store && !fault)) {
    for (const entry of entries) {
      const those = writers.get(`${epoch}/${entry.key}`) ?? [];
      const other = [...those].find((one) => one !== entry.thread);
      if (other !== undefined) entry.racing = other;
      if (entry.value === null) entry.unwritten = true;
    }
  }
}

export const isWrong = ({ value, meant }: Entry) => value !== meant;

/** Whether a product itself is wrong, not only the sum that it is added to. */
export const hasWrongFactor = ({ factors }: Entry) =>
  factors !== undefined && [factors.A, factors.B].some(({ value, meant }) => value !== meant);

export function faultIn({ entries }: Step): Trouble {
  if (entries.some(isWrong)) return "wrong";
  const racing = entries.some(({ racing, unwritten }) => racing !== undefined || unwritten);
  return racing ? "unsafe" : "none";
}

/**
 * The first step that reads a wrong value, and the thread that does; nothing if all come out right.
 */
export function firstWrong(steps: Step[]): { step: number; thread: number } | undefined {
  const at = steps.findIndex(({ entries, store }) => !store && entries.some(isWrong));
  const entry = steps[at]?.entries.find(isWrong);
  return entry && { step: at + 1, thread: entry.thread };
}

/**
 * Why a cell of shared memory does not hold what a step should find: which thread has not yet written it,
 * or has overwritten it.
 */
export function causeOf(
  steps: Step[],
  step: number,
  { key, meant }: Entry,
): { early: boolean; other: number } | undefined {
  const writes = ({ array, store }: Step) => store && array.space === "shared";
  const before = steps
    .slice(0, step - 1)
    .filter(writes)
    .reverse();
  const written = before.flatMap(({ entries }) => entries.filter((one) => one.key === key));
  const late = written.some((one) => one.value === meant);
  if (late) return { early: false, other: written[0].thread };
  const after = steps.slice(step).filter(writes);
  const comes = after.flatMap(({ entries }) => entries.filter((one) => one.key === key));
  const writer = comes.find((one) => one.value === meant);
  return writer && { early: true, other: writer.thread };
}

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
    const { epoch } = step;
    const [action, now] = [actionOf(step), phases[phases.length - 1]];
    const same = now && now.action === action && now.epoch === epoch && now.turn === turn;
    if (same) now.last = i + 1;
    else phases.push({ first: i, last: i + 1, action, turn, epoch });
  });
  return phases;
}

/** "Product 3 of 16": where a step stands in its phase, if it has several. */
export function placeInPhase({ first, last, action }: Phase, step: number) {
  const words = { copy: "Access", read: "Read", multiply: "Product", store: "Store", fail: "Step" };
  const count = last - first;
  return count > 1 ? `${words[action]} ${step - first} of ${count}` : words[action];
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
    if (!i || step.epoch !== steps[i - 1].epoch) {
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
