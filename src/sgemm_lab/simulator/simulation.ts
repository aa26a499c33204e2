// Simulate one kernel launch: the entry point of the simulator. It runs to its end without a pause,
// so a page calls it in a Worker.

import { LabError } from "../errors.ts";
import { FLOAT_BYTES } from "../hardware.py";
import { MAP_BYTES } from "../tensor_map.py";
import { addressOf as mapAddress, type TensorMap } from "../tensor_map.ts";
import { type Merged, mergeSharedAccesses } from "./access_merging.ts";
import { BlockBarrierRaceDetector } from "./block_barrier_races.ts";
import type { BasicBlock } from "./control_flow.ts";
import { type Counts, collect, RequestCounter } from "./counts.ts";
import { DeadlockError, TimeLimitError } from "./divergence.ts";
import { Tally } from "./execution_counts.ts";
import { fuseProducts } from "./fma_contraction.ts";
import { GlobalRaceDetector } from "./global_races.ts";
import type { EarlyUse, Launch, Observer, TensorMaps, UnsetReads } from "./group.ts";
import { launchOf } from "./group.ts";
import { HazardLog, OUT_OF_BOUNDS, UNWRITTEN } from "./hazard_log.ts";
import type { Dim3, Hazard } from "./hazard_types.ts";
import { Image, type Sampling } from "./images.ts";
import { refuseImpossible } from "./limits.ts";
import { flowOf, type Progress, runLockstep, runWarpAfterWarp } from "./machine.ts";
import type { Memory, ShapedArray, TypedArray } from "./memory.ts";
import { GLOBAL_BASE, globalMemory, layOut, readBack } from "./memory.ts";
import { type PtxKernel, parse } from "./ptx.ts";
import { sentence } from "./sentences.ts";
import { type Trace, TraceRecorder } from "./trace.ts";
import { unsetReads } from "./uninitialized_registers.ts";
import { UninitializedValues } from "./uninitialized_values.ts";
import { unrollShortLoops } from "./unroll.ts";
import { arrayOf, arraysIn, bytesOf, type Struct } from "./variables.ts";
import { VectorClockRaceDetector } from "./vector_clock_races.ts";
import { synchronisesInParts } from "./vector_clocks.ts";
import { WarpRecorder, type WarpRequest } from "./warp_requests.ts";
import { earlyUses } from "./wgmma_operations.ts";

/**
 * The barrier of `grid.sync()`, whose address a GPU has in two registers of its own. The first of its
 * words is the size, the second counts blocks, as CUDA's own header has it.
 */
const WORKSPACE = "the barrier of the grid";

export type Schedule = "lockstep" | "warps" | "threads";

/**
 * An argument: a number, a tensor map, a struct, or the elements of an array, with its shape where
 * known.
 */
export type Argument = number | bigint | TypedArray | ShapedArray | TensorMap | Struct;
type Arguments = Map<string, Argument>;
type Addresses = ReadonlyMap<string, number>;

/**
 * `unwritten`: names of arrays that hold nothing yet, such as C: reading them is a hazard.
 * `filledTo`: of arrays of which only the first bytes hold something, how many those are.
 * `variables`: what `__device__` and `__constant__` variables hold, by their names in the PTX;
 * others start as the source says, or with zeros. `starts`: how many bytes into its array an
 * argument points, where that is not its start. `reached`: arrays that no argument names, but pointers
 * in others. `images`: which arguments are textures or surfaces,
 * and how each is read; their arrays have the shape (depth or layers, height, width, numbers of an
 * element).
 * `checkHazards`: whether to look for races in shared memory, true unless said. Illegal addresses,
 * missed barriers and reads of unwritten memory are always found. `watchRacesIn`: names of arrays in
 * global memory in which to look for races too. `countRequests`: whether to count
 * memory requests, true unless said. `trace`: whether to record every access, `products` with every
 * multiply-add. `requestsOf`: a block and a warp of it whose memory requests are wanted, address by
 * address. `watching`: more observers of every access. `onlyBlocks`: numbers of the blocks to run,
 * in order; null for all. `warpOrder`: of a schedule that runs one warp after another, the numbers
 * of the warps. `isHasty`: see group.ts. `schedule`, `sharedParts`,
 * `cooperative`, `joinProducts`, `maxBasicBlocks`, `timeLimit` and `progress`:
 * see simulation.py.
 */
export interface Options {
  sharedBytes?: number;
  unwritten?: Iterable<string>;
  filledTo?: Record<string, number>;
  variables?: Record<string, ShapedArray>;
  starts?: Record<string, number>;
  reached?: Record<string, ShapedArray>;
  images?: Record<string, Sampling>;
  checkHazards?: boolean;
  watchRacesIn?: Iterable<string>;
  countRequests?: boolean;
  trace?: boolean;
  products?: boolean;
  requestsOf?: [number, number] | null;
  watching?: Observer[];
  schedule?: Schedule;
  onlyBlocks?: number[] | null;
  warpOrder?: number[] | null;
  sharedParts?: [string, number, number][];
  cooperative?: boolean;
  joinProducts?: boolean;
  maxBasicBlocks?: number | null;
  timeLimit?: number;
  isHasty?: boolean;
  progress?: Progress | null;
}

/**
 * What a simulated launch did. `arrays`: all arrays after the launch; those passed in are
 * unchanged. `states`: of the arrays that came with the states of their bytes those after the launch.
 * `addresses`: where each array lay. `hazards`: what is wrong with the kernel, in the order in which it was found.
 * `warnings`: what is odd, but right on a GPU. `isPartial`: threads read what is not held of a large array,
 * and did nothing further.
 */
export interface Result {
  arrays: Record<string, TypedArray>;
  states: Record<string, Uint8Array>;
  addresses: ReadonlyMap<string, number>;
  counts: Counts;
  hazards: Hazard[];
  warnings: Hazard[];
  isPartial: boolean;
  trace: Trace | null;
  requests: WarpRequest[] | null;
}

/** A launch: a kernel of some PTX with its arguments by name, in order. */
export interface Call {
  ptx: string;
  entry: string;
  /** blocks along x, y, z; missing axes are 1 */
  grid: number[];
  /** threads along x, y, z */
  block: number[];
  args: Arguments;
  options: Options;
}

/** Watches the launches of a program, as a profiler does. */
export interface LaunchTool {
  /** Hears of a launch before it runs; gives what runs in its place. */
  begins(call: Call): Call;
  ends(call: Call, result: Result): void;
}

let tool: LaunchTool | null = null;

/** Let a tool watch every launch that a function simulates; null for none. */
export function watchedBy<Found>(watching: LaunchTool | null, run: () => Found): Found {
  const before = tool;
  tool = watching;
  try {
    return run();
  } finally {
    tool = before;
  }
}

/** Let the tool hear of a launch that does not run; what would run in its place. */
export const note = (call: Call) => tool?.begins(call) ?? call;

/**
 * Run a kernel's PTX and count its memory requests as the hardware does. Throws a LabError with a
 * sentence, of a kind of its own for each fault that Python's has: PtxError, EndlessLoopError,
 * TimeLimitError, DeadlockError.
 * @param grid blocks along x, y, z; missing axes are 1
 * @param block threads along x, y, z
 * @param args by name, in order
 */
export function simulate(
  ptx: string,
  entry: string,
  grid: number[],
  block: number[],
  args: Map<string, Argument> | Record<string, Argument>,
  options: Options = {},
): Result {
  const given = args instanceof Map ? args : new Map(Object.entries(args));
  const call = { ptx, entry, grid, block, args: given, options };
  if (!tool) return simulated(call);
  const changed = tool.begins(call);
  const result = simulated(changed);
  tool.ends(changed, result);
  return result;
}

function simulated({ ptx, entry, grid, block, args: given, options }: Call): Result {
  const { sharedBytes = 0, schedule = "lockstep", requestsOf = null, variables = {} } = options;
  const { kernel, blocks, merged, early, unset } = understand(
    ptx,
    entry,
    sharedBytes,
    options.joinProducts ?? false,
  );
  const recorder = options.trace ? new TraceRecorder() : null;
  const log = new HazardLog(recorder ? recorder.onFault.bind(recorder) : null);
  const counter = new RequestCounter(merged);
  const warp = requestsOf && new WarpRecorder(merged, ...requestsOf);
  const observers: Observer[] = [...(options.watching ?? [])];
  if (options.countRequests ?? true) observers.unshift(counter);
  if (options.checkHazards ?? true) {
    const Detector = synchronisesInParts(kernel)
      ? VectorClockRaceDetector
      : BlockBarrierRaceDetector;
    observers.push(new Detector(log, kernel.instructions));
  }
  if (recorder) observers.push(recorder);
  if (warp) observers.push(warp);
  const watched = new Set(options.watchRacesIn);
  if (watched.size) {
    // At the barrier of the grid blocks synchronize.
    observers.push(new GlobalRaceDetector(log, kernel.instructions, watched.add(WORKSPACE)));
  }
  const arrays = new Map([...arraysOf(given), ...Object.entries(options.reached ?? {})]);
  const placed = new Map([...arrays, ...hidden(kernel, given, variables)]);
  const filledTo = new Map(Object.entries(options.filledTo ?? {}));
  for (const name of checkedNames(options.unwritten ?? [], arrays)) filledTo.set(name, 0);
  const memory = globalMemory(placed, filledTo);
  const addresses = addressesIn(memory);
  const workspace = addresses.get(WORKSPACE) ?? 0;
  const uninitialized = new UninitializedValues(log);
  const launch = launchOf({
    kernel,
    grid: three(grid, "grid"),
    block: three(block, "block"),
    parameters: parametersOf(kernel, given, addresses, options.starts ?? {}),
    variables: filled(memory, kernel, given, placed, variables, options.starts ?? {}),
    images: imagesOf(memory, options.images ?? {}),
    globalMemory: memory,
    sharedBytes,
    hazards: log,
    uninitialized,
    earlyUses: early,
    tensorMaps: tensorMapsOf(kernel, given, addresses),
    observers,
    products: options.products ? recorder : null,
    sharedParts: options.sharedParts ?? [],
    chosen: options.onlyBlocks ?? null,
    cooperative: options.cooperative || workspace > 0,
    workspace,
    unset,
    maxBasicBlocks: options.maxBasicBlocks ?? null,
    timeLimit: options.timeLimit ?? Number.POSITIVE_INFINITY,
    isHasty: options.isHasty ?? false,
  });
  refuseImpossible(launch);
  const tally = new Tally(blocks.length, kernel.instructions.length);
  try {
    const { progress = null } = options;
    // One block after another would wait for ever at a barrier of the grid.
    if (schedule === "lockstep" || workspace) runLockstep(launch, blocks, tally, progress);
    else {
      const thread = schedule === "threads";
      runWarpAfterWarp(launch, blocks, tally, progress, thread, options.warpOrder);
    }
  } catch (error) {
    // What was found before says more than where the threads wait.
    if (error instanceof TimeLimitError) error.hazards = sure(launch, log.found);
    if (!(error instanceof DeadlockError)) throw error;
    uninitialized.reportAll();
    if (!log.found.length) throw error;
  }
  return {
    arrays: readBack(memory),
    states: Object.fromEntries(
      memory.arrays.flatMap(({ name, start, bytes }) =>
        arrays.get(name)?.state ? [[name, memory.state.slice(start, start + bytes)]] : [],
      ),
    ),
    addresses,
    counts: collect(counter, kernel.instructions, blocks, tally),
    hazards: sure(launch, log.found),
    warnings: log.warnings,
    isPartial: launch.isPartial,
    trace: recorder?.finish() ?? null,
    requests: warp?.requests ?? null,
  };
}

/** What does not depend on what is not held of large arrays: where other threads access, if all else is known. */
function sure({ isPartial }: Launch, found: Hazard[]) {
  if (!isPartial) return found;
  const isKnown = !found.some(({ kind }) => kind === UNWRITTEN);
  return found.filter(({ kind }) => isKnown && kind === OUT_OF_BOUNDS);
}

interface Understood {
  kernel: PtxKernel;
  blocks: BasicBlock[];
  merged: Merged;
  early: Map<number, EarlyUse>;
  unset: UnsetReads;
}

const MOST_REMEMBERED = 32;
const remembered: Map<string, Understood> = new Map();

/** Everything about a kernel that does not depend on the launch; remembered, never changed. */
function understand(ptx: string, entry: string, sharedBytes: number, joinProducts: boolean) {
  const key = `${sharedBytes} ${joinProducts} ${entry} ${ptx}`;
  const before = remembered.get(key);
  if (before) return before;
  const kernels = parse(ptx);
  const found = kernels.get(entry);
  if (!found) {
    throw new LabError(sentence("run.entry", { entry, names: [...kernels.keys()].join(", ") }));
  }
  const unrolled = unrollShortLoops(found);
  const kernel = joinProducts ? fuseProducts(unrolled) : unrolled;
  const blocks = flowOf(kernel);
  const merged = mergeSharedAccesses(blocks, layOut(kernel.shared, sharedBytes));
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  const unset = unsetReads(kernel, blocks);
  const understood = { kernel, blocks, merged, early: earlyUses(blocks), unset };
  remembered.set(key, understood);
  return understood;
}

function three(sizes: number[], what: "grid" | "block"): Dim3 {
  if (sizes.length < 1 || sizes.length > 3 || Math.min(...sizes) < 1) {
    const text = sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
    throw new LabError(sentence("run.sizes", { what, sizes: text }));
  }
  const [x, y = 1, z = 1] = sizes;
  return [x, y, z];
}

/** The arrays among the arguments, those that structs point to with them. */
function arraysOf(args: Arguments) {
  const arrays: Map<string, ShapedArray> = new Map();
  for (const [name, value] of args) {
    if (isStruct(value)) {
      for (const one of arraysIn(value)) arrays.set(one.name, one.value);
    } else if (typeof value === "object" && !isMap(value)) {
      arrays.set(name, "data" in value ? value : { data: value, shape: [value.length] });
    }
  }
  return arrays;
}

function isMap(value: Argument): value is TensorMap {
  return typeof value === "object" && "boxRows" in value;
}

function isStruct(value: Argument): value is Struct {
  return typeof value === "object" && "fields" in value;
}

/** The parameters that lie in memory, with the bytes of each: tensor maps and structs. */
function inMemory({ parameters }: PtxKernel, args: Arguments) {
  return [...args.values()].slice(0, parameters.length).flatMap((value, at) => {
    if (!isMap(value) && !isStruct(value)) return [];
    return [{ name: parameters[at].name, value, bytes: isMap(value) ? MAP_BYTES : value.bytes }];
  });
}

/**
 * What lies in global memory besides the arrays: variables, such parameters, and the barrier of the
 * grid.
 */
function hidden(kernel: PtxKernel, args: Arguments, variables: Record<string, ShapedArray>) {
  const found = kernel.variables.map((one): [string, ShapedArray] => {
    return [one.name, variables[one.name] ?? arrayOf(one)];
  });
  const parameters = inMemory(kernel, args).map(({ name, bytes }): [string, ShapedArray] => {
    return [name, { data: new Uint8Array(bytes), shape: [bytes] }];
  });
  const barrier = new Map([[WORKSPACE, { data: new Uint32Array(2), shape: [2] }]]);
  return [...found, ...parameters, ...(kernel.reads("%envreg1") ? barrier : [])];
}

/** Write addresses into variables, structs and arrays that hold some; return where the first two lie. */
function filled(
  memory: Memory,
  kernel: PtxKernel,
  args: Arguments,
  placed: Map<string, ShapedArray>,
  variables: Record<string, ShapedArray>,
  starts: Record<string, number>,
) {
  const addresses = addressesIn(memory);
  const at = (name: string) => addresses.get(name) ?? 0;
  for (const [name, { pointers = [] }] of placed) {
    for (const [start, other, more] of pointers) {
      memory.write(at(name) + start, bytesOfAddress(at(other) + more));
    }
  }
  const pointed = new Map([...addresses].map(([name, to]) => [name, to + (starts[name] ?? 0)]));
  for (const { name, addresses: held } of kernel.variables) {
    for (const [start, other] of name in variables ? [] : held) {
      memory.write(at(name) + start, bytesOfAddress(at(other)));
    }
  }
  const parameters = inMemory(kernel, args);
  for (const { name, value } of parameters) {
    if (isStruct(value)) memory.write(at(name), bytesOf(value, pointed));
  }
  return new Map([...kernel.variables, ...parameters].map(({ name }) => [name, at(name)]));
}

const addressesIn = ({ arrays }: Memory): Addresses =>
  new Map(arrays.map(({ name, start }) => [name, GLOBAL_BASE + start]));

const bytesOfAddress = (address: number) =>
  new Uint8Array(new BigUint64Array([BigInt(address)]).buffer);

function tensorMapsOf(kernel: PtxKernel, args: Arguments, addresses: Addresses): TensorMaps {
  const [a, b, workspace, c] = ["A", "B", "workspace", "C"].map((name) => addresses.get(name) ?? 0);
  const width = arraysOf(args).get("A")?.data.BYTES_PER_ELEMENT ?? FLOAT_BYTES;
  const maps = inMemory(kernel, args).flatMap(({ name, value }) => {
    if (!isMap(value)) return [];
    const map = { map: value, start: mapAddress(value, a, b, workspace, c, width) };
    return [[addresses.get(name) ?? 0, map] as const];
  });
  return new Map(maps);
}

/** Textures and surfaces by where they lie, which is the number that stands for each. */
function imagesOf(memory: Memory, images: Record<string, Sampling>) {
  const found = memory.arrays.filter(({ name }) => name in images);
  return new Map(
    found.map((array) => [GLOBAL_BASE + array.start, new Image(memory, array, images[array.name])]),
  );
}

function checkedNames(unwritten: Iterable<string>, arrays: Map<string, unknown>) {
  const names = new Set(unwritten);
  const [unknown] = [...names].filter((name) => !arrays.has(name)).sort();
  if (unknown !== undefined) throw new LabError(sentence("run.unwritten", { name: unknown }));
  return names;
}

/** The value of each parameter: where an array lies, or a number. */
function parametersOf(
  kernel: PtxKernel,
  args: Arguments,
  addresses: Addresses,
  starts: Record<string, number>,
) {
  const { name: entry, parameters } = kernel;
  if (args.size !== parameters.length) {
    const [takes, given] = [parameters.length, args.size];
    throw new LabError(sentence("run.arguments", { entry, takes, given }));
  }
  return new Map(
    [...args].flatMap(([name, value], at): [string, number | bigint][] => {
      const { name: parameter, type } = parameters[at];
      const lies = isMap(value) || isStruct(value);
      if (lies !== type.startsWith("b8[")) {
        throw new LabError(sentence("run.struct", { name, entry }));
      }
      if (lies) return [];
      if (typeof value !== "object") return [[parameter, value]];
      // A pointer and a 64-bit number look the same in PTX, but no narrower type is a pointer.
      if (type !== "u64" && type !== "b64") {
        throw new LabError(sentence("run.number", { name, entry }));
      }
      return [[parameter, (addresses.get(name) ?? 0) + (starts[name] ?? 0)]];
    }),
  );
}
