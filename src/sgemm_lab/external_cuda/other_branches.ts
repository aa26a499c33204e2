// Run an assumed launch again with other numbers where it did not come to every access of its kernel:
// a comparison with a limit, or a lock that is taken, may depend on them.

import { orNull } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { TimeLimitError } from "../simulator/divergence.ts";
import { FLOAT_ORDER, OVERFLOW } from "../simulator/hazard_types.ts";
import { parse } from "../simulator/ptx.ts";
import { isWhole } from "./elements.ts";
import { arraysAt, changed, SPREAD } from "./initial_values.ts";
import {
  type Arrays,
  multiplies,
  type Prepared,
  product,
  type Settings,
  shapeAt,
} from "./launch.ts";
import { type Done, runAndWeigh } from "./one_launch.ts";
import { type Finding, findingOf, OF_THREADS } from "./severity.ts";

/** Time limit of a launch, in seconds. */
const SECONDS = 2;
const ODD: string[] = [FLOAT_ORDER, OVERFLOW];
const ACCESSES = /^(ld|st|atom|red)$/;
const HALVES = /\b(?:add|sub|mul|fma)\S*\.f16/;
/** Other floats, and what is said of them. */
const OTHERS: [said: string, change: (value: number) => number][] = [
  ["arrays of floats hold zeros", () => 0],
  ["arrays of floats hold numbers from 0 to 1", (value) => Math.abs(value) / SPREAD],
];
/** Larger ones: sums of squares leave what half precision holds, sums of either sign do not. */
const LARGER: (typeof OTHERS)[number] = ["arrays hold numbers up to 32", (value) => 4 * value];
const EXTREMES = /\b(?:atom|red)\S*\.(?:min|max)\.s32/;
const NEGATIVE: (typeof OTHERS)[number] = [
  "arrays of floats hold negative numbers",
  (value) => -1 - Math.abs(value),
];

/** Warnings about races on a way that the launch did not take, halves that overflow, negative floats. */
export function inOtherBranches({ prepared, size, result }: Done, settings: Settings): Finding[] {
  if (prepared.certain || prepared.argumentsGiven || multiplies(prepared)) return [];
  const seen = linesOf(result);
  const all = parse(prepared.ptx).get(prepared.symbol)?.instructions ?? [];
  const isLeft = all.some(({ parts, location: { file, line } }) => {
    return ACCESSES.test(parts[0]) && !seen.has(`${line} ${file}`);
  });
  const others = [
    ...(isLeft ? OTHERS : []),
    ...(HALVES.test(prepared.ptx) ? [LARGER] : []),
    ...(EXTREMES.test(prepared.ptx) ? [NEGATIVE] : []),
  ];
  for (const [said, change] of others) {
    const arrays = changed(arraysAt(prepared, size), prepared, (element, numbers, use) => {
      if (!isWhole(element)) return numbers.map(change);
      // Integers that are changed may be locks or counters.
      return use === "in" ? numbers : numbers.map(() => 0);
    });
    const found = (orNull(() => shown(prepared, size, arrays, settings)) ?? [])
      .filter(({ kind, location: { file, line } }) => {
        return ODD.includes(kind) || (OF_THREADS.includes(kind) && !seen.has(`${line} ${file}`));
      })
      .map((one) => findingOf(one, prepared, "warning"));
    const where = `It happens where ${said}.`;
    if (found.length) return found.map((one) => ({ ...one, message: `${one.message} ${where}` }));
  }
  return [];
}

/** The hazards and warnings of the first blocks, as far as there is time. */
function shown(prepared: Prepared, size: Size, arrays: Arrays, settings: Settings) {
  const only = [0, 1, 2].slice(0, product(shapeAt(prepared, size).grid));
  const timeLimit = Math.min(SECONDS, settings.timeLimit);
  try {
    const { result } = runAndWeigh(prepared, size, arrays, { ...settings, timeLimit, only });
    return [...result.hazards, ...result.warnings];
  } catch (error) {
    if (error instanceof TimeLimitError) return error.hazards;
    throw error;
  }
}

const linesOf = ({ counts }: Done["result"]) =>
  new Set(counts.lines.map(({ line, file }) => `${line} ${file}`));
