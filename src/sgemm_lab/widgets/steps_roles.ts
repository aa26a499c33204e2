// Warps that wait for each other in parts: what each role does in a window of time, and what the
// others do meanwhile.

import type { Origins, Stage, Step } from "./steps_types.ts";

/**
 * "warps 8–11", "warp 3", or "warps 0, 2, 4".
 * @param warps in order
 */
export function roleName(warps: number[]) {
  const [first, last] = [warps[0], warps[warps.length - 1]];
  if (first === last) return `warp ${first}`;
  const row = last - first === warps.length - 1;
  return `warps ${row ? `${first}–${last}` : warps.join(", ")}`;
}

/** Name stages by what happens in them, and by whom where there are several roles. */
export function nameRoleStages(stages: Stage[], steps: Step[], roles: number[][], origin: Origins) {
  const filled = filledWindows(stages, steps, origin);
  /** of which role the product of which window has begun */
  const begun: Set<string> = new Set();
  for (const stage of stages) {
    const words = deedsIn(stage, steps, origin, filled, begun);
    const who = roleName(roles[stage.role]);
    stage.name = capital(roles.length > 1 ? `${who}: ${words}` : words);
  }
}

export const capital = (words: string) => words[0].toUpperCase() + words.slice(1);

/** The k of elements of A and B, by their values. */
function ksOf(values: (number | null | undefined)[], origin: Origins) {
  const found = values.map((value) => origin.get(value)).filter((one) => one !== undefined);
  return new Set(found.map(({ matrix, row, column }) => (matrix === "A" ? column : row)));
}

const fills = ({ array, store }: Step) => array.space === "shared" && store;

/** The k of all elements that a stage copies to shared memory. */
function copiedBy(made: Step[], origin: Origins) {
  const values = made.filter(fills).flatMap(({ entries }) => entries.map(({ meant }) => meant));
  return ksOf(values, origin);
}

/**
 * For each k the number of the window that brought it to shared memory. Roles that copy at the
 * same time fill the same one.
 */
function filledWindows(stages: Stage[], steps: Step[], origin: Origins) {
  const filled: Map<number, number> = new Map();
  /** windows of time in which something is copied */
  const times: number[] = [];
  for (const { first, last, window } of stages) {
    const copied = copiedBy(steps.slice(first, last), origin);
    if (copied.size && !times.includes(window)) times.push(window);
    for (const k of copied) filled.set(k, filled.get(k) ?? times.indexOf(window));
  }
  return filled;
}

function deedsIn(
  { first, last, does, role }: Stage,
  steps: Step[],
  origin: Origins,
  filled: Map<number, number>,
  begun: Set<string>,
) {
  const made = steps.slice(first, last);
  const windowsOf = (ks: Set<number>) =>
    [...new Set([...ks].map((k) => filled.get(k)))].filter((one) => one !== undefined);
  const copied = windowsOf(copiedBy(made, origin));
  const factors = made.flatMap(({ entries }) => entries.map((one) => one.factors?.A.meant));
  const multiplied = windowsOf(ksOf(factors, origin));
  const keys = multiplied.map((one) => `${role} ${one}`);
  const rest = keys.length > 0 && keys.every((key) => begun.has(key));
  for (const key of keys) begun.add(key);
  const parts = [
    copied.length && `copy window ${copied.join(" and ")}`,
    does.has("copy") && !copied.length && (made.some(fills) ? "write zeros" : "load"),
    multiplied.length && `multiply ${rest ? "the rest of " : ""}window ${multiplied.join(" and ")}`,
    does.has("multiply") && !multiplied.length && "multiply",
    does.has("read") && !does.has("multiply") && "read",
    does.has("store") && "store C",
    does.has("fail") && "fail",
  ];
  return parts.filter(Boolean).join(", ");
}

/** What the other roles do in the same window of time, in words. */
export function meanwhileWords(stages: Stage[], { window, role }: Stage) {
  const others = stages.filter((one) => one.window === window && one.role !== role);
  if (!others.length) return "";
  const names = others.map(({ name }) => name[0].toLowerCase() + name.slice(1));
  return `At the same time ${names.join(", and ")}.`;
}

/** The cells of shared memory that other roles use in the window of time of a step. */
export function usedMeanwhile(steps: Step[], now: Step | undefined) {
  const others = steps.filter(
    ({ window, role, array }) =>
      window === now?.window && role !== now.role && array.space === "shared",
  );
  return new Set(others.flatMap(({ entries }) => entries.map(({ key }) => key)));
}
