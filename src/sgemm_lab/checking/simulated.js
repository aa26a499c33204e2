// @ts-check
// Is a kernel right? Checked by simulation in the page: on_cpu.py in JavaScript, the same launches in
// the same order, the same sentences.

import { checkSize, launchArguments, patience, WORKSPACE } from "../counting/kernel_counts.js";
import { sharedParts } from "../counting/shared_arrays.js";
import { LabError } from "../errors.js";
import { ENTRY, launchShape } from "../kernel.js";
import { EndlessLoopError, StuckError, TimeLimitError } from "../simulator/divergence.js";
import { plainest } from "../simulator/hazards.js";
import { simulate } from "../simulator/simulation.js";
import { Judge, WrongResultError } from "./judge.js";
import { QUICK_SIZES, TIME_LIMIT } from "./simulated.py";

/** @typedef {import("./judge.js").CheckResult} CheckResult */
/** @typedef {import("../counting/kernel_counts.js").Matrix} Matrix */
/** @typedef {import("../kernel.js").Kernel} Kernel */
/** @typedef {import("../kernel.js").Size} Size */

/**
 * A verdict, and what the simulator found at the size: its hazards, the plainest first.
 * @typedef {CheckResult & { hazards: import("../simulator/hazard.js").Hazard[] }} CheckedHere
 */

/**
 * Check a kernel by simulation, size by size. A launch that takes longer than `timeLimit` seconds is
 * given up, and the sizes after it are not tried.
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Size[]} [sizes]
 * @param {{ seed?: number, timeLimit?: number }} [options]
 * @returns {Generator<CheckedHere>}
 */
export function* checkHere(
  kernel,
  ptx,
  sizes = QUICK_SIZES,
  { seed = 0, timeLimit = TIME_LIMIT } = {},
) {
  for (const size of sizes) {
    const [m, n, k] = size;
    /** @type {CheckedHere} */
    const result = {
      kernel: kernel.name,
      m,
      n,
      k,
      fault: null,
      refusal: null,
      error: 0,
      hazards: [],
    };
    let late = false;
    try {
      checkSize(size);
      result.error = judged(kernel, ptx, size, seed, timeLimit, result);
    } catch (error) {
      if (error instanceof WrongResultError) {
        result.fault = error.message;
        result.error = Number.POSITIVE_INFINITY;
      } else if (error instanceof LabError) {
        result.refusal = error.message;
        late = error instanceof TimeLimitError;
      } else throw error;
    }
    yield result;
    if (late) return;
  }
}

/**
 * The largest error of a kernel in the simulator, as a share of what is allowed. Throws a
 * WrongResultError, or a LabError where the launch cannot be.
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Size} size
 * @param {number} seed
 * @param {number} timeLimit
 * @param {CheckedHere} into takes the hazards
 */
function judged(kernel, ptx, size, seed, timeLimit, into) {
  const shape = launchShape(kernel, size);
  const parts = sharedParts(kernel);
  /** @type {{ a: Matrix, c: Matrix } | null} */
  let last = null;
  /** @type {Uint32Array | null} the workspace as the last launch left it */
  let left = null;

  /** @type {(a: Matrix, b: Matrix) => Matrix} */
  function product(a, b) {
    // A simulated launch gives the same bits again; a race is found by watching the accesses, which
    // do not depend on the numbers.
    if (last?.a === a) return last.c;
    const result = launched(a, b, last === null);
    if (result.hazards.length) {
      // Warps that pass different barriers explain what else is found.
      const found = [plainest(result.hazards), ...result.warnings.slice(0, 1)];
      into.hazards = found;
      throw new WrongResultError(found.map(({ message }) => message).join(" "));
    }
    /** @type {(name: string) => Float32Array} */
    const floats = (name) => /** @type {Float32Array} */ (result.arrays[name]);
    for (const [name, given] of Object.entries({ A: a, B: b })) {
      judge.refuseChanged(name, given, { ...given, values: floats(name) });
    }
    left = /** @type {Uint32Array | undefined} */ (result.arrays[WORKSPACE]) ?? null;
    const c = { rows: a.rows, columns: b.columns, values: floats("C") };
    last = { a, c };
    return c;
  }

  /** @type {(a: Matrix, b: Matrix, checkHazards: boolean) => ReturnType<typeof simulate>} */
  function launched(a, b, checkHazards) {
    try {
      return simulate(ptx, ENTRY, shape.grid, shape.block, launchArguments(shape, a, b, left), {
        sharedBytes: shape.sharedBytes,
        sharedParts: parts,
        together: shape.workspaceBytes > 0,
        unwritten: ["C"],
        checkHazards,
        countRequests: false,
        timeLimit,
        patience: patience(size),
      });
    } catch (error) {
      if (error instanceof EndlessLoopError || error instanceof StuckError) {
        throw new WrongResultError(error.message);
      }
      throw error;
    }
  }

  const judge = new Judge(product, size, seed, kernel.arithmetic);
  return judge.run();
}
