// What is wrong with a step: reads that nothing orders, and what they do to products and sums.

import type { Entry, Step } from "./steps_types.ts";

/**
 * "unsafe": it read what another thread writes in the same window, or what nobody has written;
 * "wrong": what it read, multiplied or stored is not what it would be with all barriers.
 */
type Trouble = "none" | "unsafe" | "wrong";

/**
 * Mark the reads of shared memory that another thread writes in the same window: it must wait for
 * a barrier. And those of what nobody has written.
 */
export function markRaces(steps: Step[]) {
  const shared = steps.filter(({ array }) => array.space === "shared");
  /** window and cell → the threads that write it */
  const writers: Map<string, Set<number>> = new Map();
  for (const { window, entries } of shared.filter(({ store }) => store)) {
    for (const { key, thread } of entries) {
      const place = `${window}/${key}`;
      writers.set(place, (writers.get(place) ?? new Set()).add(thread));
    }
  }
  for (const { window, entries } of shared.filter(({ store, fault }) => !store && !fault)) {
    for (const entry of entries) {
      const those = writers.get(`${window}/${entry.key}`) ?? [];
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
