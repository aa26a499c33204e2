// What the tests ask of the simulator's modules, as plain data.

import { mergeSharedAccesses } from "../../src/sgemm_lab/simulator/access_merging.ts";
import { basicBlocks } from "../../src/sgemm_lab/simulator/control_flow.ts";
import { fma32, fma64 } from "../../src/sgemm_lab/simulator/fma.ts";
import { flowOf } from "../../src/sgemm_lab/simulator/machine.ts";
import {
  powerOfTwo,
  provideTables,
  reciprocal,
  reciprocalRoot,
} from "../../src/sgemm_lab/simulator/measured_functions.ts";
import { layOut } from "../../src/sgemm_lab/simulator/memory.ts";
import { parse, TYPE_BYTES } from "../../src/sgemm_lab/simulator/ptx.ts";
import { simulate } from "../../src/sgemm_lab/simulator/simulation.ts";
import * as tensor from "../../src/sgemm_lab/simulator/tensor_operations.ts";
import { unrollShortLoops } from "../../src/sgemm_lab/simulator/unroll.ts";
import { VectorClocks } from "../../src/sgemm_lab/simulator/vector_clocks.ts";

const plainValue = (_, value) => {
  if (typeof value === "bigint") return Number(value);
  return value instanceof Map ? Object.fromEntries(value) : value;
};
const plain = (value) => JSON.parse(JSON.stringify(value, plainValue));

/** What a function gives, or the kind and the sentence of what it raises. */
function attempt(work) {
  try {
    return plain(work());
  } catch (error) {
    return { raised: error.constructor.name, message: error.message };
  }
}

export const parsed = (ptx, entry) => attempt(() => parse(ptx).get(entry));
export const blocksOf = (ptx, entry) => attempt(() => basicBlocks(parse(ptx).get(entry)));
export const flow = (ptx, entry) => attempt(() => flowOf(parse(ptx).get(entry)));
export const unrolled = (ptx, entry) => plain(unrollShortLoops(parse(ptx).get(entry)));

/** How many accesses of each width, by kernel and by the opcode before its first dot. */
export function widths(ptx, space, asCompiled) {
  const found = {};
  for (const [name, parsedKernel] of parse(ptx)) {
    const kernel = asCompiled ? unrollShortLoops(parsedKernel) : parsedKernel;
    const merged = asCompiled
      ? mergeSharedAccesses(flowOf(kernel), layOut(kernel.shared, 0))
      : new Map();
    found[name] = { ld: {}, st: {} };
    for (const { parts, index } of kernel.instructions) {
      const counts = found[name][parts[0]];
      if (!counts || !parts.includes(space)) continue;
      const vector = Number(parts.find((part) => /^v[24]$/.test(part))?.slice(1) ?? 1);
      const own = TYPE_BYTES.get(parts.at(-1)) * vector;
      const asItIs = [{ width: asCompiled ? Math.max(4, own) : own }];
      for (const { width } of merged.get(index) ?? asItIs) counts[width] = (counts[width] ?? 0) + 1;
    }
  }
  return found;
}

const text = (value) => `${Object.is(value, -0) ? "-0" : value}`;

/** Multiply-adds of double precision; numbers come and go as text. */
export const fmaOfDoubles = (cases) => cases.map((numbers) => text(fma64(...numbers.map(Number))));

/** Multiply-adds of single precision: three columns; the sums as bits. */
export function fma(...columns) {
  const [a, b, c] = columns.map((column) => Float32Array.from(column));
  const out = new Float32Array(a.length);
  fma32(out, a, b, c, 0, a.length);
  return [...new Uint32Array(out.buffer)];
}

/** What a measured function answers with the tables of a file. */
export function measuredFunction(name, tables, numbers) {
  const [files, zlib] = ["node:fs", "node:zlib"].map((one) => process.getBuiltinModule(one));
  provideTables(() => zlib.gunzipSync(files.readFileSync(tables)));
  return numbers.map({ powerOfTwo, reciprocal, reciprocalRoot }[name]);
}

/** A row of A times a column of B, with an addend: for each case the bits of the sum. */
export const sums = (cases) =>
  cases.map(([a, b, c]) => {
    const [left, right] = [a, b].map((numbers) => {
      const elements = tensor.elements(1, numbers.length);
      numbers.forEach((one, k) => {
        tensor.put(elements, k, Number(one));
      });
      tensor.look(elements);
      return elements;
    });
    const sum = tensor.sumOfProducts(left, 0, right, 0, a.length, Number(c));
    return tensor.floatBits(sum) >>> 0;
  });

export const towardZero = (values) => values.map((one) => text(tensor.towardZero(Number(one))));

/** Clocks of three warps: calls of their methods, "known" being what the last release returned. */
export function clocked(calls) {
  const clocks = new VectorClocks(1, 3);
  let known = null;
  return calls.map(([name, ...given]) => {
    const result = clocks[name](...given.map((one) => (one === "known" ? known : one)));
    if (name === "release") known = result;
    return [0, 1, 2].map((warp) => clocks.epochOf(0, warp));
  });
}

const TYPES = { int32: Int32Array, uint32: Uint32Array, float32: Float32Array };

/** C of launches as words, as pages run them: without tables of measured functions. */
export function launched(launches) {
  return launches.map(({ ptx, entry, grid, block, args, options }) => {
    const given = args.map(([name, value]) => {
      if (typeof value === "number") return [name, value];
      const data = new TYPES[value.type](Uint32Array.from(value.words).buffer);
      return [name, { data, shape: value.shape }];
    });
    const { arrays } = simulate(ptx, entry, grid, block, new Map(given), options);
    const last = Object.values(arrays).at(-1);
    return [...new Uint32Array(last.buffer)];
  });
}

/** The same where memory that nothing wrote holds other bytes. */
export function launchedWithFill(fill, launches) {
  const original = Uint8Array.prototype.fill;
  Uint8Array.prototype.fill = function filled(value, ...where) {
    return original.call(this, value === 0xff ? fill : value, ...where);
  };
  try {
    return launched(launches);
  } finally {
    Uint8Array.prototype.fill = original;
  }
}
