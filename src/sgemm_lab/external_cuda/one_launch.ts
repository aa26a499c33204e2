// Simulate one launch of a kernel, and compare its result with what is expected.

import { checkSize } from "../counting/kernel_counts.ts";
import { LabError } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import type { DeadlockError, EndlessLoopError } from "../simulator/divergence.ts";
import { UNSET } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { weighed } from "../simulator/watches/same_values.ts";
import { comma } from "../text.ts";
import { isArray } from "./arguments.ts";
import { expectedValues, readExpectation, single, type Values } from "./expected.ts";
import { arraysAt } from "./initial_values.ts";
import type { Arrays, Prepared, Ran, Settings } from "./launch.ts";
import {
  elementIn,
  everyArray,
  multiplies,
  namesAt,
  numbersOf,
  run,
  sizesIn,
  writtenBy,
} from "./launch.ts";
import { likelyCause } from "./likely_causes.ts";
import { productIn, wrongElements } from "./products.ts";

/** Default tolerance of an element, relative to the larger of 1 and the expected value. */
const TOLERANCE: Record<string, number> = {
  ...{ half: 2 ** -9, bfloat16: 2 ** -6, float: 1e-5, double: 1e-12 },
};

/** How one array after a launch compares with its expected values. */
export interface Compared {
  name: string;
  wrong: number;
  elements: number;
  /** the largest difference; infinite where an element is not a number */
  maxAbsError: number;
  /** the first element that differs, what it holds and what it should; -1 where none does */
  at: number;
  got: number;
  expected: number;
}

/** A launch that never ends. */
export class NeverEndsError extends LabError {
  constructor(
    public prepared: Prepared,
    public reason: EndlessLoopError | DeadlockError,
  ) {
    super(reason.message);
  }
}

/** A launch at other sizes, and whether its grid and block are those of the file. */
export interface OtherSizes {
  done: Done;
  launched: boolean;
}

/** One simulated launch: counts and verdicts. */
export interface Done extends Ran {
  prepared: Prepared;
  size: Size;
  /** one per checked array; empty if no result was expected */
  verdicts: Compared[];
  /** input arrays that the kernel overwrote */
  changed: string[];
  /** why C is wrong, where a usual cause is known and no hazard explains it */
  cause: string;
  before: Arrays;
  /** races of threads that write the same value; they are not among the hazards */
  harmless: Hazard[];
  /** the same at sizes that no block divides, at some less than a block, and at larger ones */
  odd?: OtherSizes | null;
  less?: OtherSizes | null;
  larger?: OtherSizes | null;
  /** the first of several sizes larger than the others; a warp and a thread where the block follows the size */
  taller?: OtherSizes | null;
  uneven?: OtherSizes | null;
  /** how long it took */
  seconds: number;
  /** a larger launch whose threads wait for ever */
  waits?: NeverEndsError;
  /** the hazards that show with a block of one warp too, where the block is assumed */
  inOneWarp?: Hazard[];
}

/**
 * Expected arrays, such as "y = 2 * x", and their tolerance; null for TOLERANCE of their type. `names`:
 * numbers that they may name besides those of the arguments.
 */
export interface Expectations {
  expect: string[];
  tolerance: number | null;
  names?: Record<string, number>;
}

export const NOTHING: Expectations = { expect: [], tolerance: null };

export const isWrong = ({ verdicts, changed }: Done) =>
  verdicts.some(({ wrong }) => wrong) || changed.length > 0;

/** Simulate a launch and judge it. Throws a LabError where it cannot be run. */
export function countPrepared(
  prepared: Prepared,
  size: Size,
  { expect, tolerance, names = {} }: Expectations,
  settings: Settings,
  before?: Arrays,
): Done {
  if (multiplies(prepared)) {
    checkSize(size);
    refuseOddSquare(prepared, size);
  }
  const arrays = before ?? arraysAt(prepared, size);
  const expected = expect.map((text) => {
    const [name, value] = readExpectation(text);
    return expectedOf(prepared, size, arrays, name || onlyResult(prepared), value, names);
  });
  const begun = secondsNow();
  const done = runAndWeigh(prepared, size, arrays, settings);
  const seconds = secondsNow() - begun;
  const { after, result } = done;
  const verdicts = expected.map(({ name, right, element }) => {
    const [got, allowed] = [numbersIn(after, name), tolerance ?? TOLERANCE[element.name] ?? 0];
    return summed(name, got, right, wrongIn(got, right, allowed));
  });
  let cause = "";
  if (multiplies(prepared)) {
    const [got, right] = [numbersIn(after, "C"), productIn(prepared, arrays)];
    const verdict = summed("C", got, right, wrongElements(prepared, got, right));
    verdicts.unshift(verdict);
    const isUnset = result.warnings.some(({ kind }) => kind === UNSET);
    const found = result.hazards.length > 0 && settings.explain === "without hazards";
    if (verdict.wrong && settings.explain !== "never" && !isUnset && !found) {
      cause = likelyCause(prepared, size, arrays, done, settings);
    }
  }
  const inputs = prepared.given.filter((one) =>
    isArray(one) ? one.use === "in" : one.kind === "matrix" && one.name !== "C",
  );
  // An array may also be given under a name that the kernel may write.
  const written = writtenBy(prepared).flatMap(({ name }) => arrays.states?.get(name) ?? []);
  const changed = inputs.flatMap(({ name }) => {
    if (written.some((state) => state === arrays.states?.get(name))) return [];
    // Words of 8 bytes hold more than a number says.
    if (done.untouched(name).every(Boolean)) return [];
    const now = numbersIn(after, name);
    return numbersOf(arrays, name).every((one, at) => isSame(one, now[at])) ? [] : name;
  });
  return { ...done, prepared, size, verdicts, changed, cause, before: arrays, seconds };
}

export const isSame = (one: number, other: number) =>
  one === other || (Number.isNaN(one) && Number.isNaN(other));

export const numbersIn = (after: Map<string, Values>, name: string) =>
  after.get(name)?.numbers ?? new Float64Array(0);

/**
 * Simulate a launch. Races of stores that wrote the same value are not among the hazards: a flag that
 * several warps set to 1 is a race by the letter, and what it holds afterwards is known.
 */
export function runAndWeigh(
  prepared: Prepared,
  size: Size,
  arrays: Arrays,
  settings: Settings,
): Ran & { harmless: Hazard[] } {
  if (!settings.checkHazards) return { ...run(prepared, size, arrays, settings), harmless: [] };
  const watch = [...settings.watch, "same_values" as const];
  const ran = run(prepared, size, arrays, { ...settings, watch });
  const harmful = ran.result.watched.same_values ?? [];
  const found = weighed(ran.result.hazards, harmful, prepared.ptx, prepared.symbol);
  const { harmless, mild, rest: hazards } = found;
  const warnings = [...ran.result.warnings, ...mild];
  return { ...ran, result: { ...ran.result, hazards, warnings }, harmless };
}

function refuseOddSquare(prepared: Prepared, size: Size) {
  if (sizesIn(prepared) !== 1 || prepared.argumentsGiven || new Set(size).size === 1) return;
  throw new LabError(
    `'${prepared.opened.name}' takes one size, so its matrices are square. Give --size one number, ` +
      `such as --size ${Math.max(...size)}.`,
  );
}

/** Count the elements that are marked as wrong. */
export function summed(
  name: string,
  got: Float64Array,
  right: Float64Array,
  wrong: Uint8Array,
): Compared {
  const found: Compared = { name, wrong: 0, elements: got.length, maxAbsError: 0, ...NOWHERE };
  for (const [at, one] of got.entries()) {
    if (!wrong[at]) continue;
    if (!found.wrong++) Object.assign(found, { at, got: one, expected: right[at] });
    const error = Math.abs(one - right[at]);
    const size = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
    found.maxAbsError = Math.max(found.maxAbsError, size);
  }
  return found;
}

const NOWHERE = { at: -1, got: 0, expected: 0 };

/** The only array that a kernel may write. Throws a LabError where there are several, or none. */
function onlyResult(prepared: Prepared) {
  const written = multiplies(prepared) ? ["C"] : writtenBy(prepared).map(({ name }) => name);
  if (written.length === 1) return written[0];
  throw new LabError(
    "Say which array is expected to hold that, such as --expect 'y = 2 * x'. The kernel may write: " +
      `${written.join(", ") || "none"}.`,
  );
}

function expectedOf(
  prepared: Prepared,
  size: Size,
  arrays: Arrays,
  name: string,
  text: string,
  more: Record<string, number>,
) {
  const numbers = Object.entries({ ...more, ...namesAt(prepared, size) });
  const names = new Map(numbers.map(([one, value]) => [one, single(value)]));
  for (const [one, values] of arrays.values) names.set(one, values);
  const begun = arrays.values.get(name);
  const given = everyArray(prepared).find((one) => one.name === name);
  if (!begun || !given) {
    const known = [...arrays.values.keys()].join(", ") || "none";
    throw new LabError(`'${name}' is no array of the arguments. There are: ${known}.`);
  }
  const found = expectedValues(text, names, prepared.loaded).numbers;
  const { length } = begun.numbers;
  if (found.length !== 1 && found.length !== length) {
    throw new LabError(
      `'${text}' has ${comma(found.length)} elements, but ${name} has ${comma(length)}. Expect as ` +
        "many as the array holds.",
    );
  }
  const right = found.length === length ? found : new Float64Array(length).fill(found[0]);
  return { name, right, element: elementIn(prepared, given) };
}

/** Which numbers are off by more than a tolerance, relative to the larger of `usual` and the right one. */
export function wrongIn(got: Float64Array, right: Float64Array, tolerance: number, usual = 1) {
  return Uint8Array.from(got, (one, at) => {
    const most = tolerance * Math.max(usual, Math.abs(right[at]));
    const isClose = Math.abs(one - right[at]) <= most && Number.isFinite(right[at]);
    return Number(!(isSame(one, right[at]) || isClose));
  });
}
