// What the tests ask of the simulator in JavaScript, as plain data.

import { checkHere } from "../../src/sgemm_lab/checking/simulated.ts";
import { parseKernel } from "../../src/sgemm_lab/kernel.ts";
import { provideTables } from "../../src/sgemm_lab/simulator/measured_functions.ts";
import { traceToJson } from "../../src/sgemm_lab/simulator/trace.ts";
import { simulateWatched } from "../../src/sgemm_lab/simulator/watches/watches.ts";
import { traced } from "../counting/tracing.js";

const TYPES = { float32: Float32Array, uint32: Uint32Array, int32: Int32Array };
Object.assign(TYPES, { float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array });
Object.assign(TYPES, { uint64: BigUint64Array, int64: BigInt64Array, float16: Uint16Array });
Object.assign(TYPES, { int8: Int8Array, int16: Int16Array, bool: Uint8Array });

/**
 * Run a launch; give what Python's Result holds, or what was watched, or the kind and the sentence of
 * what it raises. Arrays come and go as the text of their bytes.
 * @param {any} launch
 * @param {string} [tables] path of the measured functions' tables; without, it runs as in pages
 */
export function run({ ptx, entry, grid, block, args, options }, tables) {
  try {
    provideTables(tables ? () => unpacked(tables) : null);
    const given = new Map(args.map(([name, value]) => [name, argument(value)]));
    const variables = Object.fromEntries(
      Object.entries(options.variables ?? {}).map(([name, value]) => [name, array(value)]),
    );
    const done = simulateWatched(ptx, entry, grid, block, given, { ...options, variables });
    return options.watch ? done.watched : plainResult(done);
  } catch (error) {
    return { raised: error.constructor.name, message: error.message, stack: error.stack };
  }
}

/** The steps of a launch, as pages show them. */
export function stepped({ kernel, source, ptx, size }) {
  return traced(kernel, source, ptx, size);
}

/** Verdicts on a kernel at some sizes. */
export function checked({ kernel, source, ptx, sizes }) {
  return [...checkHere(parseKernel(kernel, source), ptx, sizes)].map(
    ({ hazards: _, ...verdict }) => verdict,
  );
}

function unpacked(path) {
  const [files, zlib] = ["node:fs", "node:zlib"].map((name) => process.getBuiltinModule(name));
  return zlib.gunzipSync(files.readFileSync(path));
}

function argument(value) {
  if (typeof value === "number" || "boxRows" in value) return value;
  if ("fields" in value) {
    const fields = value.fields.map(([start, name, part]) => [start, name, array(part)]);
    return { ...value, fields };
  }
  const found = array(value);
  return found.shape.length ? found : found.data[0];
}

function array(value) {
  const bytes = Buffer.from(value.bytes, "base64");
  const copy = new Uint8Array(bytes).buffer;
  const isHalf = value.type === "float16";
  return { data: new TYPES[value.type](copy), shape: value.shape, isHalf };
}

function plainResult({ arrays, counts, hazards, warnings, trace, requests }) {
  return {
    arrays: Object.fromEntries(
      Object.entries(arrays).map(([name, array]) => [
        name,
        Buffer.from(array.buffer).toString("base64"),
      ]),
    ),
    counts: {
      ...counts.total,
      lines: counts.lines.map(({ file, line, counts: own }) => ({ file, line, ...own })),
    },
    hazards: hazards.map(plainHazard),
    warnings: warnings.map(plainHazard),
    trace: trace && traceToJson(trace),
    requests: requests?.map((one) => ({ ...one, array: one.array.name })) ?? null,
  };
}

function plainHazard(hazard) {
  const { location, otherLocation, ...rest } = hazard;
  return { ...rest, location: `${location}`, otherLocation: otherLocation && `${otherLocation}` };
}
