// What a launch does without one of its barriers, the same steps in another order.

import { WARP } from "../hardware.py";
import { mostRelevant, RACE } from "../simulator/hazard_log.ts";
import type { Result } from "../simulator/simulation.ts";
import { byThread, type Entries, entriesOf } from "./entries.ts";

/** what runs on alone to its next barrier */
type Order = "warps" | "threads";

/**
 * A part of a step of the trace, made at another time. `of`: the step with all barriers. `epoch`:
 * barriers the block had passed. `first` and `count`: of the entries of that step. `wrong`: entries
 * that are not what they should be, the number among these, the value, and the two factors.
 */
export interface ReorderedStep {
  of: number;
  epoch: number;
  first: number;
  count: number;
  wrong: (number | null)[][];
}

/**
 * The launch without the barrier of one line. `order`: what runs on alone to its next barrier.
 * `problem`: the most relevant of the races that the
 * simulator finds; empty where it finds none.
 */
export interface WithoutBarrier {
  line: number;
  order: Order;
  problem: string;
  blocks: ReorderedStep[][];
}

/**
 * Where the entries of a block, with the factor of A first, stand in the steps of its trace: for
 * each entry its step, -1 for none, and its position there. `moved`: for each step, whether it may
 * change places with its neighbours, because it uses registers.
 */
interface StepPositions {
  entries: Entries;
  step: Int32Array;
  position: Int32Array;
  moved: boolean[];
}

const BARRIER = "__syncthreads()";
const SAME = ["thread", "line", "array", "element", "store"];

export function placesIn(entries: Entries, steps: number[][], moved: boolean[]): StepPositions {
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

/** A launch that can be run again. */
interface Launch {
  source: string[];
  firstLine: number;
  ptx: string;
  /** of a block */
  threads: number;
  places: StepPositions[];
  /** names of those that the entries number */
  arrays: string[];
  /** with a trace */
  run: (ptx: string, order: Order) => Result;
}

/**
 * Simulate a launch once for each barrier, without it. A barrier is left out of the list if a block
 * has one thread, or if its threads would go another way without it.
 */
export function launchesWithoutBarrier(launch: Launch) {
  const { source, firstLine, ptx, threads, places, arrays, run } = launch;
  const found: WithoutBarrier[] = [];
  if (threads < 2) return found;
  const order = threads > WARP ? "warps" : "threads";
  const lines = source.flatMap((text, i) => (text.includes(BARRIER) ? [firstLine + i] : []));
  for (const line of lines) {
    const shorter = withoutBarrier(ptx, line);
    if (shorter === ptx) continue;
    const { trace, hazards } = run(shorter, order);
    if (!trace) continue;
    const steps = places.map((block, number) =>
      reorderedSteps(block, entriesOf(trace, number, arrays), order),
    );
    const races = hazards.filter(({ kind }) => kind === RACE);
    const problem = races.length ? mostRelevant(races).message : "";
    const blocks = steps.filter((block) => block !== null);
    if (trace.complete && blocks.length === steps.length) {
      found.push({ line, order, problem, blocks });
    }
  }
  return found;
}

/** PTX without the barriers of one line of the source. */
export function withoutBarrier(ptx: string, line: number) {
  let here = 0;
  const kept = ptx.split(/(?<=\n)/).filter((text) => {
    const place = /^\s*\.loc\s+\d+\s+(\d+)/.exec(text);
    if (place) here = Number(place[1]);
    return !(here === line && /^\s*(?:bar|barrier)(?:\.cta)?\.sync/.test(text));
  });
  return kept.join("");
}

/** The steps of a block in their new order; null if they are not the same steps. */
function reorderedSteps(places: StepPositions, now: Entries, order: Order): ReorderedStep[] | null {
  const meant = sameEntries(places.entries, now);
  if (!meant) return null;
  const size = order === "warps" ? WARP : 1;
  const parts: { run: number; step: number; mine: number[] }[] = [];
  let run = 0;
  let last = "";
  for (const those of groupedBy(now.step.keys(), (i) => now.step[i])) {
    const kept = those.filter((i) => places.step[meant[i]] >= 0);
    for (const mine of groupedBy(kept, (i) => places.step[meant[i]])) {
      const step = places.step[meant[mine[0]]];
      const state = `${Math.floor(now.thread[mine[0]] / size)} ${now.epoch[mine[0]]}`;
      const moves = places.moved[step];
      // What only uses registers keeps the order that the trace gave it.
      if (!(moves && last === state)) run += 1;
      last = moves ? state : "";
      parts.push({ run, step, mine });
    }
  }
  parts.sort((one, other) => one.run - other.run || one.step - other.step);
  return parts.flatMap(({ mine }) =>
    neighbours(mine, (i) => places.position[meant[i]]).map((piece) =>
      reorderedStep(places, now, meant, piece),
    ),
  );
}

/**
 * For each entry the one that it was with all barriers; null where the threads did other things.
 */
function sameEntries(before: Entries, now: Entries) {
  const [was, is] = [byThread(before), byThread(now)];
  const same =
    was.length === is.length &&
    SAME.every((name) => was.every((entry, i) => before[name][entry] === now[name][is[i]]));
  if (!same) return null;
  const meant = new Int32Array(is.length);
  for (const [i, entry] of is.entries()) meant[entry] = was[i];
  return meant;
}

/** Numbers in groups of one key, in the order of the keys. */
function groupedBy(numbers: Iterable<number>, key: (number: number) => number) {
  const groups: Map<number, number[]> = new Map();
  for (const number of numbers) {
    const group = groups.get(key(number));
    if (group) group.push(number);
    else groups.set(key(number), [number]);
  }
  return [...groups.values()];
}

/** Split entries where the next is not beside the last. */
function neighbours(those: number[], position: (entry: number) => number) {
  const pieces: number[][] = [];
  for (const entry of [...those].sort((i, j) => position(i) - position(j))) {
    const piece = pieces.at(-1);
    const beside = piece && position(entry) === position(piece[piece.length - 1]) + 1;
    if (beside) piece.push(entry);
    else pieces.push([entry]);
  }
  return pieces;
}

function reorderedStep(
  { entries: before, step, position }: StepPositions,
  now: Entries,
  meant: Int32Array,
  those: number[],
): ReorderedStep {
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
    epoch: now.epoch[those[0]],
    first: position[meant[those[0]]],
    count: those.length,
    wrong,
  };
}

/** A number, or null for NaN. */
export const plain = (value: number) => (Number.isNaN(value) ? null : value);
