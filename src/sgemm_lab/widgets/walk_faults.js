// @ts-check
// What is wrong with a step: reads that nothing orders, and what they do to products and sums.

/**
 * @typedef {import("./walk_steps.js").Step} Step
 * @typedef {import("./walk_steps.js").Entry} Entry
 *
 * "unsafe": it read what another thread writes in the same window, or what nobody has written;
 * "wrong": what it read, multiplied or stored is not what it would be with all barriers.
 * @typedef {"none" | "unsafe" | "wrong"} Trouble
 */

/**
 * Mark the reads of shared memory that another thread writes in the same window: it must wait for
 * a barrier. And those of what nobody has written.
 * @param {Step[]} steps
 * @param {number} together threads in a row that need no barrier among them
 */
export function markRaces(steps, together) {
  const shared = steps.filter(({ array }) => array.space === "shared");
  /** @type {Map<string, Set<number>>} window and cell → the threads that write it */
  const writers = new Map();
  for (const { window, entries } of shared.filter(({ store }) => store)) {
    for (const { key, thread } of entries) {
      const place = `${window}/${key}`;
      writers.set(place, (writers.get(place) ?? new Set()).add(thread));
    }
  }
  for (const { window, entries } of shared.filter(({ store, fault }) => !store && !fault)) {
    for (const entry of entries) {
      const those = writers.get(`${window}/${entry.key}`) ?? [];
      const mine = Math.floor(entry.thread / together);
      const other = [...those].find((one) => Math.floor(one / together) !== mine);
      if (other !== undefined) entry.racing = other;
      if (entry.value === null) entry.unwritten = true;
    }
  }
}

/** @param {Entry} entry */
export const isWrong = ({ value, meant }) => value !== meant;

/**
 * Whether a product itself is wrong, not only the sum that it is added to.
 * @param {Entry} entry
 */
export const hasWrongFactor = ({ factors }) =>
  factors !== undefined && [factors.A, factors.B].some(({ value, meant }) => value !== meant);

/**
 * @param {Step} step
 * @returns {Trouble}
 */
export function faultIn({ entries }) {
  if (entries.some(isWrong)) return "wrong";
  const racing = entries.some(({ racing, unwritten }) => racing !== undefined || unwritten);
  return racing ? "unsafe" : "none";
}

/**
 * The first step that reads a wrong value, and the thread that does; nothing if all come out right.
 * @param {Step[]} steps
 * @returns {{ step: number, thread: number } | undefined}
 */
export function firstWrong(steps) {
  const at = steps.findIndex(({ entries, store }) => !store && entries.some(isWrong));
  const entry = steps[at]?.entries.find(isWrong);
  return entry && { step: at + 1, thread: entry.thread };
}

/**
 * Why a cell of shared memory does not hold what a step should find: who has not yet written it, or
 * who has overwritten it.
 * @param {Step[]} steps
 * @param {number} step
 * @param {Entry} entry
 * @returns {{ early: boolean, other: number } | undefined}
 */
export function causeOf(steps, step, { key, meant }) {
  /** @param {Step} one */
  const writes = ({ array, store }) => store && array.space === "shared";
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
