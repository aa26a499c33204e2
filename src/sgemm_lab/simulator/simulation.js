// @ts-check
// Simulate one kernel launch, the entry point of the simulator: simulation.py in JavaScript. It
// runs to its end without a pause, so a page calls it in a Worker.

import { LabError } from "../errors.js";
import { mergeSharedAccesses } from "./access_merging.js";
import { collect, RequestCounter } from "./counts.js";
import { StuckError } from "./divergence.js";
import { Tally } from "./execution_counts.js";
import { Launch } from "./group.js";
import { HazardLog } from "./hazards.js";
import { refuseImpossible } from "./limits.js";
import { flowOf, runLockstep, runWarpAfterWarp } from "./machine.js";
import { globalMemory, layOut, readBack } from "./memory.js";
import { GLOBAL_BASE } from "./memory.py";
import { parse } from "./ptx.js";
import { sentence } from "./sentences.js";
import { RaceDetector } from "./shared_races.js";
import { TraceRecorder } from "./trace.js";
import { NeverSet } from "./uninitialized_values.js";
import { unrollShortLoops } from "./unroll.js";
import { ClockRaceDetector } from "./vector_clock_races.js";
import { synchronisesInParts } from "./vector_clocks.js";
import { WarpRecorder } from "./warp_requests.js";

/** @typedef {import("./counts.js").Counts} Counts */
/** @typedef {import("./control_flow.js").BasicBlock} BasicBlock */
/** @typedef {import("./group.js").Dim3} Dim3 */
/** @typedef {import("./group.js").Observer} Observer */
/** @typedef {import("./hazard.js").Hazard} Hazard */
/** @typedef {import("./machine.js").Progress} Progress */
/** @typedef {import("./memory.js").TypedArray} TypedArray */
/** @typedef {import("./access_merging.js").Merged} Merged */
/** @typedef {import("./ptx.js").PtxKernel} PtxKernel */
/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./warp_requests.js").WarpRequest} WarpRequest */
/** @typedef {"lockstep" | "warps" | "threads"} Schedule */

/**
 * An argument: a number, or the elements of an array, with its shape where that is known.
 * @typedef {number | TypedArray | { data: TypedArray, shape: number[] }} Argument
 *
 * `unwritten`: names of arrays that hold nothing yet, such as C: reading them is a hazard.
 * `checkHazards`: whether to look for races in shared memory, true unless said. Illegal addresses,
 * missed barriers and reads of unwritten memory are always found. `countRequests`: whether to count
 * memory requests, true unless said. `trace`: whether to record every access, `products` with every
 * multiply-add. `requestsOf`: a block and a warp of it whose memory requests are wanted, address by
 * address. `watching`: others that want to hear of every access. `schedule`, `sharedParts`,
 * `together`, `patience`, `timeLimit` and `progress` are as in simulation.py.
 * @typedef {object} Options
 * @property {number} [sharedBytes]
 * @property {Iterable<string>} [unwritten]
 * @property {boolean} [checkHazards]
 * @property {boolean} [countRequests]
 * @property {boolean} [trace]
 * @property {boolean} [products]
 * @property {[number, number] | null} [requestsOf]
 * @property {Observer[]} [watching]
 * @property {Schedule} [schedule]
 * @property {[string, number, number][]} [sharedParts]
 * @property {boolean} [together]
 * @property {number | null} [patience]
 * @property {number} [timeLimit]
 * @property {Progress | null} [progress]
 *
 * What a simulated launch did. `arrays`: all arrays after the launch; those passed in are unchanged.
 * `counts`: as Counts.to_json in Python. `hazards`: what is wrong with the kernel, in the order it
 * was met. `warnings`: what is odd, but right on a GPU.
 * @typedef {object} Result
 * @property {Record<string, TypedArray>} arrays
 * @property {Counts} counts
 * @property {Hazard[]} hazards
 * @property {Hazard[]} warnings
 * @property {Trace | null} trace
 * @property {WarpRequest[] | null} requests
 */

/**
 * Run a kernel's PTX and count its memory requests as the hardware does. Throws a LabError with a
 * sentence, of a kind of its own for each fault that Python's has: PtxError, EndlessLoopError,
 * TimeLimitError, StuckError.
 * @param {string} ptx
 * @param {string} entry
 * @param {number[]} grid blocks along x, y, z; missing axes are 1
 * @param {number[]} block threads along x, y, z
 * @param {Map<string, Argument> | Record<string, Argument>} args by name, in order
 * @param {Options} options
 * @returns {Result}
 */
export function simulate(ptx, entry, grid, block, args, options = {}) {
  const { sharedBytes = 0, schedule = "lockstep", requestsOf = null } = options;
  const { kernel, blocks, merged } = understand(ptx, entry, sharedBytes);
  const recorder = options.trace ? new TraceRecorder() : null;
  const log = new HazardLog(recorder ? recorder.onFault.bind(recorder) : null);
  const counter = new RequestCounter(merged);
  const warp = requestsOf && new WarpRecorder(merged, ...requestsOf);
  /** @type {Observer[]} */
  const observers = [...(options.watching ?? [])];
  if (options.countRequests ?? true) observers.unshift(counter);
  if (options.checkHazards ?? true) {
    const Detector = synchronisesInParts(kernel) ? ClockRaceDetector : RaceDetector;
    observers.push(new Detector(log, kernel.instructions));
  }
  if (recorder) observers.push(recorder);
  if (warp) observers.push(warp);
  const given = args instanceof Map ? args : new Map(Object.entries(args));
  const arrays = arraysOf(given);
  const memory = globalMemory(arrays, checkedNames(options.unwritten ?? [], arrays));
  const neverSet = new NeverSet(log);
  const launch = new Launch({
    kernel,
    grid: three(grid, "grid"),
    block: three(block, "block"),
    parameters: parametersOf(kernel, given, memory.arrays),
    globalMemory: memory,
    sharedBytes,
    hazards: log,
    neverSet,
    observers,
    products: options.products ? recorder : null,
    sharedParts: options.sharedParts ?? [],
    together: options.together ?? false,
    patience: options.patience ?? null,
    timeLimit: options.timeLimit ?? Number.POSITIVE_INFINITY,
  });
  refuseImpossible(launch);
  const tally = new Tally(blocks.length, kernel.instructions.length);
  try {
    const { progress = null } = options;
    if (schedule === "lockstep") runLockstep(launch, blocks, tally, progress);
    else runWarpAfterWarp(launch, blocks, tally, progress, schedule === "threads");
  } catch (error) {
    // What was found on the way tells more than where the threads wait.
    if (!(error instanceof StuckError)) throw error;
    neverSet.tellAll();
    if (!log.found.length) throw error;
  }
  return {
    arrays: readBack(memory),
    counts: collect(counter, kernel.instructions, blocks, tally),
    hazards: log.found,
    warnings: log.warnings,
    trace: recorder?.finish() ?? null,
    requests: warp?.requests ?? null,
  };
}

/** @typedef {{ kernel: PtxKernel, blocks: BasicBlock[], merged: Merged }} Understood */

const MOST_REMEMBERED = 32;
/** @type {Map<string, Understood>} */
const remembered = new Map();

/**
 * Everything about a kernel that does not depend on the launch; remembered, never changed.
 * @param {string} ptx
 * @param {string} entry
 * @param {number} sharedBytes
 * @returns {Understood}
 */
function understand(ptx, entry, sharedBytes) {
  const key = `${sharedBytes} ${entry} ${ptx}`;
  const before = remembered.get(key);
  if (before) return before;
  const kernels = parse(ptx);
  const found = kernels.get(entry);
  if (!found) {
    throw new LabError(sentence("run.entry", { entry, names: [...kernels.keys()].join(", ") }));
  }
  const kernel = unrollShortLoops(found);
  const blocks = flowOf(kernel);
  const merged = mergeSharedAccesses(blocks, layOut(kernel.shared, sharedBytes));
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(key, { kernel, blocks, merged });
  return { kernel, blocks, merged };
}

/**
 * @param {number[]} sizes
 * @param {"grid" | "block"} what
 * @returns {Dim3}
 */
function three(sizes, what) {
  if (sizes.length < 1 || sizes.length > 3 || Math.min(...sizes) < 1) {
    const text = sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
    throw new LabError(sentence("run.sizes", { what, sizes: text }));
  }
  const [x, y = 1, z = 1] = sizes;
  return [x, y, z];
}

/**
 * The arguments that are arrays.
 * @param {Map<string, Argument>} args
 */
function arraysOf(args) {
  /** @type {Map<string, { data: TypedArray, shape: number[] }>} */
  const arrays = new Map();
  for (const [name, value] of args) {
    if (typeof value === "number") continue;
    arrays.set(name, "data" in value ? value : { data: value, shape: [value.length] });
  }
  return arrays;
}

/**
 * @param {Iterable<string>} unwritten
 * @param {Map<string, unknown>} arrays
 */
function checkedNames(unwritten, arrays) {
  const names = new Set(unwritten);
  const [unknown] = [...names].filter((name) => !arrays.has(name)).sort();
  if (unknown !== undefined) throw new LabError(sentence("run.unwritten", { name: unknown }));
  return names;
}

/**
 * The value of each parameter: where an array lies, or a number.
 * @param {PtxKernel} kernel
 * @param {Map<string, Argument>} args
 * @param {{ name: string, start: number }[]} arrays
 */
function parametersOf(kernel, args, arrays) {
  const { name: entry, parameters } = kernel;
  if (args.size !== parameters.length) {
    const [takes, given] = [parameters.length, args.size];
    throw new LabError(sentence("run.arguments", { entry, takes, given }));
  }
  const addresses = new Map(arrays.map(({ name, start }) => [name, GLOBAL_BASE + start]));
  return new Map(
    [...args].map(([name, value], at) => {
      const { name: parameter, type } = parameters[at];
      // A pointer and a 64-bit number look the same in PTX, but no narrower type is a pointer.
      if (typeof value !== "number" && type !== "u64" && type !== "b64") {
        throw new LabError(sentence("run.number", { name, entry }));
      }
      return [parameter, addresses.get(name) ?? Number(value)];
    }),
  );
}
