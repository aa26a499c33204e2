// A launch that the file's own program made, as a launch of which everything is known.

import type { Size } from "../kernel.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazards.ts";
import type { Argument } from "../simulator/simulation.ts";
import type { Given, GivenArray, GivenNumber } from "./arguments.ts";
import { isArray, textsOf } from "./arguments.ts";
import { arraysAt } from "./contents.ts";
import type { Element } from "./elements.ts";
import { isWhole, width } from "./elements.ts";
import type { Values } from "./expected.ts";
import type { Arrays, Kernel, Prepared, Settings } from "./launch.ts";
import { bare } from "./launch.ts";
import type { Done, Expectations } from "./one_launch.ts";
import { countPrepared } from "./one_launch.ts";
import { unpack, viewed } from "./packing.ts";
import type { Recorded } from "./program_launches.ts";
import { trimmed } from "./program_launches.ts";
import type { Field } from "./structs.ts";

/** M, N and K of what is no product. */
const SIZE: Size = [64, 64, 64];

/** Null where it takes structs, images or pointers that lead nowhere. */
function prepareRecorded(kernel: Kernel, { call, drawn }: Recorded, isSketch: boolean) {
  const unknown = bare(kernel);
  const { slots, fields, variables } = unknown;
  const values = [...call.args.entries()];
  if (slots.some(({ structBytes }) => structBytes) || fields.length !== values.length) return null;
  const { starts = {}, variables: held = {}, sharedBytes = 0 } = call.options;
  const contents = { values: new Map<string, Values>(), states: new Map<string, Uint8Array>() };
  const given = fields.map((field, at) => {
    const [name, value] = values[at];
    return field.pointer
      ? arrayOf(field, name, value, starts[name] ?? 0, contents)
      : numberOf(name, value);
  });
  const known = given.filter((one) => one !== null);
  if (known.length < given.length) return null;
  const own = variables.map((one) => {
    const now = Object.hasOwn(held, one.symbol) ? held[one.symbol].data : null;
    const numbers = now ? unpack(one.element, viewed(one.element, now)) : one.start;
    if (numbers) contents.values.set(one.array.name, flat(numbers));
    return { ...one, start: numbers, isOwn: one.isOwn && !now, note: "" };
  });
  if (own.some(({ start }) => !start)) return null;
  const [grid, block] = [call.grid, call.block].map(trimmed);
  const isDrawn = isSketch && drawn.length > 0;
  const isAssumed = isDrawn && fields.some((field, at) => isWholeArray(field, known[at], drawn));
  const argued = `Arguments, as the file's main passes them: ${textsOf(known)}.`;
  const prepared: Prepared = {
    ...{ ...unknown, given: known, variables: own, grid: grid.map(String) },
    ...{ block: block.map(String), sharedBytes: `${sharedBytes}` },
    ...{ certain: !isAssumed, numbersTold: !isAssumed, contentsAssumed: isAssumed },
    argued: isDrawn ? `${argued} What it does not fill holds small numbers.` : argued,
    assumed: `Launch, by the file's main: a grid of ${grid.join(" × ")} blocks of ${block.join(" × ")} threads.`,
  };
  const { values: made } = isDrawn ? arraysAt(prepared, SIZE) : { values: new Map() };
  for (const [name, numbers] of made) {
    if (!drawn.includes(name)) continue;
    contents.values.set(name, numbers);
    contents.states.delete(name);
  }
  return { ...prepared, contents: { ...contents, unwritten: [] } };
}

const isWholeArray = ({ pointer, element }: Field, one: Given, drawn: string[]) =>
  pointer && isWhole(element) && drawn.includes(one.name);

/** Run a launch that a program made; null where it cannot be run by itself. Throws a LabError. */
export function countRecorded(
  kernel: Kernel,
  recorded: Recorded,
  isSketch: boolean,
  size: Size,
  expectations: Expectations,
  settings: Settings,
): Done | null {
  const prepared = prepareRecorded(kernel, recorded, isSketch);
  if (!prepared) return null;
  const done = countPrepared(prepared, size, expectations, settings);
  const leaves = ({ result }: Done) => result.hazards.some(({ kind }) => kind === OUT_OF_BOUNDS);
  if (!prepared.contentsAssumed || !leaves(done)) return done;
  const zeros = countPrepared(withZeros(prepared, recorded.drawn), size, expectations, settings);
  return leaves(zeros) ? done : zeros;
}

/** The launch with zeros in the arrays of integers that are drawn: they may be indices. */
function withZeros(prepared: Prepared, drawn: string[]): Prepared {
  const values = new Map(prepared.contents?.values);
  const given = prepared.given.map((one, at) => {
    if (!isArray(one) || !isWholeArray(prepared.fields[at], one, drawn)) return one;
    const { sides, numbers } = values.get(one.name) ?? flat(new Float64Array(0));
    values.set(one.name, { sides, numbers: numbers.map(() => 0) });
    return { ...one, use: "zero" };
  });
  return { ...prepared, given, contents: { unwritten: [], ...prepared.contents, values } };
}

function numberOf(name: string, value: Argument): GivenNumber | null {
  const isNumber =
    typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value));
  // M, N and K are the sizes of a product.
  const own = /^[MNK]$/.test(name) ? "" : name;
  return isNumber ? { kind: "number", text: `${value}`, name: own } : null;
}

function arrayOf(
  { element, constant }: Field,
  name: string,
  value: Argument,
  start: number,
  contents: Pick<Arrays, "values"> & { states: Map<string, Uint8Array> },
): GivenArray | null {
  if (typeof value !== "object" || !("data" in value) || value.whole || !element) return null;
  const { data, state } = value;
  const size = data.byteLength / width(element);
  const at = start / width(element);
  if (!Number.isInteger(size) || !Number.isInteger(at)) return null;
  contents.values.set(name, flat(numbersIn(element, data)));
  if (state) contents.states.set(name, state);
  return {
    ...{ kind: "array", name, use: constant ? "in" : "inout", size: `${size}`, type: "" },
    ...{ start: at ? `${at}` : "", modes: null },
  };
}

function numbersIn(element: Element, data: Parameters<typeof viewed>[1]) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  return unpack(element, viewed(element, bytes));
}

const flat = (numbers: Float64Array): Values => ({ sides: [numbers.length], numbers });
