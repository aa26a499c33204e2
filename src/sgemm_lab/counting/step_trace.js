// @ts-check
// A kernel at a toy size, step by step: walk.py in JavaScript, held equal to it by a test.
//
// A and B hold different numbers everywhere. So each value that a thread reads, multiplies or writes
// tells by itself which element it is a copy of.

import { LabError } from "../errors.js";
import { WARP } from "../hardware.py";
import { bodyStart, ENTRY, launchShape, linesOf } from "../kernel.js";
import { UNWRITTEN } from "../simulator/hazards.js";
import { parse } from "../simulator/ptx.js";
import { simulate } from "../simulator/simulation.js";
import { synchronisesInParts } from "../simulator/vector_clocks.js";
import { sizeText } from "../text.js";
import { launchesWithoutBarrier, placesIn, plain } from "./barrier_removal.js";
import { entriesOf } from "./entries.js";
import { PRODUCT } from "./entries.py";
import { launchArguments, patience } from "./kernel_counts.js";
import { registerNames } from "./register_names.js";
import { sentence } from "./sentences.js";
import { sharedParts, sharedShapes } from "./shared_arrays.js";
import { factorsInOrder, inTheOrderOfTheSource } from "./step_order.js";
import { LARGEST_SIDE, LARGEST_SUM } from "./step_trace.py";
import { roleOf, rolesIn } from "./warp_roles.js";

/** @typedef {import("./entries.js").Entries} Entries */
/** @typedef {import("./barrier_removal.js").LeftOut} LeftOut */
/** @typedef {import("./register_names.js").RegisterNames} RegisterNames */
/** @typedef {import("../kernel.js").Kernel} Kernel */
/** @typedef {import("../kernel.js").Size} Size */
/** @typedef {import("../simulator/simulation.js").Result} Result */
/** @typedef {import("../simulator/trace.js").Fault} Fault */
/** @typedef {import("../simulator/trace.js").Trace} Trace */

/**
 * An array and the part of it that is drawn: "register" is the space of the sums of all threads
 * together. A shared array of three dimensions stacks its planes.
 * @typedef {{ name: string, space: "global" | "shared" | "register", shape: number[], rows: number,
 *   columns: number }} WalkedArray
 *
 * One instruction of one block: entries of equal length, one per thread and element. walk.py tells
 * more of each.
 * @typedef {{ line: number, window: number, array: number, store: boolean, threads: number[],
 *   rows: number[], columns: number[], values: (number | null)[], a: (number | null)[],
 *   b: (number | null)[], fault: string }} WalkedStep
 *
 * A launch to step through.
 * @typedef {object} Walk
 * @property {string} kernel
 * @property {string} title
 * @property {Size} size
 * @property {[across: number, down: number]} grid
 * @property {[across: number, down: number]} block
 * @property {string[]} source
 * @property {number} first_line
 * @property {number[]} a
 * @property {number[]} b
 * @property {WalkedArray[]} arrays
 * @property {RegisterNames} names
 * @property {number[][]} parties
 * @property {WalkedStep[][]} blocks
 * @property {string[]} problems
 * @property {LeftOut[]} left_out
 */

const BULK = "cp.async.bulk.";

/**
 * Simulate a launch and give every access and product of it, block by block. Throws a LabError where
 * the size is too large to be drawn, the launch does too much, or copies in bulk.
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Size} size
 * @param {number} timeLimit in seconds
 * @returns {Walk}
 */
export function walk(kernel, ptx, size, timeLimit) {
  refuseLarge(size);
  const [m, n, k] = size;
  const shape = launchShape(kernel, size);
  const a = Float32Array.from({ length: m * k }, (_, i) => i + 1);
  const b = Float32Array.from({ length: k * n }, (_, i) => m * k + i + 1);
  const run = runner(kernel, shape, a, b, size, timeLimit);
  const parsed = parse(ptx).get(ENTRY);
  if (parsed?.instructions.some(({ opcode }) => opcode.startsWith(BULK))) {
    throw new LabError(sentence("walk.bulk", { kernel: kernel.name }));
  }
  const result = run(ptx, "lockstep");
  const trace = /** @type {Trace} */ (result.trace);
  if (!trace.complete) {
    throw new LabError(sentence("walk.accesses", { kernel: kernel.name, size: sizeText(size) }));
  }
  const start = bodyStart(kernel.source);
  const source = linesOf(kernel.source).slice(start);
  const names = registerNames(source, source[trace.products.line[0] - start - 1] ?? "");
  const arrays = arraysOf(trace, sharedShapes(kernel), size, names);
  const numbers = [...Array(shape.grid[0] * shape.grid[1]).keys()];
  const faults = new Map(trace.faults.map((fault) => [fault.block, fault]));
  const problems = problemsOf(result, trace);
  const parties = parsed && synchronisesInParts(parsed) ? rolesIn(trace) : [];
  const turns = { party: roleOf(parties), byTime: !problems.length };
  const blocks = numbers.map((number) => stepsOf(entriesOf(trace, number), arrays, size, turns));
  const left = {
    ...{ source, firstLine: start + 1, ptx, threads: shape.block[0] * shape.block[1], run },
    ...{ places: blocks.map(placesOf), arrays: arrays.map(({ name }) => name) },
  };
  return {
    ...{ kernel: kernel.name, title: kernel.title, size, grid: shape.grid, block: shape.block },
    ...{ source, first_line: start + 1, a: [...a], b: [...b], arrays, names, parties },
    blocks: blocks.map((block, number) => walked(block, faults.get(number))),
    problems,
    left_out: problems.length || parties.length ? [] : launchesWithoutBarrier(left),
  };
}

/**
 * @param {Kernel} kernel
 * @param {import("../kernel.js").LaunchShape} shape
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @param {Size} size
 * @param {number} timeLimit
 */
function runner(kernel, shape, a, b, size, timeLimit) {
  const [m, n, k] = size;
  const left = { rows: m, columns: k, values: a };
  const right = { rows: k, columns: n, values: b };
  const options = {
    sharedBytes: shape.sharedBytes,
    sharedParts: sharedParts(kernel),
    together: shape.workspaceBytes > 0,
    unwritten: ["C"],
    ...{ trace: true, products: true, patience: patience(size), timeLimit },
  };
  /** @type {(ptx: string, schedule: import("../simulator/simulation.js").Schedule) => Result} */
  return (ptx, schedule) => {
    const given = launchArguments(shape, left, right, null);
    return simulate(ptx, ENTRY, shape.grid, shape.block, given, { ...options, schedule });
  };
}

/**
 * What is wrong, without what only follows from a launch that has failed.
 * @param {Result} result
 * @param {Trace} trace
 */
function problemsOf({ hazards }, { faults }) {
  const told = hazards.filter(({ kind }) => !(faults.length && kind === UNWRITTEN));
  return told.map(({ message }) => message);
}

/**
 * Refuse matrices whose cells could not be told apart in a picture: throw a LabError.
 * @param {Size} size
 */
function refuseLarge(size) {
  const [m, n] = size.map((side) => Math.min(side, LARGEST_SIDE));
  const fits = [m, n, Math.min(size[2], LARGEST_SUM - Math.max(m, n))];
  if (fits.every((side, i) => side === size[i])) return;
  const limits = { most: LARGEST_SIDE, together: LARGEST_SUM, fits: sizeText(fits) };
  throw new LabError(sentence("walk.large", { size: sizeText(size), ...limits }));
}

/**
 * The arrays of a trace, and behind them the sums.
 * @param {Trace} trace
 * @param {Record<string, number[]>} shapes
 * @param {Size} size
 * @param {RegisterNames} names
 * @returns {WalkedArray[]}
 */
function arraysOf({ arrays, columns: traced }, shapes, [m, n, k], names) {
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
    return { name, space: /** @type {WalkedArray["space"]} */ (space), shape, rows, columns };
  });
  const name = names.sum.split("[")[0];
  return [...found, { name, space: "register", shape: [m, n], rows: m, columns: n }];
}

/**
 * The steps of one block, as numbers of its entries: with the row and the column of each entry, and
 * for each step whether it only uses registers, and reads what no one writes meanwhile.
 * @typedef {object} Block
 * @property {Entries} entries
 * @property {WalkedArray[]} arrays
 * @property {number[]} row
 * @property {number[]} column
 * @property {number[][]} steps
 * @property {(those: number[]) => boolean} moves
 */

/**
 * @param {Entries} entries
 * @param {WalkedArray[]} arrays
 * @param {Size} size
 * @param {{ party: Map<number, number>, byTime: boolean }} turns the party of each warp, and whether
 *   the steps stand in the order of time
 * @returns {Block}
 */
function stepsOf(entries, arrays, size, { party, byTime }) {
  const { array, element, step } = entries;
  /** @type {(entry: number) => WalkedArray} */
  const arrayOf = (entry) => /** @type {WalkedArray} */ (arrays.at(array[entry]));
  /** @type {(entry: number) => number} */
  const width = (entry) => arrayOf(entry).shape.at(-1) ?? 1;
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
  const turn = turnOf(entries, party);
  if (byTime) steps.sort((one, other) => turn(one) - turn(other));
  /** @type {Block["moves"]} */
  const moves = ([first]) =>
    array[first] === PRODUCT || (arrayOf(first).space === "shared" && !entries.store[first]);
  const ordered = inTheOrderOfTheSource(entries, row, column, steps, moves, turn);
  return { entries, arrays, row, column, steps: ordered, moves };
}

/**
 * Entries by instruction, window and array.
 * @param {Entries} entries
 * @param {number[]} kept those that are drawn
 * @param {number} arrays their number
 */
function groupsOf({ array, step, window }, kept, arrays) {
  /** @type {Map<string, { key: number[], those: number[] }>} */
  const groups = new Map();
  for (const entry of kept) {
    // An asynchronous copy has two arrays in one step. Products come last. And where warps
    // synchronise in parts, those of one instruction may be in several windows.
    const place = array[entry] === PRODUCT ? arrays : array[entry];
    const key = [step[entry], window[entry], place];
    const group = groups.get(`${key}`);
    if (group) group.those.push(entry);
    else groups.set(`${key}`, { key, those: [entry] });
  }
  const sorted = [...groups.values()].sort(
    ({ key: a }, { key: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2],
  );
  return sorted.map(({ those }) => those);
}

/**
 * A number for when a step is made, and by which party: the same for those of one turn.
 * @param {Entries} entries
 * @param {Map<number, number>} party of each warp
 */
function turnOf({ window, thread }, party) {
  const parties = Math.max(0, ...party.values()) + 1;
  return (/** @type {number[]} */ [first]) =>
    window[first] * parties + (party.get(Math.floor(thread[first] / WARP)) ?? 0);
}

/**
 * Says of an entry whether it lies in the drawn part, and is made by a thread that works on it.
 * @param {Entries} entries
 * @param {(entry: number) => WalkedArray} arrayOf
 * @param {number[]} row
 * @param {number[]} column
 */
function drawn({ store, thread }, arrayOf, row, column) {
  const owners = new Set(thread.filter((_, i) => arrayOf(i).name === "C" && store[i]));
  return (/** @type {number} */ entry) => {
    const { rows, columns, space } = arrayOf(entry);
    const read = space === "shared" && !store[entry];
    return row[entry] < rows && column[entry] < columns && (!read || owners.has(thread[entry]));
  };
}

/** @param {Block} block */
const placesOf = ({ entries, steps, moves }) => placesIn(entries, steps, steps.map(moves));

/**
 * The steps, with the one at which the launch fails.
 * @param {Block} block
 * @param {Fault | undefined} fault
 */
function walked(block, fault) {
  const steps = block.steps.map((those) => walkedStep(block, those));
  if (!fault) return steps;
  const after = block.steps.findIndex(([first]) => block.entries.step[first] >= fault.step);
  steps.splice(after < 0 ? steps.length : after, 0, failingStep(fault, block.arrays));
  return steps;
}

/**
 * @param {Block} block
 * @param {number[]} those
 * @returns {WalkedStep}
 */
function walkedStep({ entries, arrays, row, column }, those) {
  const [first] = those;
  const array = entries.array[first];
  const made = array === PRODUCT;
  /** @type {(values: number[]) => number[]} */
  const taken = (values) => those.map((entry) => values[entry]);
  return {
    line: entries.line[first],
    window: entries.window[first],
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

/**
 * @param {Fault} fault
 * @param {WalkedArray[]} arrays
 * @returns {WalkedStep}
 */
function failingStep({ line, window, array, store, threads, elements, message }, arrays) {
  const { shape, rows, columns } = /** @type {WalkedArray} */ (arrays.at(array));
  const width = shape.at(-1) ?? 1;
  const shown = elements
    .map((at, i) => ({ thread: threads[i], row: Math.floor(at / width), column: at % width }))
    .filter(({ row, column }) => row < rows && column < columns);
  return {
    ...{ line, window, array, store },
    threads: shown.map(({ thread }) => thread),
    rows: shown.map(({ row }) => row),
    columns: shown.map(({ column }) => column),
    values: shown.map(() => null),
    ...{ a: [], b: [], fault: message },
  };
}
