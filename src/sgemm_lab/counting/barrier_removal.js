// @ts-check
// What a launch does without one of its barriers, the same steps in another order: left_out.py in
// JavaScript, held equal to it by a test.

import { WARP } from "../hardware.py";
import { plainest, RACE } from "../simulator/hazards.js";
import { byThread, entriesOf } from "./entries.js";

/** @typedef {import("./entries.js").Entries} Entries */
/** @typedef {import("../simulator/simulation.js").Result} Result */
/** @typedef {"warps" | "threads"} Order what runs on alone to its next barrier */

/**
 * A part of a step of the walk, made at another time. `of`: the step with all barriers. `window`:
 * barriers the block had passed. `first` and `count`: of the entries of that step. `wrong`: entries
 * that are not what they should be, the number among these, the value, and the two factors.
 * @typedef {{ of: number, window: number, first: number, count: number,
 *   wrong: (number | null)[][] }} LeftStep
 *
 * The launch without the barrier of one line. `problem`: the plainest of the races that the
 * simulator finds; empty where it finds none.
 * @typedef {{ line: number, order: Order, problem: string, blocks: LeftStep[][] }} LeftOut
 *
 * Where the entries of a block, with the factor of A first, stand in the steps of its walk: for each entry its step, -1 for none,
 * and its position there. `moved`: for each step, whether it may change places with its neighbours,
 * because it uses registers.
 * @typedef {{ entries: Entries, step: Int32Array, position: Int32Array, moved: boolean[] }} Places
 */

const BARRIER = "__syncthreads()";
const SAME = ["thread", "line", "array", "element", "store"];

/**
 * @param {Entries} entries
 * @param {number[][]} steps
 * @param {boolean[]} moved
 * @returns {Places}
 */
export function placesIn(entries, steps, moved) {
  const step = new Int32Array(entries.step.length).fill(-1);
  const position = new Int32Array(entries.step.length);
  for (const [number, those] of steps.entries()) {
    for (const [at, entry] of those.entries()) {
      step[entry] = number;
      position[entry] = at;
    }
  }
  return { entries, step, position, moved };
}

/**
 * Simulate a launch once for each barrier, without it. A barrier is left out of the list if a block
 * has one thread, or if its threads would go another way without it.
 * @param {object} launch
 * @param {string[]} launch.source
 * @param {number} launch.firstLine
 * @param {string} launch.ptx
 * @param {number} launch.threads of a block
 * @param {Places[]} launch.places
 * @param {string[]} launch.arrays names of those that the entries number
 * @param {(ptx: string, order: Order) => Result} launch.run with a trace
 */
export function launchesWithoutBarrier({ source, firstLine, ptx, threads, places, arrays, run }) {
  /** @type {LeftOut[]} */
  const found = [];
  if (threads < 2) return found;
  const order = threads > WARP ? "warps" : "threads";
  const lines = source.flatMap((text, i) => (text.includes(BARRIER) ? [firstLine + i] : []));
  for (const line of lines) {
    const shorter = withoutBarrier(ptx, line);
    if (shorter === ptx) continue;
    const { trace, hazards } = run(shorter, order);
    if (!trace) continue;
    const steps = places.map((block, number) =>
      leftSteps(block, entriesOf(trace, number, arrays), order),
    );
    const races = hazards.filter(({ kind }) => kind === RACE);
    const problem = races.length ? plainest(races).message : "";
    const blocks = steps.filter((block) => block !== null);
    if (trace.complete && blocks.length === steps.length) {
      found.push({ line, order, problem, blocks });
    }
  }
  return found;
}

/**
 * PTX without the barriers of one line of the source.
 * @param {string} ptx
 * @param {number} line
 */
export function withoutBarrier(ptx, line) {
  let here = 0;
  const kept = ptx.split(/(?<=\n)/).filter((text) => {
    const place = /^\s*\.loc\s+\d+\s+(\d+)/.exec(text);
    if (place) here = Number(place[1]);
    return !(here === line && /^\s*(?:bar|barrier)(?:\.cta)?\.sync/.test(text));
  });
  return kept.join("");
}

/**
 * The steps of a block in their new order; null if they are not the same steps.
 * @param {Places} places
 * @param {Entries} now
 * @param {Order} order
 * @returns {LeftStep[] | null}
 */
function leftSteps(places, now, order) {
  const meant = sameEntries(places.entries, now);
  if (!meant) return null;
  const size = order === "warps" ? WARP : 1;
  /** @type {{ run: number, step: number, mine: number[] }[]} */
  const parts = [];
  let run = 0;
  let last = "";
  for (const those of groupedBy(now.step.keys(), (i) => now.step[i])) {
    const kept = those.filter((i) => places.step[meant[i]] >= 0);
    for (const mine of groupedBy(kept, (i) => places.step[meant[i]])) {
      const step = places.step[meant[mine[0]]];
      const state = `${Math.floor(now.thread[mine[0]] / size)} ${now.window[mine[0]]}`;
      const moves = places.moved[step];
      // What only uses registers keeps the order that the walk gave it.
      if (!(moves && last === state)) run += 1;
      last = moves ? state : "";
      parts.push({ run, step, mine });
    }
  }
  parts.sort((one, other) => one.run - other.run || one.step - other.step);
  return parts.flatMap(({ mine }) =>
    neighbours(mine, (i) => places.position[meant[i]]).map((piece) =>
      leftStep(places, now, meant, piece),
    ),
  );
}

/**
 * For each entry the one that it was with all barriers; null where the threads did other things.
 * @param {Entries} before
 * @param {Entries} now
 */
function sameEntries(before, now) {
  const [was, is] = [byThread(before), byThread(now)];
  const same =
    was.length === is.length &&
    SAME.every((name) => was.every((entry, i) => before[name][entry] === now[name][is[i]]));
  if (!same) return null;
  const meant = new Int32Array(is.length);
  for (const [i, entry] of is.entries()) meant[entry] = was[i];
  return meant;
}

/**
 * Numbers in groups of one key, in the order in which the keys are met.
 * @param {Iterable<number>} numbers
 * @param {(number: number) => number} key
 */
function groupedBy(numbers, key) {
  /** @type {Map<number, number[]>} */
  const groups = new Map();
  for (const number of numbers) {
    const group = groups.get(key(number));
    if (group) group.push(number);
    else groups.set(key(number), [number]);
  }
  return [...groups.values()];
}

/**
 * Split entries where the next is not beside the last.
 * @param {number[]} those
 * @param {(entry: number) => number} position
 */
function neighbours(those, position) {
  /** @type {number[][]} */
  const pieces = [];
  for (const entry of [...those].sort((i, j) => position(i) - position(j))) {
    const piece = pieces.at(-1);
    const beside = piece && position(entry) === position(piece[piece.length - 1]) + 1;
    if (beside) piece.push(entry);
    else pieces.push([entry]);
  }
  return pieces;
}

/**
 * @param {Places} places
 * @param {Entries} now
 * @param {Int32Array} meant
 * @param {number[]} those
 * @returns {LeftStep}
 */
function leftStep({ entries: before, step, position }, now, meant, those) {
  const [inOrder, swapped] = [
    ["value", "a", "b"],
    ["value", "b", "a"],
  ];
  const wrong = those.flatMap((here, i) => {
    const there = meant[here];
    const names = before.swapped[there] ? swapped : inOrder;
    const values = names.map((name) => plain(now[name][here]));
    const right = inOrder.map((name) => plain(before[name][there]));
    return values.some((value, at) => value !== right[at]) ? [[i, ...values]] : [];
  });
  return {
    of: step[meant[those[0]]],
    window: now.window[those[0]],
    first: position[meant[those[0]]],
    count: those.length,
    wrong,
  };
}

/**
 * A number, or null for NaN.
 * @param {number} value
 */
export const plain = (value) => (Number.isNaN(value) ? null : value);
