// What is said of a kernel: the report of a check, and the sentences about one launch.

import type { CheckResult } from "../checking/judge.ts";
import { TIME_LIMIT } from "../counting/launch_limits.py";
import type { Size } from "../kernel.ts";
import { comma, sizeText } from "../text.ts";
import { textsOf } from "./arguments.ts";
import type { IndexOverflow } from "./index_overflow.ts";
import type { FoundLaunch, Prepared, Settings } from "./launch.ts";
import { multiplies, shapeAt, sizesIn } from "./launch.ts";
import type { Sizes } from "./made_launch.ts";
import { type Done, isWrong } from "./one_launch.ts";
import type { Finding, Verdict } from "./severity.ts";

/** What the caller says about a kernel. */
export interface Options {
  /** of products; null for those that reach the kernel's branches */
  sizes: Size[] | null;
  seed: number;
  /** seconds of one launch */
  timeLimit: number;
  /** for the kernel: what is begun later is left out, and the report says so */
  seconds: number;
  expect: string[];
  tolerance: number | null;
}

/** What a check says of one kernel. */
export interface KernelReport {
  kernel: string;
  file: string;
  line: number;
  verdict: Verdict;
  findings: Finding[];
  /** what was assumed, compared and tried, in sentences */
  said: string[];
  /** of a product: the result at each size, and where an index or the grid overflows */
  sizes: CheckResult[];
  limits: IndexOverflow[];
  /** the launches, with sizes of the host code, null where that makes none, that are still to be compared with references in the file */
  comparable?: { launches: [FoundLaunch, Sizes | null][]; size: Size };
}

export const SETTINGS: Settings = {
  ...{ checkHazards: true, countRequests: true, schedule: "lockstep", order: null },
  ...{
    timeLimit: TIME_LIMIT,
    only: null,
    watch: [],
    requestsOf: null,
    explain: "always",
    progress: null,
  },
};

export const SAME_VALUE = "All write the same value, so any order will do.";
export const NOT_JUDGED = "The result was not judged, for nothing was expected of an array.";

export const IN_OTHER_ORDERS = "Blocks and warps also ran in other orders";

export const inOtherOrders = (tried: string[]) =>
  tried.length ? [`${IN_OTHER_ORDERS}: ${tried.join(", ")}.`] : [];

export const toldArguments = ({ given, argumentsGiven }: Prepared) =>
  given.length && !argumentsGiven
    ? [`Arguments, told by their names and types: ${textsOf(given)}.`]
    : [];

/** What was assumed about arguments and launch, or read from the host code. */
export const assumedOf = ({ argued, assumed }: Prepared) => [argued, assumed].filter(Boolean);

/** What was left out, or assumed of variables. */
export const notesOf = ({ notes, variables }: Prepared) => [
  ...notes,
  ...variables.flatMap(({ note }) => note || []),
];

/** What was left out and assumed, what is right or wrong, and why. */
export function sentencesOf(done: Done): string[] {
  const { prepared, size, verdicts, changed, cause } = done;
  const said = [...notesOf(prepared), ...(prepared.argued ? [] : toldArguments(prepared))];
  said.push(...assumedOf(prepared));
  const shape = shapeAt(prepared, size);
  if (prepared.follows) {
    const line = prepared.host?.line;
    const [grid, block] = [shape.grid, shape.block].map((sides) => sides.join(" × "));
    said.push(`Launch, told by line ${line}: a grid of ${grid} blocks of ${block} threads.`);
  }
  if (shape.sharedAssumed) {
    said.push(
      `Dynamic shared memory, assumed: ${comma(shape.sharedBytes)} bytes, as many as a block can ` +
        "have. Say --shared-bytes where they are fewer.",
    );
  }
  for (const { name, wrong, elements } of verdicts) {
    const isProduct = name === "C" && multiplies(prepared);
    const right = isProduct ? "the exact product" : "what is expected";
    const of = isProduct ? ` of ${sizeText(size)}` : "";
    said.push(
      wrong
        ? `${name} is WRONG: ${comma(wrong)} of ${comma(elements)} elements differ from ${right}.`
        : `${name} is right: all ${comma(elements)} elements${of} equal ${right}.`,
    );
  }
  if (cause) said.push(cause);
  said.push(...changed.map((name) => `It changed ${name}, which it may only read.`));
  if (!verdicts.length) said.push(NOT_JUDGED);
  const hides = multiplies(prepared) && sizesIn(prepared) > 1 && new Set(size).size === 1;
  if (verdicts.length && !isWrong(done) && hides) {
    const [side] = size;
    const other = sizeText([side, 2 * side, Math.max(1, Math.floor(side / 2))]);
    said.push(
      "M, N and K are equal here, so that mistaking one for another does not show. Try " +
        `${other} too.`,
    );
  }
  return said;
}
