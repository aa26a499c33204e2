// @ts-check
// What a walk's steps mean: which element a value is a copy of, who reads what nobody has written
// yet, what a thread holds.

import { WARP } from "../hardware.py";

/**
 * A walk as counting/walk.py gives it.
 * @typedef {object} WalkedArray
 * @property {string} name
 * @property {"global" | "shared"} space
 * @property {number[]} shape
 * @property {number} rows
 * @property {number} columns
 *
 * @typedef {object} WalkedStep
 * @property {number} line
 * @property {number} window
 * @property {number} array
 * @property {boolean} store
 * @property {number[]} threads
 * @property {number[]} rows
 * @property {number[]} columns
 * @property {(number | null)[]} values
 * @property {string} fault
 *
 * @typedef {object} Walk
 * @property {[m: number, n: number, k: number]} size
 * @property {[across: number, down: number]} grid
 * @property {[across: number, down: number]} block
 * @property {string[]} source
 * @property {number} first_line
 * @property {number[]} a
 * @property {number[]} b
 * @property {WalkedArray[]} arrays
 * @property {WalkedStep[][]} blocks
 * @property {string[]} problems
 *
 * What one thread does to one element; `racing` is a thread that writes it in the same window.
 * @typedef {object} Entry
 * @property {number} thread
 * @property {number} row
 * @property {number} column
 * @property {number | null} value
 * @property {string} key of the cell
 * @property {number} [racing]
 * @property {boolean} [unwritten]
 *
 * @typedef {{ line: number, window: number, store: boolean, fault: string }} StepHead
 * @typedef {StepHead & { array: WalkedArray, entries: Entry[] }} Step
 * @typedef {"A" | "B"} Matrix
 *
 * The element of A or B that holds a value, `index` its place there.
 * @typedef {{ matrix: Matrix, index: number, row: number, column: number }} Origin
 *
 * The stretch between two barriers; `first` is the step before it.
 * @typedef {object} Stage
 * @property {number} first
 * @property {number} last
 * @property {Set<Deed>} does
 * @property {boolean} fails
 * @property {string} name
 * @typedef {"store C" | "load" | "copy" | "multiply"} Deed
 *
 * Elements of A and B that a thread has read to multiply, and the place along K of the last ones.
 * @typedef {{ A: Set<number>, B: Set<number>, k: Record<Matrix, number> }} Held
 *
 * @typedef {"thread" | "warp" | "block"} Who
 * @typedef {ReturnType<typeof understand>} Tour
 * @typedef {ReturnType<typeof stateAt>} Seen
 */

/**
 * "(1, 0)": the place of a thread in its block, or of a block in its grid.
 * @param {number} number
 * @param {[across: number, down: number]} sides
 */
export function placeName(number, [across]) {
  return `(${number % across}, ${Math.floor(number / across)})`;
}

/** @type {(array: string, row: number, column: number) => string} */
export const cellKey = (array, row, column) => `${array}:${row}:${column}`;

/**
 * One block's steps with all that does not depend on the step shown.
 * @param {Walk} walk
 * @param {number} block
 */
export function understand(walk, block) {
  const [m, n, k] = walk.size;
  const origin = originsOf(walk);
  const all = walk.blocks[block].map((step) => unfold(walk, step));
  // The launch ends where it fails. What would have followed still tells which thread computes what.
  const fails = all.findIndex(({ fault }) => fault);
  const steps = fails < 0 ? all : all.slice(0, fails + 1);
  markRaces(steps);
  const { owner, most } = ownersOf(all);
  return {
    ...{ walk, block, m, n, k, origin, steps, owner, most },
    operandSpace: { A: operandSpace(all, origin, "A"), B: operandSpace(all, origin, "B") },
    unsafe: walk.problems.length > 0 || steps.some(isUnsafe),
    stages: stagesOf(steps),
  };
}

/** @param {Walk} walk */
function originsOf({ size: [, n, k], a, b }) {
  /** @type {Map<number | null | undefined, Origin>} */
  const origin = new Map();
  a.forEach((value, index) => {
    origin.set(value, { matrix: "A", index, row: Math.floor(index / k), column: index % k });
  });
  b.forEach((value, index) => {
    origin.set(value, { matrix: "B", index, row: Math.floor(index / n), column: index % n });
  });
  return origin;
}

/**
 * @param {Walk} walk
 * @param {WalkedStep} step
 * @returns {Step}
 */
function unfold(walk, { line, window, store, fault, ...step }) {
  const array = walk.arrays[step.array];
  const entries = step.threads.map((thread, i) => {
    const [row, column] = [step.rows[i], step.columns[i]];
    return { thread, row, column, value: step.values[i], key: cellKey(array.name, row, column) };
  });
  return { line, window, store, fault, array, entries };
}

/**
 * Mark the reads of shared memory that another thread writes in the same window: it must wait for
 * a barrier. And those of what nobody has written.
 * @param {Step[]} steps
 */
function markRaces(steps) {
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
      const other = [...those].find((one) => one !== entry.thread);
      if (other !== undefined) entry.racing = other;
      if (entry.value === null) entry.unwritten = true;
    }
  }
}

/**
 * Products are made of what comes out of shared memory, where the kernel uses it.
 * @param {Step[]} steps
 * @param {Map<number | null | undefined, Origin>} origin
 * @param {Matrix} matrix
 */
function operandSpace(steps, origin, matrix) {
  const reads = steps.filter(({ array, store }) => array.space === "shared" && !store);
  const used = reads.some(({ entries }) =>
    entries.some(({ value }) => origin.get(value)?.matrix === matrix),
  );
  return used ? "shared" : "global";
}

/**
 * Which thread computes an element of C, and the most rows or columns that a thread has of it.
 * @param {Step[]} steps
 */
function ownersOf(steps) {
  /** @type {Map<string, number>} */
  const owner = new Map();
  /** @type {Map<number, { rows: Set<number>, columns: Set<number> }>} by thread */
  const reach = new Map();
  for (const { entries } of steps.filter(({ store, array }) => store && array.name === "C")) {
    for (const { thread, row, column, key } of entries) {
      owner.set(key, thread);
      const mine = reach.get(thread) ?? { rows: new Set(), columns: new Set() };
      mine.rows.add(row);
      mine.columns.add(column);
      reach.set(thread, mine);
    }
  }
  const sides = [...reach.values()].map(({ rows, columns }) => Math.max(rows.size, columns.size));
  return { owner, most: Math.max(1, ...sides) };
}

/**
 * Whether a step reads shared memory that another thread writes in the same window, or nobody.
 * @param {Step} step
 */
export function isUnsafe({ entries }) {
  return entries.some(({ racing, unwritten }) => racing !== undefined || unwritten);
}

/**
 * The stretches between barriers, named by what happens in them.
 * @param {Step[]} steps
 */
function stagesOf(steps) {
  /** @type {Stage[]} */
  const stages = [];
  steps.forEach((step, i) => {
    if (!i || step.window !== steps[i - 1].window) {
      stages.push({ first: i, last: i, does: new Set(), fails: false, name: "" });
    }
    const stage = stages[stages.length - 1];
    stage.last = i + 1;
    stage.fails ||= Boolean(step.fault);
    stage.does.add(deedOf(step));
  });
  nameStages(stages);
  // From the second stage on, the first step of a stage is the one that it begins with.
  for (const stage of stages.slice(1)) stage.first += 1;
  return stages;
}

/**
 * @param {Step} step
 * @returns {Deed}
 */
function deedOf({ array, store }) {
  if (array.name === "C") return "store C";
  if (array.space === "global") return "load";
  return store ? "copy" : "multiply";
}

/** @param {Stage[]} stages */
function nameStages(stages) {
  // Windows of K that shared memory was filled with, and that were multiplied.
  let [filled, multiplied] = [-1, -1];
  for (const stage of stages) {
    const { does, fails } = stage;
    if (does.has("copy")) filled += 1;
    if (does.has("multiply")) multiplied += 1;
    const multiply = does.has("multiply") && `multiply window ${multiplied}`;
    const parts = [
      multiplied < filled && multiply,
      does.has("copy") && `copy window ${filled}`,
      multiplied === filled && multiply,
      does.has("store C") && (filled < 0 ? "multiply, store C" : "store C"),
      fails && "fail",
    ];
    const words = parts.filter(Boolean).join(", ") || "load";
    stage.name = words[0].toUpperCase() + words.slice(1);
  }
}

/**
 * Memory, and what the threads hold, after `step` steps; and what the last of them did.
 * @param {Tour} tour
 * @param {number} step
 * @param {number} thread
 * @param {Who} who
 */
export function stateAt(tour, step, thread, who) {
  /** @param {Entry} entry */
  const chosen = ({ thread: other }) => {
    if (who === "warp") return Math.floor(other / WARP) === Math.floor(thread / WARP);
    return who === "block" || other === thread;
  };
  /** @type {Step | undefined} */
  const now = tour.steps[step - 1];
  const entries = now?.entries ?? [];
  const acting = entries.filter(chosen);
  const does = now?.fault ? "fault" : now?.store ? "write" : "read";
  /** @type {Map<string, "fault" | "write" | "read" | "other">} cell → what is done to it */
  const lit = new Map();
  for (const { key } of entries) lit.set(key, "other"); // by threads that are not chosen
  for (const { key } of acting) lit.set(key, does);
  const racing = acting.filter((entry) => entry.racing !== undefined || entry.unwritten);
  return { step, now, thread, who, lit, racing, acting, ...memoryAt(tour, step) };
}

/**
 * @param {Tour} tour
 * @param {number} step
 */
function memoryAt(tour, step) {
  /** @type {Map<string, number | null>} cell → value */
  const shared = new Map();
  /** @type {Set<string>} elements of C */
  const stored = new Set();
  /** @type {Map<number, Held>} by thread */
  const held = new Map();
  for (const { array, store, entries, fault } of tour.steps.slice(0, step)) {
    if (fault) break;
    for (const { key, value, thread } of entries) {
      if (store && array.space === "shared") shared.set(key, value);
      else if (store) stored.add(key);
      else {
        const from = tour.origin.get(value);
        if (!from || tour.operandSpace[from.matrix] !== array.space) continue;
        const mine = held.get(thread) ?? { A: new Set(), B: new Set(), k: { A: -1, B: -1 } };
        mine[from.matrix].add(from.index);
        mine.k[from.matrix] = from.matrix === "A" ? from.column : from.row;
        held.set(thread, mine);
      }
    }
  }
  return { shared, stored, held };
}

/**
 * How far a thread is with an element of C: products made so far, and their sum.
 * @param {Tour} tour
 * @param {Held | undefined} held
 * @param {number} row
 * @param {number} column
 */
export function sumOf({ walk, n, k }, held, row, column) {
  let count = 0;
  let sum = 0;
  for (let i = 0; held && i < k; i++) {
    if (!held.A.has(row * k + i) || !held.B.has(i * n + column)) continue;
    count += 1;
    sum += walk.a[row * k + i] * walk.b[i * n + column];
  }
  return { count, sum };
}
