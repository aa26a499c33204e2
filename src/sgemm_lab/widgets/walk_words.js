// @ts-check
// A walk's steps in words.

import { plural } from "../text.js";
import { placeName } from "./walk.js";

/**
 * @typedef {import("./walk.js").Tour} Tour
 * @typedef {import("./walk.js").Seen} Seen
 * @typedef {import("./walk.js").Step} Step
 * @typedef {import("./walk.js").Entry} Entry
 * @typedef {import("./walk.js").WalkedArray} WalkedArray
 */

/**
 * "A[1,3]" for the value of a cell; "0" for padding; "" for nothing.
 * @param {Tour} tour
 * @param {number | null | undefined} value
 */
export function valueName(tour, value) {
  const from = tour.origin.get(value);
  if (from) return `${from.matrix}[${from.row},${from.column}]`;
  if (value === undefined) return "";
  return value === null ? "?" : `${value}`;
}

/**
 * @param {WalkedArray} array
 * @param {Entry} entry
 */
function elementOf({ name, space, shape }, { row, column }) {
  if (space === "global") return `${name}[${row},${column}]`;
  if (shape.length < 3) return `${name}[${row}][${column}]`;
  const rows = shape[shape.length - 2];
  return `${name}[${Math.floor(row / rows)}][${row % rows}][${column}]`;
}

/**
 * What the last step did, in a sentence.
 * @param {Tour} tour
 * @param {Seen} seen
 */
export function stepWords(tour, seen) {
  const { now, step } = seen;
  if (!now) return "Nothing has happened yet. Press Play, or go step by step.";
  const before = tour.steps[step - 2];
  const met = before !== undefined && before.window !== now.window;
  const wall = met ? "All threads have met at the barrier. " : "";
  if (now.fault) return `${wall}Here the launch fails: no block gets any further.`;
  const words = seen.who === "thread" ? threadWords(tour, seen, now) : manyWords(tour, seen, now);
  return `${wall}${words}`;
}

/**
 * What one thread did.
 * @param {Tour} tour
 * @param {Seen} seen
 * @param {Step} now
 */
function threadWords(tour, { thread, acting }, { array, store, entries }) {
  const memory = memoryName(array);
  const name = `Thread ${placeName(thread, tour.walk.block)}`;
  if (!acting.length) {
    const others = new Set(entries.map((entry) => entry.thread)).size;
    const does = `${store ? "write" : "read"}${others === 1 ? "s" : ""}`;
    return (
      `${name} does nothing here; ${plural(others, "other thread")} ${does} ` +
      `${array.name} in ${memory}.`
    );
  }
  const list = listed(acting.map((entry) => elementOf(array, entry)));
  const names = [...new Set(acting.map(({ value }) => valueName(tour, value)))];
  if (store && array.name !== "C") return `${name} writes ${listed(names)} to ${list}.`;
  if (store) return `${name} writes ${list} to ${memory}.`;
  const copies = array.space === "shared" ? `: ${names.join(", ")}` : "";
  return `${name} reads ${list} from ${memory}${copies}.`;
}

/**
 * What a warp or a block did.
 * @param {Tour} tour
 * @param {Seen} seen
 * @param {Step} now
 */
function manyWords(tour, { acting }, { array, store }) {
  const threads = new Set(acting.map((entry) => entry.thread)).size;
  const elements = new Set(acting.map((entry) => entry.key)).size;
  const does = `${store ? "write" : "read"}${threads === 1 ? "s" : ""}`;
  return (
    `${whoWords(acting, tour.walk.block)} ${does} ${plural(elements, "element")} of ${array.name} ` +
    `${store ? "to" : "from"} ${memoryName(array)}.`
  );
}

/** @param {WalkedArray} array */
function memoryName({ space }) {
  return space === "shared" ? "shared memory" : "global memory";
}

/**
 * Up to four names, or the first and the last.
 * @param {string[]} names
 */
function listed(names) {
  return names.length > 4 ? `${names[0]} to ${names.at(-1)}` : names.join(", ");
}

/**
 * "Thread (1, 0)", "4 threads, (0, 0) to (3, 0)," or, where they do not follow each other, their
 * number.
 * @param {Entry[]} acting
 * @param {[across: number, down: number]} block
 */
function whoWords(acting, block) {
  const numbers = [...new Set(acting.map(({ thread }) => thread))].sort((a, b) => a - b);
  const names = numbers.map((number) => placeName(number, block));
  const [first, last] = [numbers[0], numbers[numbers.length - 1]];
  if (names.length === 1) return `Thread ${names[0]}`;
  if (last - first === numbers.length - 1) {
    return `${numbers.length} threads, ${names[0]} to ${names.at(-1)},`;
  }
  if (names.length > 4) return `${numbers.length} threads`;
  return `Threads ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/**
 * What is wrong with the last step, or after the last one with the kernel.
 * @param {Tour} tour
 * @param {Seen} seen
 */
export function dangerWords(tour, { now, racing, step }) {
  if (now?.fault) return now.fault;
  if (!now || !racing.length) return step === tour.steps.length ? tour.walk.problems.join(" ") : "";
  const [entry] = racing;
  const place = elementOf(now.array, entry);
  if (entry.unwritten || entry.racing === undefined) return `Nothing has written ${place} yet.`;
  const other = placeName(entry.racing, tour.walk.block);
  return (
    `No barrier stands between this read of ${place} and the write of thread ${other} to it: which ` +
    "comes first is chance."
  );
}
