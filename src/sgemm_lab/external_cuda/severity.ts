// How much a finding weighs: an error, or something that would happen with an assumed launch. What a
// file does not say about its launch is assumed; a finding that another launch would not show is no
// fault of the kernel.

import {
  BARRIER,
  IN_FLIGHT,
  MISALIGNED,
  OUT_OF_BOUNDS,
  RACE,
  UNWRITTEN,
} from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { asDeclared } from "./constants.ts";
import { type Prepared, placeOf } from "./launch.ts";

export type Severity = "error" | "warning" | "information";

/** Kinds of a finding that is no hazard: an array differs from what it should hold, or from what it
 * holds after blocks or warps ran in another order; or the kernel never ends. */
export const [WRONG_RESULT, ORDER, ENDLESS] = ["wrong result", "order", "endless"];

/** One finding at a source line; 0 where no line is known. */
export interface Finding {
  severity: Severity;
  kind: string;
  message: string;
  file: string;
  line: number;
  /** the other line of a race */
  otherLine: number | null;
  array: string | null;
  /** the options of `count` under which it shows; "" if it shows in any order */
  order: string;
}

export type Verdict = "right" | "wrong" | "would be wrong" | "no fault found" | "not run";

/** Kinds that follow from how threads share memory. */
export const OF_THREADS = [RACE, IN_FLIGHT, BARRIER];
/** Kinds that follow in shared memory from the launch and the numbers that the kernel is given. */
const OF_SHARED_ARRAYS = [OUT_OF_BOUNDS, MISALIGNED, UNWRITTEN];

/**
 * Whether a hazard follows from how the threads of one block share memory. With values of a template
 * that were assumed, that is not known.
 */
export const ofTheBlock = (hazard: Hazard, prepared: Prepared) =>
  OF_THREADS.includes(hazard.kind) && !isInGlobal(hazard, prepared) && !prepared.templateAssumed;

const isInGlobal = ({ array }: Hazard, { given, variables }: Prepared) =>
  [...given, ...variables.map((one) => one.array)].some(({ name }) => name && name === array);

/** Whether a hazard lies in a shared array, and follows from the launch and its numbers. */
export const inShared = (one: Hazard, prepared: Prepared) =>
  one.array !== null && !isInGlobal(one, prepared) && OF_SHARED_ARRAYS.includes(one.kind);

/**
 * "warning" for a hazard that rests on what was assumed, else "error". Races in shared memory and
 * missed barriers are errors with any launch. Accesses outside an array, unwritten elements and races
 * between blocks depend on grid and sizes.
 */
export function severityOf(hazard: Hazard, prepared: Prepared): Severity {
  const isTold = prepared.numbersTold && inShared(hazard, prepared);
  return prepared.certain || isTold || ofTheBlock(hazard, prepared) ? "error" : "warning";
}

/** A hazard or a warning of the simulator as a finding. */
export function findingOf(
  hazard: Hazard,
  prepared: Prepared,
  severity: Severity = severityOf(hazard, prepared),
  order = "",
): Finding {
  const { kind, location, otherLocation, array } = hazard;
  const { opened } = prepared;
  const values = [...opened.values].map(([name, value]) => [name, Number(value)]);
  const names = Object.fromEntries(values);
  const message = asDeclared(hazard.message, array, opened.kernel, opened.file, names);
  const { file, line } = location;
  const otherLine = otherLocation?.line ?? null;
  return { severity, kind, message, file, line, otherLine, array, order };
}

/** A finding about a whole kernel. */
export function ofKernel(
  prepared: Prepared,
  severity: Severity,
  kind: string,
  message: string,
  array: string | null = null,
): Finding {
  const [file, line] = placeOf(prepared);
  return { severity, kind, message, file, line, otherLine: null, array, order: "" };
}

/** A finding at another place. */
export const at = ({ file, line }: Pick<Finding, "file" | "line">, one: Finding): Finding => ({
  ...{ ...one, file, line },
});

/** The verdict that findings lead to; `clean` where none is an error or a warning. */
export function verdictOf(findings: Finding[], clean: Verdict): Verdict {
  if (findings.some(({ severity }) => severity === "error")) return "wrong";
  return findings.some(({ severity }) => severity === "warning") ? "would be wrong" : clean;
}
