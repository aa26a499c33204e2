// Run a launch again with blocks and warps in other orders, and compare. CUDA promises no order of
// blocks, nor of warps between barriers. A result that depends on it, or a hazard that shows in one
// order only, is reported with the options that reproduce it.

import { orNull } from "../errors.ts";
import { STORED } from "../simulator/watches/written.ts";
import { comma, plural } from "../text.ts";
import { arraysAt } from "./initial_values.ts";
import type { Prepared, Ran, Settings } from "./launch.ts";
import { brief, numbersOf, product, run, shapeAt, writtenBy } from "./launch.ts";
import { type Done, isSame, numbersIn, runAndWeigh } from "./one_launch.ts";
import { type Finding, findingOf, ORDER, ofKernel, WRONG_RESULT } from "./severity.ts";

/** Time limit of a launch in another order, in seconds. */
const SECONDS = 3;
/** Most threads of a launch whose warps run one after the other, which is slow. */
const MOST_THREADS = 2 ** 14;
/** How far floats may be off, relative to the larger of the value and what is usual: atomics round anew. */
const TOLERANCE = 1e-3;
/** The least that is taken as usual: inputs are small whole numbers. */
const LEAST = 0.01;
/** Seeds: of the order of blocks alone, and of blocks and warps. */
const [BLOCKS, WARPS] = [1, 2];
/** An atomic and the register for what it found. */
const ATOMIC = /\batom\.\S+\s+(%\w+)/g;

/**
 * What other orders than that of a launch show, and the options of the orders. Empty where the launch
 * has hazards, from which all else follows, or where it took longer than another order may.
 */
export function otherOrders(done: Done, settings: Settings): [Finding[], string[]] {
  const { prepared, size, result, seconds } = done;
  const findings: Finding[] = [];
  const tried: string[] = [];
  const isTried = !result.hazards.length && seconds <= SECONDS;
  for (const one of isTried ? ordersOf(done, settings) : []) {
    const options = optionsOf(one);
    const ran = orNull(() => runAndWeigh(prepared, size, arraysAt(prepared, size), one));
    if (!ran) continue;
    tried.push(options);
    const hazards = ran.result.hazards.map((hazard) =>
      findingOf(hazard, prepared, undefined, options),
    );
    const found = hazards.length ? hazards : differencesOf(done, ran, options);
    findings.push(...found.filter(({ kind }) => findings.every((old) => old.kind !== kind)));
  }
  return [findings, tried];
}

/** The options of the command that run a launch in an order. */
const optionsOf = ({ schedule, order }: Settings) =>
  `${schedule === "lockstep" ? "" : `--schedule ${schedule} `}--order ${order}`;

function ordersOf({ prepared, size }: Done, settings: Settings): Settings[] {
  const shape = shapeAt(prepared, size);
  const [blocks, threads] = [product(shape.grid), product(shape.block)];
  const quick = brief(settings, SECONDS);
  // Warps that wait for other blocks run side by side only.
  const waits = prepared.compiled.specials.has("%envreg1");
  const fits = blocks * threads <= MOST_THREADS && !waits;
  return [
    ...(blocks > 1 ? [{ ...quick, order: BLOCKS }] : []),
    ...(fits ? [{ ...quick, schedule: "warps" as const, order: WARPS }] : []),
  ];
}

/** A finding for each array of which elements differ. */
function differencesOf({ prepared, after }: Done, other: Ran, options: string): Finding[] {
  const written = [...writtenBy(prepared), ...prepared.variables.map(({ array }) => array)];
  return written.flatMap(({ name }) => {
    const [one, again] = [after, other.after].map((all) => numbersIn(all, name));
    if (one.every((value, at) => isSame(value, again[at]))) return [];
    const usual = medianSize(one);
    const count = one.filter((value, at) => isApart(value, again[at], usual)).length;
    return count ? different(prepared, name, count, options) : [];
  });
}

/** Whether two numbers differ by more than rounding; `usual` is the size of numbers beside them. */
export const isApart = (one: number, other: number, usual: number) =>
  !isSame(one, other) &&
  !(Math.abs(one - other) <= TOLERANCE * Math.max(LEAST, usual, Math.abs(one)));

/** The size that half of some numbers exceed; of those that are finite. */
export function medianSize(numbers: Float64Array) {
  const sizes = numbers.filter(Number.isFinite).map(Math.abs).sort();
  const half = sizes.length / 2;
  if (!sizes.length) return 0;
  return (sizes[Math.ceil(half) - 1] + sizes[Math.floor(half)]) / 2;
}

function different(prepared: Prepared, name: string, count: number, order: string): Finding {
  const takes = takesPlaces(prepared);
  const differ = `${plural(count, "element")} ${count > 1 ? "differ" : "differs"}`;
  const message =
    `${name} depends on the order in which blocks and warps run: ${differ}.` +
    (takes ? " Threads take places by an atomic. If any order will do, this is no error." : "");
  const severity = takes ? "information" : "warning";
  return { ...ofKernel(prepared, severity, ORDER, message, name), order };
}

/** Whether threads take places by an atomic whose result is used. */
const takesPlaces = ({ ptx }: Prepared) =>
  [...ptx.matchAll(ATOMIC)].some(
    ([, register]) => ptx.split(new RegExp(`${register}\\b`)).length > 2,
  );

/** The finding that places counted by an atomic are filled from the second on. */
export function skippedPlace(done: Done, settings: Settings): Finding[] {
  const { prepared, size, result, before } = done;
  const waits = prepared.compiled.specials.has("%envreg1");
  if (result.hazards.length || waits || !takesPlaces(prepared)) return [];
  const watched = { ...settings, watch: ["written" as const], checkHazards: false };
  const ran = run(prepared, size, arraysAt(prepared, size), watched);
  const names = [...before.values.keys()];
  for (const counter of names) {
    const [begun, now] = [numbersOf(before, counter), numbersIn(ran.after, counter)];
    const places = [...begun.keys()].filter((at) => begun[at] !== now[at]);
    if (places.length !== 1) continue;
    const [first, end] = [begun[places[0]], now[places[0]]];
    for (const name of names) {
      const taken = writtenElements(ran, name);
      const at = [...taken.keys()].filter((place) => taken[place]);
      const isFull = end - first === at.length && at.length > 1 && at[0] === first + 1;
      if (name === counter || !isFull) continue;
      const message =
        `${counter} counts ${comma(end - first)} places, but of ${name} the elements ` +
        `${comma(first + 1)} to ${comma(end)} are written and not ${comma(first)}. A thread's place ` +
        "is the number of those before it, without itself.";
      return [ofKernel(prepared, "warning", WRONG_RESULT, message, name)];
    }
  }
  return [];
}

/** Which elements of an array a launch wrote; nobody knows of it without the watch. */
export function writtenElements({ after, result }: Ran, name: string) {
  const marks = result.watched.written?.[name];
  const { length } = numbersIn(after, name);
  const bytes = marks ? marks.length / length : 0;
  return Uint8Array.from({ length }, (_, at) =>
    Number(marks?.subarray(at * bytes, (at + 1) * bytes).some((one) => one & STORED) ?? false),
  );
}
