// Run an assumed launch again with other numbers: an access that it did not come to, a lock that is taken,
// a sum that overflows or the start of a maximum may depend on them.

import { orNull } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { TimeLimitError } from "../simulator/divergence.ts";
import { FLOAT_ORDER, type Hazard, OVERFLOW } from "../simulator/hazard_types.ts";
import { parse } from "../simulator/ptx.ts";

import { isWhole, limitsOf } from "./elements.ts";
import { arraysAt, type Change, changed, SPREAD } from "./initial_values.ts";
import {
  type Arrays,
  brief,
  multiplies,
  type Prepared,
  product,
  type Settings,
  shapeAt,
  writtenBy,
} from "./launch.ts";
import { type Done, numbersIn, runAndWeigh } from "./one_launch.ts";
import { DISTINCT, isPick, pickAt } from "./program/wrong_starts.ts";
import { findingOf, inShared, OF_THREADS, ofKernel, WRONG_RESULT } from "./severity.ts";

/** Time limit of a launch, in seconds. */
const SECONDS = 2;
const ODD: string[] = [FLOAT_ORDER, OVERFLOW];
const ACCESSES = /^(ld|st|atom|red)$/;
const HALVES = /\b(?:add|sub|mul|fma)\S*\.f16/;
const EXTREMES = /\b(?:atom|red)\S*\.(?:min|max)\.s32/;
/** What takes unsigned integers apart, and a factor that brings out every bit of one. */
const [PARTS, BITS] = [/\b(?:shr\.u|bfe\.u|prmt)/, 0x9e3779b1];

/** What divides, and what compares floats. */
const DIVIDES = /\b(?:div|rcp|rsqrt)\S*\.f(?:32|64)/;
const COMPARES = /\b(?:max|min|setp\.[gl][te]u?)\S*\.(?:f16|bf16|f32|f64)/;
/** A float from 1 to 2; loads for a store of a reduction. */
const [USUAL, LOADS] = [1.5, 3];

/** Warnings about races on a way that the launch did not take, halves that overflow, negative floats. */
export function inOtherBranches({ prepared, size, result }: Done, settings: Settings) {
  if (prepared.certain || prepared.argumentsGiven || multiplies(prepared)) return [];
  const { ptx, symbol } = prepared;
  const seen = linesOf(result);
  const all = parse(ptx).get(symbol)?.instructions ?? [];
  const isLeft = all.some(({ parts, location: { file, line } }) => {
    return ACCESSES.test(parts[0]) && !seen.has(`${line} ${file}`);
  });
  const isNew = ({ kind, location: { file, line } }: Hazard) =>
    ODD.includes(kind) || (OF_THREADS.includes(kind) && !seen.has(`${line} ${file}`));
  // Integers that are changed may be locks or counters.
  const floats =
    (change: (value: number) => number): Change =>
    (element, numbers, { use }) =>
      isWhole(element) ? numbers.map((one) => (use === "in" ? one : 0)) : numbers.map(change);
  const packed: Change = (element, numbers, { use }) => {
    const isPacked = use === "in" && element.stored.startsWith("u") && isWhole(element);
    const most = isPacked ? Math.min(2 ** 32, limitsOf(element)[1] + 1) : 0;
    return most ? numbers.map((_, at) => (at * BITS) % most) : numbers;
  };
  const others: [isTried: boolean, said: string, change: Change][] = [
    [isLeft, "arrays of floats hold zeros", floats(() => 0)],
    [isLeft, "arrays of floats hold numbers from 0 to 1", floats((one) => Math.abs(one) / SPREAD)],
    // Sums of squares leave what half precision holds, sums of either sign do not.
    [HALVES.test(ptx), "arrays hold numbers up to 128", floats((one) => 16 * one)],
    [EXTREMES.test(ptx), "arrays of floats hold negative numbers", floats((x) => -1 - Math.abs(x))],
    [PARTS.test(ptx), "integers hold any number of their type", packed],
  ];
  for (const [isTried, said, change] of others) {
    const arrays = isTried && changed(arraysAt(prepared, size), prepared, change);
    const shows = arrays ? orNull(() => shown(prepared, size, arrays, settings)) : null;
    const found = (shows ?? [])
      .filter((one) => (change === packed ? inShared(one, prepared) : isNew(one)))
      .map((one) => findingOf(one, prepared, "warning"));
    const where = `It happens where ${said}.`;
    if (found.length) return found.map((one) => ({ ...one, message: `${one.message} ${where}` }));
  }
  return [];
}

const limited = (prepared: Prepared, size: Size, settings: Settings): Settings => ({
  ...brief(settings, SECONDS),
  only: [0, 1, 2].slice(0, product(shapeAt(prepared, size).grid)),
});

/** The hazards and warnings of the first blocks, as far as there is time. */
function shown(prepared: Prepared, size: Size, arrays: Arrays, settings: Settings) {
  try {
    const { result } = runAndWeigh(prepared, size, arrays, limited(prepared, size, settings));
    return [...result.hazards, ...result.warnings];
  } catch (error) {
    if (error instanceof TimeLimitError) return error.hazards;
    throw error;
  }
}

const linesOf = ({ counts }: Done["result"]) =>
  new Set(counts.lines.map(({ line, file }) => `${line} ${file}`));

/** Warnings about NaN where flags are set, and about a maximum or minimum with a wrong start. */
export function inOtherContents({ prepared: own, size }: Done, settings: Settings) {
  if (own.certain || own.argumentsGiven || multiplies(own)) return [];
  // A factor of 1 may leave 0 to divide by.
  const given = own.given.map((one) =>
    one.kind === "number" && one.text.includes(".") ? { ...one, text: "0.5" } : one,
  );
  const prepared = { ...own, given };
  const quick = { ...limited(prepared, size, settings), countRequests: true };
  const run = (change: Change) => {
    const arrays = changed(arraysAt(prepared, size), prepared, change);
    return orNull(() => runAndWeigh(prepared, size, arrays, quick));
  };
  const written = writtenBy(prepared).map(({ name }) => name);
  const warning = (name: string, text: string) => [
    ofKernel(prepared, "warning", WRONG_RESULT, `${name} holds ${text}`, name),
  ];
  const inputs = DIVIDES.test(prepared.ptx) ? [1, 1 / DISTINCT] : [];
  const empty = inputs.map((least) => {
    const ran = run((element, numbers, { use }) => {
      if (isWhole(element)) return use === "in" ? numbers.map(() => 1) : numbers;
      return numbers.map((one) => least + Math.abs(one) / DISTINCT);
    });
    return written.filter((one) => ran && numbersIn(ran.after, one).some(Number.isNaN));
  });
  const none = empty[0]?.find((one) => empty[1].includes(one));
  if (none) {
    return warning(none, "NaN where all integers of its inputs are 1, and all floats above 0.");
  }
  if (!COMPARES.test(prepared.ptx)) return [];
  const runs = [1, -1].map((sign) => {
    const drawn = (_: number, at: number) => sign * pickAt(at);
    const ran = run((element, numbers, { use }) =>
      isWhole(element) ? numbers : numbers.map(use === "in" ? drawn : () => sign * USUAL),
    );
    const { total = null } = ran?.result.counts ?? {};
    const isReduction = total && total.global_load_bytes > LOADS * total.global_store_bytes;
    return written.map((name) =>
      ran && isReduction ? numbersIn(ran.after, name).filter((one) => one !== sign * USUAL) : [],
    );
  });
  const name = written.find((_, at) =>
    [runs, runs.toReversed()].some(
      ([{ [at]: own }, { [at]: other }]) =>
        Math.min(own.length, other.length) > 0 &&
        own.every(isPick) &&
        other.every((one) => Math.abs(one) < 1),
    ),
  );
  const text =
    "one of the numbers of its inputs where all have one sign, and none of them where all have the " +
    "other. A maximum starts from -INFINITY or the first element, a minimum from INFINITY.";
  return name ? warning(name, text) : [];
}
