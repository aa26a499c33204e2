// Runs one launch of a pasted kernel in the simulator, and says what was found: in the engine's worker.

import { RandomState } from "../../checking/random.ts";
import { LabError } from "../../errors.ts";
import type { Values } from "../../external_cuda/expected.ts";
import { expectedValues, readExpectation, single } from "../../external_cuda/expected.ts";
import { sharedWavefronts } from "../../formulas/memory.ts";
import { BANKS, WORD_BYTES } from "../../hardware.py";
import type { Hazard } from "../../simulator/hazard.ts";
import type { TypedArray } from "../../simulator/memory.ts";
import { parse } from "../../simulator/ptx.ts";
import type { Result } from "../../simulator/simulation.ts";
import { simulate } from "../../simulator/simulation.ts";
import type { WarpRequest } from "../../simulator/warp_requests.ts";
import { SameValues } from "../../simulator/watches/same_values.ts";
import type { ResolvedLaunch } from "./launch.ts";

/** What a launch did. `conflicts`: a sentence for each line with bank conflicts. */
export interface LaunchFindings {
  hazards: Finding[];
  /** variables that nothing has written, and barriers that only happen to open */
  warnings: Finding[];
  /** what needs no repair: races of threads that write the same value, places taken by an atomic */
  information: Finding[];
  /** what shows only when blocks and warps run one after the other */
  otherOrder: Finding[];
  /** the orders that were tried, in words */
  orders: string[];
  total: Record<string, number>;
  lines: Map<number, Record<string, number>>;
  conflicts: Map<number, string>;
  /** first elements of each array that the kernel may write */
  outputs: { name: string; first: number[]; length: number }[];
  /** the array of which a result was expected; null if none was */
  compared: Compared | null;
}

/** A reference to compare with: a kernel, or a function of the host in one thread. */
export interface ReferenceLaunch {
  ptx: string;
  entry: string;
  grid: number[];
  block: number[];
  sharedBytes: number;
  /** for each argument the place of the kernel's argument that it gets */
  places: number[];
  says: string;
}

/** How an array compares with what was expected of it. */
export interface Compared {
  name: string;
  /** what it was compared with, in words */
  by: string;
  wrong: number;
  length: number;
  /** the first element that differs, or -1 */
  at: number;
  got: number;
  expected: number;
}

export interface Finding {
  kind: string;
  message: string;
  /** the source lines that it names */
  lines: number[];
  /** whether it is about an array in global memory, so that it may depend on the grid */
  inGlobal: boolean;
}

/** Relative to the larger of 1 and the expected number. */
const TOLERANCE = 1e-5;
/** Most threads of a launch that runs a second time, warp after warp; its seconds; and how far
 * floats may then be off, as atomics round anew. */
const MOST_ORDERED = 1 << 13;
const ORDER_SECONDS = 2;
/** Seeds of the orders of blocks; 0 is from the first block to the last. */
const SEEDS = [0, 1, 2];
const REFERENCE_SECONDS = 5;
const ORDER_TOLERANCE = 1e-3;
const SAME_VALUE = "All write the same value, so any order will do.";
const TAKES_PLACES = "Threads take places by an atomic. If any order will do, this is no error.";
const MOST = 8;
const BYTES_VALUES = 256;
const SHOWN = 8;
/** By the names of NumPy; integers of 8 bytes are two of 4. */
const STORED: Record<string, new (length: number) => TypedArray> = {
  ...{ f2: Uint16Array, f4: Float32Array, f8: Float64Array, "?": Uint8Array, i1: Int8Array },
  ...{ u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array },
};

/** Run a launch on drawn contents. Throws a LabError where it cannot be run. */
export function runLaunch(
  ptx: string,
  entry: string,
  { grid, block, sharedBytes, args, expected, sizes }: ResolvedLaunch,
  timeLimit: number,
  references: ReferenceLaunch[] = [],
): LaunchFindings {
  const given = new Map(
    args.map((one, at) => [
      one.name,
      one.kind === "number" ? one.value : contents(one.stored, one.length, one.constant, at),
    ]),
  );
  const same = new SameValues();
  const isWritten = (one: (typeof args)[number]) => one.kind === "array" && !one.constant;
  const starts = Object.fromEntries(
    args.flatMap((one) =>
      one.kind === "array" && one.start ? [[one.name, one.start * bytesOf(one.stored)]] : [],
    ),
  );
  const variables = parse(ptx).get(entry)?.variables ?? [];
  const done = simulate(ptx, entry, grid, block, given, {
    sharedBytes,
    starts,
    cooperative: true,
    timeLimit,
    watchRacesIn: [...args.filter(isWritten), ...variables].map(({ name }) => name),
    requestsOf: [0, 0],
    watching: [same],
  });
  const [harmless, hazards] = [true, false].map((is) =>
    findings(
      done.hazards.filter((one) => same.isHarmless(one) === is),
      done,
    ),
  );
  const arrays = Object.fromEntries(
    args.flatMap(({ kind, name }) => (kind === "array" ? [[name, done.arrays[name]]] : [])),
  );
  const threads = [...grid, ...block].reduce((product, side) => product * side, 1);
  const blocks = grid.reduce((product, side) => product * side, 1);
  const orders: string[] = [];
  const changes: Finding[] = [];
  for (const seed of !hazards.length && threads <= MOST_ORDERED ? SEEDS : []) {
    if (changes.length || (seed && blocks === 1)) break;
    const order = seed ? `in an order of blocks drawn with seed ${seed}` : "one after the other";
    const found = inOtherOrder(arrays, order, () =>
      simulate(ptx, entry, grid, block, given, {
        sharedBytes,
        starts,
        schedule: "warps",
        onlyBlocks: seed ? drawn(blocks, seed) : undefined,
        countRequests: false,
        timeLimit: ORDER_SECONDS,
      }),
    );
    if (!found) break;
    orders.push(order);
    changes.push(...found);
  }
  const places = takesPlaces(ptx);
  const differs = changes.filter(({ kind }) => places && kind === "order");
  const information = [
    ...harmless.map((one) => ({ ...one, message: `${one.message} ${SAME_VALUE}` })),
    ...differs.map((one) => ({ ...one, message: `${one.message} ${TAKES_PLACES}` })),
  ];
  return {
    orders,
    otherOrder: changes.filter((one) => !differs.includes(one)),
    hazards,
    warnings: findings(done.warnings, done),
    information,
    total: done.counts.total,
    lines: new Map(done.counts.lines.map(({ line, counts }) => [line, counts])),
    conflicts: conflictsOf(done.requests ?? []),
    outputs: args.filter(isWritten).map(({ name }) => {
      const array = arrays[name];
      return { name, first: Array.from(array.subarray(0, SHOWN)), length: array.length };
    }),
    compared: expected.trim()
      ? compare(expected, sizes, given, arrays)
      : firstOf(references, (one) => compareWith(one, given, arrays, starts)),
  };
}

function drawn(count: number, seed: number) {
  const keys = new RandomState(seed).uniform(0, 1, count);
  return Array.from(keys.keys()).sort((one, other) => keys[one] - keys[other]);
}

/** Whether threads take places by an atomic: its result is used, and any order will do. */
const takesPlaces = (ptx: string) =>
  [...ptx.matchAll(/\batom\.\S+\s+(%\w+)/g)].some(
    ([, register]) => ptx.split(new RegExp(`${register}\\b`)).length > 2,
  );

/**
 * Compare what a kernel wrote with what a reference writes on the same arrays; null where the
 * reference cannot run, or does not write what the kernel does.
 */
function compareWith(
  { ptx, entry, grid, block, sharedBytes, places, says }: ReferenceLaunch,
  before: Map<string, TypedArray | number>,
  after: Record<string, TypedArray>,
  starts: Record<string, number>,
): Compared | null {
  const given = [...before];
  const options = { sharedBytes, starts, countRequests: false, timeLimit: REFERENCE_SECONDS };
  let right: Record<string, TypedArray>;
  try {
    const done = simulate(ptx, entry, grid, block, new Map(places.map((at) => given[at])), options);
    if (done.hazards.length) return null;
    right = done.arrays;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return null;
  }
  const names = Object.keys(after).filter((name) => !same(right[name], before.get(name)));
  const found = names.map((name) => {
    const { length } = right[name];
    const one: Compared = { name, by: says, wrong: 0, length, at: -1, got: 0, expected: 0 };
    after[name].forEach((got, at) => {
      const expected = right[name][at];
      if (isApart(expected, got, isReal(right[name])) && !one.wrong++) {
        Object.assign(one, { at, got, expected });
      }
    });
    return one;
  });
  return found.find(({ wrong }) => wrong) ?? found[0] ?? null;
}

/**
 * What shows when blocks and warps run one after the other instead of side by side: hazards, or a
 * result that differs. Null where the kernel cannot run so, as blocks wait for each other.
 */
function inOtherOrder(usual: Record<string, TypedArray>, order: string, again: () => Result) {
  let other: Result;
  try {
    other = again();
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return null;
  }
  if (other.hazards.length) return findings(other.hazards, other);
  return Object.keys(usual).flatMap((name) => {
    const array = other.arrays[name];
    let count = 0;
    for (let at = 0; at < array.length; at++) count += Number(isApart(usual[name][at], array[at]));
    const message = `${name} depends on the order in which blocks and warps run: ${count} of ${array.length} elements differ when they run ${order}.`;
    return count ? [{ kind: "order", message, lines: [], inGlobal: true }] : [];
  });
}

function isApart(one: number, other: number, rounded = !Number.isInteger(one)) {
  const allowed = rounded ? ORDER_TOLERANCE * Math.max(1, Math.abs(one)) : 0;
  return !(Object.is(one, other) || Math.abs(one - other) <= allowed);
}

/**
 * Compare an array with what is expected of it, worked out from the arrays before the launch.
 * Throws a LabError where that cannot be read.
 */
function compare(
  text: string,
  sizes: Record<string, number>,
  before: Map<string, TypedArray | number>,
  after: Record<string, TypedArray>,
): Compared {
  const [named, value] = readExpectation(text);
  const names = new Map(Object.entries(sizes).map(([name, size]) => [name, single(size)]));
  for (const [name, one] of before) {
    names.set(name, typeof one === "number" ? single(one) : shaped(name, one, sizes));
  }
  const changed = Object.keys(after).filter((name) => !same(after[name], before.get(name)));
  const name = named || (changed.length === 1 ? changed[0] : "");
  const got = Object.hasOwn(after, name) ? after[name] : null;
  if (!got) {
    const known = Object.keys(after).join(", ");
    throw new LabError(`Say which array is expected to hold that, such as y = 2 * x: ${known}.`);
  }
  const { numbers } = expectedValues(value, names);
  if (numbers.length !== 1 && numbers.length !== got.length) {
    throw new LabError(
      `What is expected has ${numbers.length} elements, but ${name} has ${got.length}.`,
    );
  }
  const real = isReal(got);
  const by = "what is expected";
  const found: Compared = { name, by, wrong: 0, length: got.length, at: -1, got: 0, expected: 0 };
  for (let at = 0; at < got.length; at++) {
    const right = numbers[numbers.length === 1 ? 0 : at];
    const allowed = real && Number.isFinite(right) ? TOLERANCE * Math.max(1, Math.abs(right)) : 0;
    if (Object.is(got[at], right) || Math.abs(got[at] - right) <= allowed) continue;
    if (!found.wrong++) Object.assign(found, { at, got: got[at], expected: right });
  }
  return found;
}

const isReal = (array: TypedArray) =>
  array instanceof Float32Array || array instanceof Float64Array;

function same(one: TypedArray | undefined, other: TypedArray | number | undefined) {
  return (
    !one || (typeof other === "object" && one.every((value, at) => Object.is(value, other[at])))
  );
}

/** An array with its sides: those of A, B and C, where the launch has the sizes M, N and K. */
function shaped(name: string, array: TypedArray, sizes: Record<string, number>): Values {
  const numbers = Float64Array.from(array);
  const letters = { A: "MK", B: "KN", C: "MN" }[name.replace(/^d_?/, "").toUpperCase()];
  const sides = [...(letters ?? "")].map((side) => sizes[side] ?? sizes[side.toLowerCase()]);
  const fits = sides.length === 2 && sides[0] * sides[1] === numbers.length;
  return { sides: fits ? sides : [numbers.length], numbers };
}

/** Small whole numbers; bytes take every value, and integers that are written start from zero. */
function contents(stored: string, length: number, constant: boolean, seed: number): TypedArray {
  const isLong = stored[1] === "8" && stored[0] !== "f";
  const make = isLong ? Int32Array : STORED[stored];
  const array = new make(isLong ? 2 * length : length);
  const random = new RandomState(seed);
  if (isReal(array)) array.set(random.integers(-MOST, MOST + 1, array.length));
  else if (constant) {
    const most = array.BYTES_PER_ELEMENT === 1 ? BYTES_VALUES : MOST;
    array.set(random.integers(0, most, array.length));
  }
  return array;
}

const bytesOf = (stored: string) => Number(stored[1] ?? 1);

/** The first answer that is not null. */
function firstOf<One, Found>(all: One[], answer: (one: One) => Found | null): Found | null {
  for (const one of all) {
    const found = answer(one);
    if (found) return found;
  }
  return null;
}

function findings(hazards: Hazard[], { arrays }: Result): Finding[] {
  return hazards.map(({ kind, message, location, otherLocation, array }) => {
    const lines = [location.line, otherLocation?.line ?? 0].filter((line) => line > 0);
    const named = [...new Set(lines)].sort((a, b) => a - b);
    return { kind, message, lines: named, inGlobal: array !== null && array in arrays };
  });
}

/** For each line the worst request to shared memory of the first warp, where lanes share a bank. */
function conflictsOf(requests: WarpRequest[]) {
  const found = new Map<number, { wavefronts: number; says: string }>();
  for (const { line, space, width, addresses, isLoad } of requests) {
    if (space !== "shared") continue;
    const wavefronts = sharedWavefronts(addresses, width, isLoad);
    const phases = new Set(wavefronts.map(({ phase }) => phase)).size;
    if (wavefronts.length <= Math.max(phases, found.get(line)?.wavefronts ?? 0)) continue;
    const says = conflictSentence(wavefronts, phases);
    if (says) found.set(line, { wavefronts: wavefronts.length, says });
  }
  return new Map([...found].map(([line, { says }]) => [line, says]));
}

function conflictSentence(wavefronts: ReturnType<typeof sharedWavefronts>, phases: number) {
  for (const first of wavefronts) {
    for (const second of wavefronts) {
      if (first === second || first.phase !== second.phase) continue;
      for (const [word, [lane]] of first.words) {
        for (const [other, [otherLane]] of second.words) {
          if (word % BANKS !== other % BANKS || lane >= otherLane) continue;
          const apart = Math.abs(other - word) * WORD_BYTES;
          return (
            `Bank conflict: lanes ${lane} and ${otherLane} want different words of bank ` +
            `${word % BANKS}, ${apart} bytes apart: ${wavefronts.length} wavefronts for ${phases}.`
          );
        }
      }
    }
  }
  return "";
}
