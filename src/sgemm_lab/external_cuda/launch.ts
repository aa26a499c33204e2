// Prepare and simulate one launch of a kernel of a CUDA file.

import { Drawing } from "../checking/drawing.ts";
import { BASIC_BLOCKS_PER_PRODUCT, MAX_BASIC_BLOCKS } from "../counting/launch_limits.py";
import { LabError } from "../errors.ts";
import { STATIC_SHARED } from "../hardware.py";
import type { Size } from "../kernel.ts";
import type { Sampling } from "../simulator/images.ts";
import { describe } from "../simulator/kernel_requirements.ts";
import { MOST_BLOCKS_X, MOST_BLOCKS_YZ, SHARED_LIMITS } from "../simulator/limits.py";
import type { Progress } from "../simulator/machine.ts";
import type { ShapedArray, TypedArray } from "../simulator/memory.ts";
import type { Argument, Result, Schedule } from "../simulator/simulation.ts";
import { simulateWatched, type Watched, type WatchName } from "../simulator/watches/watches.ts";
import { comma, sizeText } from "../text.ts";
import type { Given, GivenArray, Names } from "./arguments.ts";
import {
  elementsOf,
  isArray,
  isFile,
  namedNumbers,
  numberOf,
  readArguments,
  SIDES,
  samplingOf,
  sidesOf,
  textOf,
  textsOf,
  whole,
} from "./arguments.ts";
import { assumedBlock, type Compiled, covering } from "./assumed_launch.ts";
import type { Element } from "./elements.ts";
import { bytesOf, FLOAT, isBool, isWhole, limitsOf, namedElement } from "./elements.ts";
import type { Values } from "./expected.ts";
import { type HostLaunch, hasOpenSizes, launchFor, trimmed } from "./host_launch.ts";
import { launchText } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";
import { pack, unpack } from "./packing.ts";
import { isNamedProduct, productArguments, suggestion } from "./signatures.ts";
import { type Field, type Slot, slotsOf } from "./structs.ts";
import { type Variable, variablesOf } from "./variables.ts";

/** Threads of a launch that take minutes here, however little each does. */
const MOST_THREADS = 2 ** 24;
/** No array of shared memory is aligned more coarsely than to as many bytes. */
const SHARED_STEP = 1024;
/** Square sizes at which a launch of the file is worked out: another grid follows the size. */
const SMALL: Size = [64, 128, 256];
const LARGE: Size = [1536, 3072, 6144];

/** A compiled kernel, and what is given of its launch: arithmetic over M, N and K as text. */
export interface Kernel {
  opened: Opened;
  ptx: string;
  /** the kernel's name in the PTX */
  symbol: string;
  /** what was left out, in sentences */
  notes: string[];
  /** values of its template are neither given nor in the file */
  templateAssumed: boolean;
  /** lines that hint at a fault, and why */
  doubts?: [line: number, text: string][];
  grid: string[];
  block: string[];
  sharedBytes: string;
  /** as `--args` has them; null to infer them from names and types */
  args: string | null;
  /** the arrays of files that they name */
  loaded: Map<string, Values>;
  /** how the file's host code launches it, where that was followed */
  host?: HostLaunch;
}

/** A compiled kernel with its arguments. */
export interface Prepared extends Kernel {
  compiled: Compiled & {
    shared: number[];
    specials: Set<string>;
    target: string;
    symbols: string[];
  };
  slots: Slot[];
  /** parameters that take one argument each; structs are replaced by their fields */
  fields: Field[];
  given: Given[];
  /** the caller gave the arguments */
  argumentsGiven: boolean;
  /** what the caller does not give of the launch is that of the host code for the same numbers */
  follows: boolean;
  /** what was assumed of the launch, and of the arguments, in sentences */
  assumed: string;
  argued: string;
  /** caller and file give the whole launch */
  certain: boolean;
  /** the file gives grid, block and every number, and no array can hold indices */
  numbersTold: boolean;
  /** it would be certain if one knew what arrays of integers hold */
  contentsAssumed: boolean;
  /** drawn integers are 0 and more, as they may be indices, and bytes take every value */
  isPositive: boolean;
  /** the `__constant__` and `__device__` variables of numbers that it uses */
  variables: Variable[];
  /** what the file's own program has in its arrays; null where they are drawn */
  contents: Arrays | null;
}

/** How a launch is simulated. */
export interface Settings {
  checkHazards: boolean;
  countRequests: boolean;
  schedule: Schedule;
  /** the seed of the order in which blocks and warps run; null for ascending numbers */
  order: number | null;
  /** in seconds */
  timeLimit: number;
  /** the numbers of the only blocks that run; null for all */
  only: number[] | null;
  watch: WatchName[];
  /** a block and a warp of it whose memory requests are wanted */
  requestsOf: [number, number] | null;
  /** when usual causes of a wrong C are tried */
  explain: "always" | "without hazards" | "never";
  progress: Progress | null;
}

/** A launch that is run once more, for at most some seconds. */
export const brief = (settings: Settings, seconds: number): Settings => ({
  ...{ ...settings, countRequests: false, progress: null },
  timeLimit: Math.min(seconds, settings.timeLimit),
});

/**
 * What a launch starts from: the numbers of each array, and which hold nothing yet. `states`: of
 * arrays of which only parts hold something, see `ShapedArray`. `held`: what a program has put into
 * variables, by their names in the PTX.
 */
export interface Arrays {
  values: Map<string, Values>;
  unwritten: string[];
  states?: Map<string, Uint8Array>;
  held?: Record<string, ShapedArray>;
}

/** Part of a launch is unknown; `prepared` is the rest. */
export class UnknownLaunchError extends LabError {
  constructor(
    message: string,
    public prepared: Prepared,
  ) {
    super(message);
  }
}

/** The launch of a matrix product is unknown. */
export class NoLaunchError extends UnknownLaunchError {}

export const nameOf = ({ opened }: Kernel) => opened.name;

/** The file and the line in which a kernel stands. */
export function placeOf({ opened: { file, kernel } }: Kernel): [file: string, line: number] {
  return [file.fileOf(kernel.declaration).name, file.lineOf(kernel.declaration)];
}

/** Whether it is given the matrices of a product. */
export const multiplies = ({ given }: Prepared) => given.some(({ kind }) => kind === "matrix");

const numbersIn = ({ given }: Prepared) =>
  given.flatMap((one) => (one.kind === "number" ? one.text : []));

/** How many of M, N and K its arguments name. */
export const sizesIn = (prepared: Prepared) =>
  [..."MNK"].filter((name) => numbersIn(prepared).some((text) => text.includes(name))).length;

/** Whether grid, block or arguments name M, N or K. */
export function dependsOnSize(prepared: Prepared) {
  const { grid, block, given } = prepared;
  return multiplies(prepared) || /[MNK]/.test([...grid, ...block, textsOf(given)].join(" "));
}

export const isProduct = ({ opened, fields }: Prepared) =>
  isNamedProduct(opened.name, fields, opened.kernel.declaration.tokens);

/** What an array holds. */
export function elementIn({ variables, given, fields }: Prepared, one: Given): Element {
  if (isArray(one) && one.type) return namedElement(one.type);
  const variable = variables.find(({ array }) => array === one);
  return variable?.element ?? fields[given.indexOf(one)]?.element ?? FLOAT;
}

const isScalar = (one: Given, { pointer, element }: Field) =>
  one.kind === "number" && !(!pointer && isWhole(element));

/** Alpha and beta of C = alpha·A·B + beta·C: 1 and 0 where the kernel has none. */
export function factorsOf({ given, fields }: Prepared) {
  const found: Record<string, number> = { alpha: 1, beta: 0 };
  const names = Object.keys(found);
  for (const [at, one] of given.entries()) {
    if (one.kind !== "number" || !isScalar(one, fields[at]) || !names.length) continue;
    const said = fields[at].name.toLowerCase();
    const name = names.find((word) => said.includes(word)) ?? names[0];
    names.splice(names.indexOf(name), 1);
    found[name] = numberOf(one, {});
  }
  return [found.alpha, found.beta];
}

/** Whether the kernel takes a factor of what C holds. */
export const hasBeta = ({ given, fields }: Prepared) =>
  given.filter((one, at) => isScalar(one, fields[at])).length > 1;

/** All that a launch has in arrays: arguments, then variables. */
export const everyArray = ({ given, variables }: Prepared) =>
  [...given, ...variables.map(({ array }) => array)].filter((one) => one.kind !== "number");

/** The arguments that a kernel may write. */
export const writtenBy = ({ given }: Prepared) =>
  given.filter((one) =>
    isArray(one) ? one.use !== "in" : one.kind === "matrix" && one.name === "C",
  );

export const namesAt = ({ given }: Prepared, [M, N, K]: Size) => namedNumbers(given, { M, N, K });

/** A parameter as the source declares it. */
function declared({ name, type, pointer, constant }: Field) {
  return `${pointer && constant ? "const " : ""}${type}${pointer ? "*" : ""} ${name}`.trim();
}

/** A compiled kernel of whose launch nothing is known yet but what `--args` says of variables. */
export function bare(kernel: Kernel): Prepared {
  const { opened, ptx, symbol, args } = kernel;
  const found = describe(ptx, symbol);
  const { parameters, images, shared, specials, mostThreads, target } = found;
  const types = parameters.map(({ type }) => type);
  const slots = slotsOf(opened.kernel.parameters, types, opened.file, opened.values);
  const fields = slots.flatMap((slot) => slot.fields);
  const compiled = {
    ...{ parameters, images, mostThreads, shared, target, specials: new Set(specials) },
    usesY: specials.includes("%tid.y"),
    symbols: found.variables.map(({ name }) => name),
  };
  const all = readArguments(args ?? "");
  const names = namedNumbers(all.slice(0, fields.length), {});
  const variables = variablesOf(found.variables, opened, all.slice(fields.length), names);
  return {
    ...{ ...kernel, compiled, slots, fields, variables, given: [], argumentsGiven: args !== null },
    ...{ follows: false, assumed: "", argued: "", certain: true, numbersTold: false },
    ...{ contentsAssumed: false, isPositive: false, contents: null },
  };
}

const LAUNCHING = [
  ...(["grid", "block", "sharedBytes", "given", "argumentsGiven", "follows", "assumed"] as const),
  ...(["argued", "certain", "numbersTold", "contentsAssumed", "isPositive"] as const),
];

/** What was found of a launch, as plain data. */
export type FoundLaunch = Pick<Prepared, (typeof LAUNCHING)[number]>;

export const plainLaunch = (prepared: Prepared) =>
  Object.fromEntries(LAUNCHING.map((name) => [name, prepared[name]])) as FoundLaunch;

/** A kernel with a launch that was found before. */
export const resumed = (kernel: Kernel, launch: FoundLaunch): Prepared => ({
  ...{ ...bare(kernel), ...launch },
});

/**
 * Determine a compiled kernel's arguments. Throws a LabError where they do not fit, and an
 * UnknownLaunchError where they, or grid and block, are not known.
 */
export function prepare(kernel: Kernel): Prepared {
  const unknown = bare(kernel);
  const { fields, opened } = unknown;
  const { name } = opened.kernel;
  const text = kernel.args ?? (fields.length ? productArguments(name, fields) : "");
  const listed = fields.map(declared).join(", ");
  if (text === null) {
    const suggested = fields.map((one, at) => suggestion(one, at + 1)).join(" ");
    throw new UnknownLaunchError(
      `What '${opened.name}' takes is not known: (${listed}). Say it with --args, such as ` +
        `--args '${suggested}'.`,
      unknown,
    );
  }
  const given = readArguments(text).slice(0, fields.length);
  if (given.length !== fields.length) {
    throw new LabError(
      `'${opened.name}' takes ${fields.length} arguments (${listed}), but --args names ` +
        `${given.length}.`,
    );
  }
  for (const [at, one] of given.entries()) refuseMismatch(opened.name, one, fields[at], at);
  const prepared = { ...unknown, given };
  return kernel.grid.length && kernel.block.length ? prepared : withHostLaunch(prepared);
}

function refuseMismatch(name: string, one: Given, field: Field, at: number) {
  const found = isArray(one) && one.modes ? one.use : "";
  if (found !== field.image) {
    const takes = field.image ? `a ${field.image}` : "no texture or surface";
    throw new LabError(
      `'${name}' takes ${takes} as '${declared(field)}', but --args gives ${textOf(one)}. Write it ` +
        `like ${suggestion(field, at + 1)}.`,
    );
  }
  if ((one.kind !== "number") !== field.pointer && field.element) {
    const takes = field.pointer ? "an array" : "a number";
    throw new LabError(
      `'${name}' takes ${takes} as '${declared(field)}', but --args gives ${textOf(one)}.`,
    );
  }
}

/** Complete the launch from the file's host code. Throws an UnknownLaunchError where it is unknown. */
function withHostLaunch(prepared: Prepared): Prepared {
  const shape = hostShape(prepared, SMALL);
  const large = shape && multiplies(prepared) ? hostShape(prepared, LARGE) : shape;
  if (shape && large) {
    const isFixed = JSON.stringify(shape) === JSON.stringify(large);
    const fits = multiplies(prepared)
      ? !isFixed
      : product([...shape.grid, ...shape.block]) <= MOST_THREADS;
    if (fits) return { ...prepared, follows: true };
  }
  const message = noShape(prepared);
  // One of several products, say of a batch, is none that can be tried alone.
  if (multiplies(prepared) && !(prepared.host?.made && hasOpenSizes(prepared.host.made))) {
    throw new NoLaunchError(message, prepared);
  }
  if (!prepared.argumentsGiven) throw new UnknownLaunchError(message, prepared);
  return withAssumedLaunch(prepared);
}

export const product = (sides: number[]) => sides.reduce((all, one) => all * one, 1);

/**
 * Launch a thread for each element of the longest array. The block is the file's own, where that can
 * be worked out, or what `__launch_bounds__` says, or usual.
 */
function withAssumedLaunch(prepared: Prepared): Prepared {
  const names = namedNumbers(prepared.given, {});
  const counts = prepared.given
    .filter(isArray)
    .map((one) => (isFile(one) ? 1 : elementsOf(one, names)));
  const side = assumedBlock(prepared);
  const told = (texts: string[], usual: number[]) => (texts.length ? texts : usual.map(String));
  const grid = told(prepared.grid, covering(Math.max(1, ...counts), side));
  const block = told(prepared.block, side);
  const assumed =
    `Launch, assumed: a grid of ${grid.join(" × ")} blocks of ${block.join(" × ")} threads. Say ` +
    "--grid and --block where it is another.";
  return { ...prepared, grid, block, assumed, certain: false };
}

/** The launch of the host code at a size; null if unknown. */
function hostShape(prepared: Prepared, size: Size): Omit<Shape, "sharedAssumed"> | null {
  const { host, given, fields } = prepared;
  if (!host) return null;
  const names = namesAt(prepared, size);
  const numbers = given.flatMap((one, at): [string, number][] =>
    one.kind === "number" ? [[fields[at].name, numberOf(one, names)]] : [],
  );
  const { call } = launchFor(host, new Map(numbers)) ?? {};
  if (!call) return null;
  const [grid, block] = [call.grid, call.block].map(trimmed);
  return { grid, block, sharedBytes: call.options.sharedBytes ?? 0 };
}

function noShape({ opened }: Prepared) {
  const text =
    `How '${opened.name}' is launched is not known: it needs --grid and --block, its blocks and ` +
    "the threads of a block, such as --grid 'ceil(N/32),ceil(M/32)' --block 32,32.";
  const [first] = opened.launches;
  return first ? `${text} Line ${first.line} launches it so: ${launchText(first)}.` : text;
}

/** Blocks of the grid and threads of a block along x, y and z; bytes of shared memory. */
export interface Shape {
  grid: number[];
  block: number[];
  sharedBytes: number;
  /** the bytes are unknown and set to the most that a block can have */
  sharedAssumed: boolean;
}

/** The launch at a size. Throws a LabError where it is unknown, too large for a GPU or endless here. */
export function shapeAt(prepared: Prepared, size: Size): Shape {
  const shape = rawShape(prepared, size);
  const [x, y = 1, z = 1] = shape.grid;
  if (x > MOST_BLOCKS_X || Math.max(y, z) > MOST_BLOCKS_YZ) {
    throw new LabError(
      `No GPU takes a grid of ${shape.grid.map(comma).join(" × ")} blocks: at most ` +
        `${comma(MOST_BLOCKS_X)} along x and ${comma(MOST_BLOCKS_YZ)} along y.`,
    );
  }
  const [blocks, threads] = [product(shape.grid), product(shape.block)];
  if (blocks * threads > MOST_THREADS) {
    throw new LabError(
      `${comma(blocks)} blocks of ${comma(threads)} threads are too many to run on a processor: it ` +
        `takes minutes from ${comma(MOST_THREADS)} threads on. Choose a smaller size and grid.`,
    );
  }
  return shape;
}

/** The launch at a size, whether or not a GPU takes it. */
export function rawShape(prepared: Prepared, size: Size): Shape {
  const { compiled } = prepared;
  const names = namesAt(prepared, size);
  const sides = (texts: string[], what: string) => {
    const found = texts.map((text) => whole(text, names, what));
    if (Math.min(...found) >= 1) return found;
    throw new LabError(`The ${what} (${found.join(", ")}) has a size below 1.`);
  };
  let shared: number | null = whole(prepared.sharedBytes, names, "shared memory") || null;
  const own = prepared.follows ? hostShape(prepared, size) : null;
  if (prepared.follows && !own) {
    throw new LabError(`The file's own launch has no blocks at ${sizeText(size)}.`);
  }
  if (own) shared ??= own.sharedBytes;
  const grid = own && !prepared.grid.length ? own.grid : sides(prepared.grid, "grid");
  const block = own && !prepared.block.length ? own.block : sides(prepared.block, "block");
  const sharedAssumed = shared === null && !compiled.shared.every(Boolean);
  return {
    grid,
    block,
    sharedBytes: shared ?? (sharedAssumed ? mostShared(prepared) : 0),
    sharedAssumed,
  };
}

/** The dynamic shared memory left after a block's static arrays, in bytes. */
function mostShared({ compiled: { shared, target } }: Prepared) {
  const own = shared.reduce((sum, size) => sum + Math.ceil(size / SHARED_STEP) * SHARED_STEP, 0);
  const limits: Record<string, number> = SHARED_LIMITS;
  return Math.max(0, (limits[target] ?? STATIC_SHARED) - own - SHARED_STEP);
}

/** A launch that was simulated: the numbers of each array after it. */
export interface Ran {
  after: Map<string, Values>;
  result: Result & { watched: Watched };
  /** for each element of an array whether its bits are those before the launch */
  untouched: (name: string) => Uint8Array;
}

/** Simulate one launch. Throws a LabError where it fits neither the kernel nor any GPU. */
export function run(prepared: Prepared, size: Size, arrays: Arrays, settings: Settings): Ran {
  const names = namesAt(prepared, size);
  const stored = new Map<string, ShapedArray>();
  const args = argumentsOf(prepared, arrays, names, stored);
  const shape = shapeAt(prepared, size);
  const held = prepared.variables.filter(({ isOwn }) => !isOwn);
  const counts = [...arrays.values.values()].map(({ numbers }) => numbers.length);
  const written = [
    ...writtenBy(prepared).map(({ name }) => name),
    ...prepared.variables.filter(({ array }) => array.use !== "in").map(({ symbol }) => symbol),
  ];
  const inArrays = prepared.given.filter(isArray);
  const starts = inArrays.filter(({ start }) => start);
  const { checkHazards, countRequests, schedule, order, timeLimit, progress } = settings;
  const result = simulateWatched(prepared.ptx, prepared.symbol, shape.grid, shape.block, args, {
    ...{ checkHazards, countRequests, schedule, timeLimit, progress },
    ...{ watch: settings.watch, requestsOf: settings.requestsOf },
    sharedBytes: shape.sharedBytes,
    unwritten: arrays.unwritten,
    variables: {
      ...arrays.held,
      ...Object.fromEntries(
        held.map(({ symbol, element, array: { name } }) => {
          const data = pack(element, numbersOf(arrays, name));
          return [symbol, { data, shape: [data.length] }];
        }),
      ),
    },
    starts: Object.fromEntries(
      starts.map((one) => {
        const element = elementIn(prepared, one);
        const lanes = one.type ? 1 : element.lanes;
        const elements = whole(one.start, names, `start of ${one.name}`);
        return [one.name, elements * bytesOf(element) * lanes];
      }),
    ),
    images: Object.fromEntries(
      inArrays.flatMap(({ name, modes }): [string, Sampling][] =>
        modes ? [[name, samplingOf(modes)]] : [],
      ),
    ),
    watchRacesIn: checkHazards ? written : [],
    onlyBlocks: blocksOf(shape.grid, settings),
    warpOrder: order === null ? null : drawn(Math.ceil(product(shape.block) / 32), order),
    joinProducts: true,
    maxBasicBlocks:
      MAX_BASIC_BLOCKS +
      BASIC_BLOCKS_PER_PRODUCT *
        (multiplies(prepared) ? product(size) : counts.reduce((sum, one) => sum + one, 0)),
  });
  const after = new Map<string, Values>();
  for (const one of everyArray(prepared)) {
    const symbol = prepared.variables.find(({ array }) => array === one)?.symbol ?? one.name;
    const { sides } = valuesOf(arrays, one.name);
    let numbers: Float64Array | null = null;
    const unpacked = () => {
      const found = unpack(elementIn(prepared, one), result.arrays[symbol]);
      return isTurned(one) ? turned(found, sides[1]) : found;
    };
    // Most arrays are never looked at.
    const value = {
      sides,
      get numbers() {
        numbers ??= unpacked();
        return numbers;
      },
    };
    after.set(one.name, value);
  }
  const untouched = (name: string) => {
    const before = stored.get(name)?.data ?? new Uint8Array(0);
    const same = sameBits(before, result.arrays[name]);
    const one = prepared.given.find((given) => given.name === name);
    if (!one || !isTurned(one)) return same;
    return Uint8Array.from(turned(Float64Array.from(same), valuesOf(arrays, name).sides[1]));
  };
  return { after, result, untouched };
}

const isTurned = (one: Given) => one.kind === "matrix" && one.byColumns;

/** A matrix in the other order of memory. `columns`: of the one that comes out. */
export function turned(numbers: Float64Array, columns: number) {
  const rows = numbers.length / columns;
  return numbers.map((_, at) => numbers[(at % columns) * rows + Math.floor(at / columns)]);
}

function sameBits(one: ShapedArray["data"], other: TypedArray) {
  const bytes = one.BYTES_PER_ELEMENT;
  const [first, second] = [one, other].map((data) => new Uint8Array(data.buffer, data.byteOffset));
  const found = new Uint8Array(one.length).fill(1);
  for (let at = 0; at < first.length; at++) {
    if (first[at] !== second[at]) found[Math.floor(at / bytes)] = 0;
  }
  return found;
}

export function valuesOf({ values }: Arrays, name: string): Values {
  return values.get(name) ?? { sides: [0], numbers: new Float64Array(0) };
}

export const numbersOf = (arrays: Arrays, name: string) => valuesOf(arrays, name).numbers;

/** The numbers of the blocks that are to run, in order; null for all in the order of their numbers. */
function blocksOf(grid: number[], { order, only }: Settings) {
  if (only) return only;
  return order === null ? null : drawn(product(grid), order);
}

const drawn = (count: number, seed: number) => [...new Drawing(seed).permutation(count)];

/** The arguments by name, in order. `stored` takes the arrays as they lie in memory. */
function argumentsOf(
  prepared: Prepared,
  arrays: Arrays,
  names: Names,
  stored: Map<string, ShapedArray>,
) {
  const found = new Map<string, Argument>();
  let place = 0;
  for (const [number, { fields, structBytes }] of prepared.slots.entries()) {
    const { type } = prepared.compiled.parameters[number];
    const parts = fields.map((field, at): [Field, Given, ShapedArray | number | bigint] => {
      const one = prepared.given[place + at];
      if (one.kind === "number") return [field, one, numberAs(one, field, type, names)];
      const state = arrays.states?.get(one.name);
      const array = { ...laidOut(prepared, one, valuesOf(arrays, one.name), names), state };
      stored.set(one.name, array);
      return [field, one, array];
    });
    place += fields.length;
    const position = `argument ${number + 1}`;
    if (!structBytes) {
      const [[, one, value]] = parts;
      found.set(one.kind === "number" ? position : one.name, value);
      continue;
    }
    const packed = parts.map(([field, one, value]): [number, string, ShapedArray] => {
      if (typeof value === "object") return [field.offset, one.name, value];
      const data = packedNumber(field.element ?? FLOAT, value);
      return [field.offset, field.name, { data, shape: [] }];
    });
    found.set(position, { bytes: structBytes, fields: packed });
  }
  return found;
}

function packedNumber(element: Element, value: number | bigint) {
  if (typeof value === "number") return pack(element, Float64Array.of(value));
  return element.stored === "u8" ? BigUint64Array.of(value) : BigInt64Array.of(value);
}

/** The number of a parameter. Throws a LabError where a whole number is wanted, and it is none. */
function numberAs(one: Given & { kind: "number" }, field: Field, compiled: string, names: Names) {
  const { element } = field;
  const value = numberOf(one, names);
  const isInteger = compiled.startsWith("b8[") ? isWhole(element) : !compiled.startsWith("f");
  if (!isInteger) return value;
  if (!Number.isInteger(value)) {
    throw new LabError(`'${declared(field)}' takes a whole number, not ${one.text}.`);
  }
  const [least, most] = limitsOfNumber(element, compiled);
  if (value < least || value > most) {
    throw new LabError(
      `'${declared(field)}' takes numbers from ${comma(least)} to ${comma(most)}, not ${one.text}.`,
    );
  }
  return Number.isSafeInteger(value) || !/^[-+]?\d+$/.test(one.text) ? value : BigInt(one.text);
}

/** The smallest and the largest whole number of a parameter, as far as its type is known. */
function limitsOfNumber(element: Element | null, compiled: string) {
  if (isBool(element)) return [0, 1];
  if (isWhole(element)) return limitsOf(element);
  const bits = Number(/^\w(\d+)$/.exec(compiled)?.[1] ?? 64);
  return [-(2 ** (bits - 1)), 2 ** bits - 1];
}

/** An array as it lies in memory; an image with its sides, of a file those of its array. */
function laidOut(prepared: Prepared, one: Given, { sides, numbers }: Values, names: Names) {
  const element = elementIn(prepared, one);
  const isHalf = element.stored === "f2";
  if (isTurned(one)) {
    return { data: pack(element, turned(numbers, sides[0])), shape: [...sides].reverse(), isHalf };
  }
  const shape = isArray(one) && one.modes ? shapeOfImage(prepared, one, element, names) : sides;
  return { data: pack(element, numbers), shape, isHalf };
}

function shapeOfImage(prepared: Prepared, one: GivenArray, { lanes }: Element, names: Names) {
  if (!isFile(one)) return [...sidesOf(one, names).reverse(), lanes];
  const { sides, numbers } = prepared.loaded.get(one.size) ?? { sides: [], numbers: [] };
  const own = lanes === 1 ? sides : sides.slice(0, -1);
  if (own.length < 1 || own.length > SIDES || numbers.length !== product(own) * lanes) {
    throw new LabError(
      `${one.size} holds an array of ${own.join(" × ")}, which is no image of ` +
        `${one.type || "float"}. Its shape is height and width, or depth, height and width.`,
    );
  }
  return [...Array<number>(SIDES - own.length).fill(1), ...own, lanes];
}
