// A kernel at a toy size, step by step. step_trace.py describes what comes of it.
//
// A and B hold different numbers everywhere. So each value that a thread reads, multiplies or
// writes identifies the element it is a copy of.

import { LabError } from "../errors.ts";
import type { Kernel, LaunchShape, Size } from "../kernel.ts";
import { bodyStart, ENTRY, launchShape, linesOf } from "../kernel.ts";
import { UNWRITTEN } from "../simulator/hazard_log.ts";
import { parse } from "../simulator/ptx.ts";
import { type Result, type Schedule, simulate } from "../simulator/simulation.ts";
import type { Fault, Trace } from "../simulator/trace.ts";
import { synchronisesInParts } from "../simulator/vector_clocks.ts";
import { sizeText } from "../text.ts";
import { launchesWithoutBarrier, placesIn, plain, type WithoutBarrier } from "./barrier_removal.ts";
import { type Entries, entriesOf, PRODUCT } from "./entries.ts";
import { launchArguments, launchOptions } from "./kernel_counts.ts";
import { type RegisterNames, registerNames } from "./register_names.ts";
import { sentence } from "./sentences.ts";
import { sharedShapes } from "./shared_arrays.ts";
import { factorsInOrder, inTheOrderOfTheSource } from "./step_order.ts";
import { LARGEST_SIDE, LARGEST_SUM } from "./step_trace.py";

/**
 * An array and the part of it that is drawn: "register" is the space of the sums of all threads
 * together. A shared array of three dimensions stacks its planes.
 */
export interface TracedArray {
  name: string;
  space: "global" | "shared" | "register";
  shape: number[];
  rows: number;
  columns: number;
}

/**
 * One instruction of one block: entries of equal length, one per thread and element. An access to
 * memory, or a multiply-add, whose array is that of the sums: there `rows` and `columns` are those
 * of C, and `values` are the sums after it. `epoch`: barriers the block had passed. `values`: null
 * where nothing had written it. `a` and `b`: the factors of a multiply-add. `fault`: why the launch
 * fails here; empty where it does not.
 */
export interface TracedStep {
  line: number;
  epoch: number;
  array: number;
  store: boolean;
  threads: number[];
  rows: number[];
  columns: number[];
  values: (number | null)[];
  a: (number | null)[];
  b: (number | null)[];
  fault: string;
}

/**
 * A launch to step through. `first_line`: the number of the first line of `source`.
 * `blocks`: of a block that fails, the steps after the failing one are what would have followed.
 * `problems`: what is wrong with the kernel. `left_out`: the launch without one of its barriers;
 * nothing if it is wrong anyway.
 */
export interface StepTrace {
  kernel: string;
  title: string;
  size: Size;
  grid: [across: number, down: number];
  block: [across: number, down: number];
  source: string[];
  first_line: number;
  a: number[];
  b: number[];
  arrays: TracedArray[];
  names: RegisterNames;
  blocks: TracedStep[][];
  problems: string[];
  left_out: WithoutBarrier[];
}

/**
 * Simulate a launch and give every access and product of it, block by block. Throws a LabError
 * where the size is too large to be drawn, the launch does too much, or some warps wait without the
 * others.
 * @param timeLimit in seconds
 */
export function traceSteps(kernel: Kernel, ptx: string, size: Size, timeLimit: number): StepTrace {
  refuseLarge(size);
  const [m, n, k] = size;
  const shape = launchShape(kernel, size);
  const a = Float32Array.from({ length: m * k }, (_, i) => i + 1);
  const b = Float32Array.from({ length: k * n }, (_, i) => m * k + i + 1);
  const run = runner(kernel, shape, a, b, size, timeLimit);
  const parsed = parse(ptx).get(ENTRY);
  if (parsed && synchronisesInParts(parsed)) {
    throw new LabError(sentence("trace.parts", { kernel: kernel.name }));
  }
  const result = run(ptx, "lockstep");
  const trace = result.trace as Trace;
  if (!trace.complete) {
    throw new LabError(sentence("trace.accesses", { kernel: kernel.name, size: sizeText(size) }));
  }
  const start = bodyStart(kernel.source);
  const source = linesOf(kernel.source).slice(start);
  const names = registerNames(source, source[trace.products.line[0] - start - 1] ?? "");
  const arrays = arraysOf(trace, sharedShapes(kernel), size, names);
  const numbers = [...Array(shape.grid[0] * shape.grid[1]).keys()];
  const faults = new Map(trace.faults.map((fault) => [fault.block, fault]));
  const problems = problemsOf(result, trace);
  const blocks = numbers.map((number) => stepsOf(entriesOf(trace, number), arrays, size));
  const left = {
    ...{ source, firstLine: start + 1, ptx, threads: shape.block[0] * shape.block[1], run },
    ...{ places: blocks.map(placesOf), arrays: arrays.map(({ name }) => name) },
  };
  return {
    ...{ kernel: kernel.name, title: kernel.title, size, grid: shape.grid, block: shape.block },
    ...{ source, first_line: start + 1, a: [...a], b: [...b], arrays, names },
    blocks: blocks.map((block, number) => traced(block, faults.get(number))),
    problems,
    left_out: problems.length ? [] : launchesWithoutBarrier(left),
  };
}

function runner(
  kernel: Kernel,
  shape: LaunchShape,
  a: Float32Array,
  b: Float32Array,
  size: Size,
  timeLimit: number,
) {
  const [m, n, k] = size;
  const left = { rows: m, columns: k, values: a };
  const right = { rows: k, columns: n, values: b };
  const known = launchOptions(kernel, shape, size);
  const options = { ...known, trace: true, products: true, timeLimit };
  return (ptx: string, schedule: Schedule): Result => {
    const given = launchArguments(shape, left, right, null);
    return simulate(ptx, ENTRY, shape.grid, shape.block, given, { ...options, schedule });
  };
}

/** What is wrong, without what only follows from a launch that has failed. */
function problemsOf({ hazards }: Result, { faults }: Trace) {
  const shown = hazards.filter(({ kind }) => !(faults.length && kind === UNWRITTEN));
  return shown.map(({ message }) => message);
}

/** Refuse matrices whose cells could not be told apart in a picture: throw a LabError. */
function refuseLarge(size: Size) {
  const [m, n] = size.map((side) => Math.min(side, LARGEST_SIDE));
  const fits = [m, n, Math.min(size[2], LARGEST_SUM - Math.max(m, n))];
  if (fits.every((side, i) => side === size[i])) return;
  const limits = { most: LARGEST_SIDE, together: LARGEST_SUM, fits: sizeText(fits) };
  throw new LabError(sentence("trace.large", { size: sizeText(size), ...limits }));
}

/** The arrays of a trace, and behind them the sums. */
function arraysOf(
  { arrays, columns: traced }: Trace,
  shapes: Record<string, number[]>,
  [m, n, k]: Size,
  names: RegisterNames,
): TracedArray[] {
  const found = arrays.map(({ name, space, shape: sides }, number) => {
    let shape = shapes[name] ?? sides;
    // Shared memory whose size the launch decides: rows of K elements.
    if (shape.length === 1) shape = [Math.ceil(shape[0] / k), k];
    const width = shape[shape.length - 1];
    let columns = width;
    let rows = Math.floor(shape.reduce((one, other) => one * other, 1) / width);
    if (space === "shared") {
      // Zeros only fill up: they stand where A or B have nothing.
      const used = traced.element.filter(
        (_, i) => traced.array[i] === number && traced.value[i] !== 0,
      );
      if (used.length) {
        rows = used.reduce((most, at) => Math.max(most, Math.floor(at / width) + 1), 0);
        columns = used.reduce((most, at) => Math.max(most, (at % width) + 1), 0);
      }
    }
    return { name, space: space as TracedArray["space"], shape, rows, columns };
  });
  const name = names.sum.split("[")[0];
  return [...found, { name, space: "register", shape: [m, n], rows: m, columns: n }];
}

/**
 * The steps of one block, as numbers of its entries: with the row and the column of each entry, and
 * for each step whether it only uses registers, and reads what no one writes meanwhile.
 */
interface Block {
  entries: Entries;
  arrays: TracedArray[];
  row: number[];
  column: number[];
  steps: number[][];
  moves: (those: number[]) => boolean;
}

function stepsOf(entries: Entries, arrays: TracedArray[], size: Size): Block {
  const { array, element, step } = entries;
  const arrayOf = (entry: number): TracedArray => arrays.at(array[entry]) as TracedArray;
  const width = (entry: number): number => arrayOf(entry).shape.at(-1) ?? 1;
  const { whole, row, column } = factorsInOrder(entries, size);
  for (const [entry, at] of element.entries()) {
    if (array[entry] === PRODUCT) continue;
    row[entry] = Math.floor(at / width(entry));
    column[entry] = at - row[entry] * width(entry);
  }
  const seen = drawn(entries, arrayOf, row, column);
  const kept = [...step.keys()].filter(
    (entry) => seen(entry) && (array[entry] !== PRODUCT || whole[entry]),
  );
  const steps = groupsOf(entries, kept, arrays.length);
  const moves: Block["moves"] = ([first]) =>
    array[first] === PRODUCT || (arrayOf(first).space === "shared" && !entries.store[first]);
  const ordered = inTheOrderOfTheSource(entries, row, column, steps, moves);
  return { entries, arrays, row, column, steps: ordered, moves };
}

/**
 * Entries by instruction, epoch and array.
 * @param kept those that are drawn
 * @param arrays their number
 */
function groupsOf({ array, step, epoch }: Entries, kept: number[], arrays: number) {
  const groups: Map<string, { key: number[]; those: number[] }> = new Map();
  for (const entry of kept) {
    // An asynchronous copy has two arrays in one step. Products come last.
    const place = array[entry] === PRODUCT ? arrays : array[entry];
    const key = [step[entry], epoch[entry], place];
    const group = groups.get(`${key}`);
    if (group) group.those.push(entry);
    else groups.set(`${key}`, { key, those: [entry] });
  }
  const sorted = [...groups.values()].sort(
    ({ key: a }, { key: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2],
  );
  return sorted.map(({ those }) => those);
}

/** Says of an entry whether it lies in the drawn part, and is made by a thread that works on it. */
function drawn(
  { store, thread }: Entries,
  arrayOf: (entry: number) => TracedArray,
  row: number[],
  column: number[],
) {
  const owners = new Set(thread.filter((_, i) => arrayOf(i).name === "C" && store[i]));
  return (entry: number) => {
    const { rows, columns, space } = arrayOf(entry);
    const read = space === "shared" && !store[entry];
    return row[entry] < rows && column[entry] < columns && (!read || owners.has(thread[entry]));
  };
}

const placesOf = ({ entries, steps, moves }: Block) => placesIn(entries, steps, steps.map(moves));

/** The steps, with the one at which the launch fails. */
function traced(block: Block, fault: Fault | undefined) {
  const steps = block.steps.map((those) => tracedStep(block, those));
  if (!fault) return steps;
  const after = block.steps.findIndex(([first]) => block.entries.step[first] >= fault.step);
  steps.splice(after < 0 ? steps.length : after, 0, failingStep(fault, block.arrays));
  return steps;
}

function tracedStep({ entries, arrays, row, column }: Block, those: number[]): TracedStep {
  const [first] = those;
  const array = entries.array[first];
  const made = array === PRODUCT;
  const taken = (values: number[]): number[] => those.map((entry) => values[entry]);
  return {
    line: entries.line[first],
    epoch: entries.epoch[first],
    array: made ? arrays.length - 1 : array,
    store: Boolean(entries.store[first]),
    threads: taken(entries.thread),
    rows: taken(row),
    columns: taken(column),
    values: taken(entries.value).map(plain),
    a: made ? taken(entries.a).map(plain) : [],
    b: made ? taken(entries.b).map(plain) : [],
    fault: "",
  };
}

function failingStep(
  { line, epoch, array, store, threads, elements, message }: Fault,
  arrays: TracedArray[],
): TracedStep {
  const { shape, rows, columns } = arrays.at(array) as TracedArray;
  const width = shape.at(-1) ?? 1;
  const shown = elements
    .map((at, i) => ({ thread: threads[i], row: Math.floor(at / width), column: at % width }))
    .filter(({ row, column }) => row < rows && column < columns);
  return {
    ...{ line, epoch, array, store },
    threads: shown.map(({ thread }) => thread),
    rows: shown.map(({ row }) => row),
    columns: shown.map(({ column }) => column),
    values: shown.map(() => null),
    ...{ a: [], b: [], fault: message },
  };
}
