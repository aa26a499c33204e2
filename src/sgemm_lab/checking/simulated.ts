// Is a kernel right? Checked by simulation. C is judged as on a GPU, and what the simulator finds on
// the way is a fault too.

import type { Matrix } from "../counting/kernel_counts.ts";
import { checkSize, launchArguments, launchOptions, WORKSPACE } from "../counting/kernel_counts.ts";
import { LabError } from "../errors.ts";
import { ENTRY, type Kernel, launchShape, type Size } from "../kernel.ts";
import { DeadlockError, EndlessLoopError, TimeLimitError } from "../simulator/divergence.ts";
import { mostRelevant } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { simulate } from "../simulator/simulation.ts";
import { QUICK_SIZES, TIME_LIMIT } from "./judge.py";
import { type CheckResult, Judge, WrongResultError } from "./judge.ts";

/** `timeLimit` in seconds, of one launch. */
interface How {
  seed?: number;
  timeLimit?: number;
  onlyWholeNumbers?: boolean;
}

/** A verdict, and what the simulator found at the size: its hazards, the most relevant first. */
export type CheckedHere = CheckResult & { hazards: Hazard[] };

/**
 * Check a kernel by simulation, size by size. A launch that takes longer than `timeLimit` seconds
 * is given up, and the sizes after it are not tried.
 */
export function* checkHere(
  kernel: Kernel,
  ptx: string,
  sizes: Size[] = QUICK_SIZES,
  how: How = {},
): Generator<CheckedHere> {
  for (const size of sizes) {
    const [result, late] = checkAt(kernel, ptx, size, how);
    yield result;
    if (late) return;
  }
}

/** Check a kernel at one size; `late` where the time was up. */
export function checkAt(
  kernel: Kernel,
  ptx: string,
  size: Size,
  { seed = 0, timeLimit = TIME_LIMIT, onlyWholeNumbers = false }: How,
): [result: CheckedHere, late: boolean] {
  const [m, n, k] = size;
  const result: CheckedHere = {
    ...{ kernel: kernel.name, m, n, k },
    ...{ fault: null, refusal: null, error: 0, hazards: [] },
  };
  try {
    checkSize(size);
    const judge = judgeOf(kernel, ptx, size, seed, timeLimit, result);
    result.error = judge.run(onlyWholeNumbers);
  } catch (error) {
    if (error instanceof WrongResultError) {
      result.fault = error.message;
      result.error = Number.POSITIVE_INFINITY;
    } else if (error instanceof LabError) {
      result.refusal = error.message;
      return [result, error instanceof TimeLimitError];
    } else throw error;
  }
  return [result, false];
}

/**
 * What judges a kernel in the simulator. It throws a WrongResultError, or a LabError where the
 * launch cannot be.
 * @param into takes the hazards
 */
function judgeOf(
  kernel: Kernel,
  ptx: string,
  size: Size,
  seed: number,
  timeLimit: number,
  into: CheckedHere,
) {
  const shape = launchShape(kernel, size);
  const options = launchOptions(kernel, shape, size);
  let last: { a: Matrix; c: Matrix } | null = null;
  /** the workspace as the last launch left it */
  let left: Uint32Array | null = null;

  function product(a: Matrix, b: Matrix): Matrix {
    // A simulated launch gives the same bits again; a race is found by watching the accesses, which
    // do not depend on the numbers.
    if (last?.a === a) return last.c;
    const result = launched(a, b, last === null);
    if (result.hazards.length) {
      // Warps that pass different barriers explain what else is found.
      const found = [mostRelevant(result.hazards), ...result.warnings.slice(0, 1)];
      into.hazards = found;
      throw new WrongResultError(found.map(({ message }) => message).join(" "));
    }
    const floats = (name: string): Float32Array => result.arrays[name] as Float32Array;
    for (const [name, given] of Object.entries({ A: a, B: b })) {
      judge.refuseChanged(name, given, { ...given, values: floats(name) });
    }
    left = (result.arrays[WORKSPACE] as Uint32Array | undefined) ?? null;
    const c = { rows: a.rows, columns: b.columns, values: floats("C") };
    last = { a, c };
    return c;
  }

  function launched(a: Matrix, b: Matrix, checkHazards: boolean): ReturnType<typeof simulate> {
    try {
      return simulate(ptx, ENTRY, shape.grid, shape.block, launchArguments(shape, a, b, left), {
        ...options,
        checkHazards,
        watchRacesIn: checkHazards ? ["C", WORKSPACE] : [],
        countRequests: false,
        timeLimit,
      });
    } catch (error) {
      if (error instanceof EndlessLoopError || error instanceof DeadlockError) {
        throw new WrongResultError(error.message);
      }
      throw error;
    }
  }

  const judge = new Judge(product, size, seed, kernel.arithmetic);
  return judge;
}
