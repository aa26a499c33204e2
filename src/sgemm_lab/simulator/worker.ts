// The simulator as a process of Node that answers Python: see worker.py. A message, both ways, is
// two numbers of 8 bytes, the length of a JSON text and that of the arrays, and then both. In the
// text an array is {"@": [type, first byte, bytes, shape]}; each begins at a multiple of 8 bytes.

import { readFileSync, readSync, writeSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { LabError } from "../errors.ts";
import { DeadlockError, EndlessLoopError, TimeLimitError } from "./divergence.ts";
import type { Hazard } from "./hazard_types.ts";
import type { Progress } from "./machine.ts";
import { provideTables } from "./measured_functions.ts";
import type { TypedArray } from "./memory.ts";
import { PtxError } from "./ptx_text.ts";
import type { Argument } from "./simulation.ts";
import type { Location } from "./source_locations.ts";
import type { Trace } from "./trace.ts";
import { simulateWatched } from "./watches/watches.ts";

/** An array in the text of a message. */
export interface Placed {
  "@": [type: keyof typeof TYPES, first: number, bytes: number, shape: number[]];
}

/** What Python asks, with the arrays of the message. */
export class Question {
  constructor(
    // biome-ignore lint/suspicious/noExplicitAny: each task knows what it is given
    public given: any,
    public arrays: ArrayBuffer,
    public progress: Progress | null,
  ) {}

  /** The elements of an array. */
  array({ "@": [type, first, bytes, shape] }: Placed) {
    const Type = TYPES[type];
    const data = new Type(this.arrays, first, bytes / Type.BYTES_PER_ELEMENT) as TypedArray;
    return { data, shape, isHalf: type === "float16" };
  }
}

/** Some answers come later: those that load the compiler. */
export type Tasks = Record<string, (question: Question) => unknown>;

/** By the names of NumPy. A float16 and a bool are as they lie in memory. */
const TYPES = {
  ...{ bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array },
  ...{ uint16: Uint16Array, float16: Uint16Array, int32: Int32Array, uint32: Uint32Array },
  ...{ float32: Float32Array, float64: Float64Array },
  ...{ int64: BigInt64Array, uint64: BigUint64Array },
};

const RAISED = { DeadlockError, EndlessLoopError, PtxError, TimeLimitError, LabError };
const HEAD_BYTES = 16;
const ALIGNMENT = 8;

/** Answer questions until Python closes the pipe. The program's argument names the tables' file. */
export async function serve(tasks: Tasks) {
  const [, , tables] = process.argv;
  provideTables(() => gunzipSync(readFileSync(tables)));
  for (let head = read(HEAD_BYTES); head; head = read(HEAD_BYTES)) {
    const sizes = new BigUint64Array(head.buffer);
    const text = read(Number(sizes[0]));
    const arrays = read(Number(sizes[1]));
    if (!text || !arrays) return;
    const { task, progress, given } = JSON.parse(new TextDecoder().decode(text));
    const tell = (done: number, all: number) => send({ progress: [done, all] });
    send(await answer(tasks[task], new Question(given, arrays.buffer, progress ? tell : null)));
  }
}

async function answer(task: Tasks[string], question: Question) {
  try {
    return { answer: await task(question) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const kinds = Object.entries(RAISED);
    const raised = kinds.find(([, kind]) => error instanceof kind)?.[0] ?? null;
    return { raised, message: error.message, stack: error.stack };
  }
}

/** The next bytes from Python, or null at the end. */
function read(bytes: number) {
  const into = new Uint8Array(bytes);
  for (let at = 0; at < bytes; ) {
    const count = readSync(0, into, at, bytes - at);
    if (!count) return null;
    at += count;
  }
  return into;
}

function send(message: unknown) {
  const arrays: Uint8Array[] = [];
  let bytes = 0;
  const text = JSON.stringify(message, (_, value) => {
    if (!ArrayBuffer.isView(value)) return value;
    const raw = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    const type = value.constructor.name.replace("Array", "").replace("Big", "").toLowerCase();
    const first = bytes;
    const gap = -raw.length & (ALIGNMENT - 1);
    arrays.push(raw, new Uint8Array(gap));
    bytes += raw.length + gap;
    return { "@": [type, first, raw.length] };
  });
  const encoded = new TextEncoder().encode(text);
  const head = new BigUint64Array([BigInt(encoded.length), BigInt(bytes)]);
  for (const part of [new Uint8Array(head.buffer), encoded, ...arrays]) {
    for (let at = 0; at < part.length; ) at += writeSync(1, part, at);
  }
}

/** Run a launch: what Python's `simulate` sends, and what it makes a Result of. */
export function simulateFor(question: Question) {
  const { ptx, entry, grid, block, args, options, variables } = question.given;
  const given = new Map<string, Argument>(
    args.map(([name, value]: [string, unknown]) => [name, argumentOf(question, value)]),
  );
  const set = Object.entries<Placed>(variables).map(([name, one]) => [name, question.array(one)]);
  const result = simulateWatched(ptx, entry, grid, block, given, {
    ...options,
    variables: Object.fromEntries(set),
    progress: question.progress,
  });
  return packedResult(result);
}

/** A result as plain data: see `Result` of simulation.py. */
export function packedResult(result: ReturnType<typeof simulateWatched>) {
  return {
    arrays: result.arrays,
    lines: result.counts.lines.map(({ file, line, counts }) => [file, line, withoutZeros(counts)]),
    hazards: result.hazards.map(plainHazard),
    warnings: result.warnings.map(plainHazard),
    trace: result.trace && packedTrace(result.trace),
    requests: result.requests,
    watched: result.watched,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: it is JSON
function argumentOf(question: Question, value: any): Argument {
  if (typeof value !== "object") return Number(value);
  if ("@" in value) return question.array(value);
  if ("whole" in value) return BigInt(value.whole);
  if (!("fields" in value)) return value;
  const { bytes, fields } = value as { bytes: number; fields: [number, string, Placed][] };
  return { bytes, fields: fields.map(([at, name, part]) => [at, name, question.array(part)]) };
}

function withoutZeros(counts: Record<string, number>) {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count));
}

export function plainHazard({ location, otherLocation, ...rest }: Hazard) {
  return {
    ...rest,
    location: place(location),
    otherLocation: otherLocation && place(otherLocation),
  };
}

const place = ({ file, line }: Location) => [file, line];

/** A trace whose columns are arrays. */
function packedTrace({ columns, products, ...rest }: Trace) {
  return { ...rest, columns: packed(columns), products: packed(products) };
}

function packed(columns: Record<string, number[]>) {
  const entries = Object.entries(columns);
  return Object.fromEntries(entries.map(([name, column]) => [name, Float64Array.from(column)]));
}
