// A launch that the file's own program made, as a launch of which everything is known.

import type { Size } from "../kernel.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazard_log.ts";
import { WRITTEN } from "../simulator/memory.ts";
import type { Argument, Call } from "../simulator/simulation.ts";
import { type Given, type GivenArray, type GivenNumber, isArray, textsOf } from "./arguments.ts";
import { countOf, elementsOf, roomOf, SIZES_ASSUMED } from "./assumed_launch.ts";
import { bytesOf, type Element, isWhole, width } from "./elements.ts";
import type { Values } from "./expected.ts";
import { type HostLaunch, trimmed } from "./host_launch.ts";
import { arraysAt } from "./initial_values.ts";
import { type Arrays, bare, type Kernel, type Prepared, type Settings } from "./launch.ts";
import { countPrepared, type Done, type Expectations } from "./one_launch.ts";
import { unpack, viewed } from "./packing.ts";
import type { Field } from "./structs.ts";
import { isStride } from "./usual_numbers.ts";

/** M, N and K of what is no product. */
const SIZE: Size = [64, 64, 64];

/** What is assumed of arrays whose sizes are not known. */
export interface MadePlan {
  /** they are enlarged */
  isRoomy: boolean;
  /** those of integers hold zeros, as they may be indices */
  isZero: boolean;
}

/** One value that a kernel is given: an argument, or a field of a struct. */
interface Part {
  name: string;
  value: Argument;
  /** bytes before the element that it points to */
  start: number;
}

/** What a kernel is given, structs taken apart; null where that is not known. */
function partsOf({ slots }: Prepared, { args, options: { starts = {} } }: Call): Part[] | null {
  const all = [...args];
  if (slots.length !== all.length) return null;
  const parts = slots.flatMap(({ fields, structBytes }, at): (Part | null)[] => {
    const [name, value] = all[at];
    if (!structBytes) return [{ name, value, start: starts[name] ?? 0 }];
    if (typeof value !== "object" || !("fields" in value)) return [null];
    return fields.map((field) => {
      const held = value.fields.find(([offset]) => offset === field.offset);
      if (!held || !field.element) return null;
      const [, own, array] = held;
      const called = field.name.replace(/\W+/g, "_");
      if (field.pointer !== array.shape.length > 0) return null;
      if (field.pointer) return { name: called, value: array, start: starts[own] ?? 0 };
      return { name: called, value: numbersIn(field.element, array.data)[0], start: 0 };
    });
  });
  const known = parts.filter((one) => one !== null);
  return known.length < parts.length ? null : known;
}

/**
 * The launch on the arrays that it gets; null where it takes images, pointers that lead nowhere or arrays
 * of pointers. Which arrays of structs are empty is not known.
 * @param isOpen whether what the program does not set may hold anything
 */
function prepareRecorded(kernel: Kernel, host: HostLaunch, plan: MadePlan | null, isOpen: boolean) {
  if (host.call.options.reached) return null;
  const unknown = bare(kernel);
  const { slots, fields, variables } = unknown;
  const { call, made } = host;
  const parts = partsOf(unknown, call);
  if (!parts || (!plan && isOpen && slots.some(({ structBytes }) => structBytes))) return null;
  const { variables: held = {}, sharedBytes = 0 } = call.options;
  const contents = {
    ...{ values: new Map<string, Values>(), states: new Map<string, Uint8Array>(), held },
  };
  const numbers = parts.flatMap(({ value }, at) =>
    typeof value === "number" && value > 0 && !isStride(fields[at], fields) ? value : [],
  );
  const count = elementsOf(numbers.filter(Number.isInteger), [...call.grid, ...call.block]);
  const given = fields.map((field, at) => {
    const { name, value, start } = parts[at];
    if (!field.pointer) return numberOf(name, value);
    return plan && made?.arrays.has(name)
      ? madeArray(
          field,
          name,
          countOf(field, count * (plan.isRoomy ? roomOf(fields) : 1), unknown.opened),
          start,
          plan,
        )
      : arrayOf(field, name, value, start, contents);
  });
  const known = given.filter((one) => one !== null);
  if (known.length < given.length) return null;
  const own = variables.map((one) => {
    const now = Object.hasOwn(held, one.symbol) ? held[one.symbol].data : null;
    // In a program that is run, one that nothing sets holds zeros.
    const zeros = isOpen ? null : new Float64Array(Number(one.array.size));
    const start = now ? unpack(one.element, viewed(one.element, now)) : (one.start ?? zeros);
    if (start) contents.values.set(one.array.name, flat(start));
    return { ...one, start, isOwn: one.isOwn && !now, note: isOpen && !now ? one.note : "" };
  });
  const [grid, block] = [call.grid, call.block].map(trimmed);
  const prepared: Prepared = {
    ...{ ...unknown, given: known, variables: own, grid: grid.map(String) },
    ...{ block: block.map(String), sharedBytes: `${sharedBytes}` },
  };
  return { prepared, parts, contents, shape: [grid, block].map((sides) => sides.join(" × ")) };
}

/**
 * A launch with the contents that it has, and small numbers in the arrays, and the variables, that hold
 * nothing.
 */
function withDrawn(
  prepared: Prepared,
  contents: Pick<Arrays, "values" | "held"> & { states: Map<string, Uint8Array> },
  empty: string[],
): Prepared {
  const unset = prepared.variables.flatMap(({ start, array }) => (start ? [] : array.name));
  const drawn = [...empty, ...unset];
  if (drawn.length) {
    const { values: made } = arraysAt(prepared, SIZE);
    for (const [name, numbers] of made) {
      if (!drawn.includes(name)) continue;
      contents.values.set(name, numbers);
      contents.states.delete(name);
    }
  }
  return { ...prepared, contents: { ...contents, unwritten: [] } };
}

function prepareOwn(kernel: Kernel, host: HostLaunch, isSketch: boolean) {
  const found = prepareRecorded(kernel, host, null, isSketch);
  if (!found) return null;
  const { prepared, contents, shape } = found;
  const { drawn } = host;
  const isDrawn = isSketch && drawn.length > 0;
  const isAssumed =
    isDrawn && prepared.fields.some((field, at) => isWholeArray(field, prepared.given[at], drawn));
  const argued = `Arguments, as the file's main passes them: ${textsOf(prepared.given)}.`;
  const isUnset = prepared.variables.some(({ note, element }) => note && isWhole(element));
  const isKnown = !isAssumed && !isUnset;
  const told: Prepared = {
    ...{ ...prepared, certain: isKnown, numbersTold: isKnown, contentsAssumed: isAssumed },
    argued: isDrawn ? `${argued} What it does not fill holds small numbers.` : argued,
    assumed: `Launch, by the file's main: a grid of ${shape[0]} blocks of ${shape[1]} threads.`,
  };
  return withDrawn(told, contents, isDrawn ? drawn : []);
}

/** A launch by a function that is called with arguments that are made up; null as in `prepareRecorded`. */
export function prepareMade(kernel: Kernel, host: HostLaunch, plan: MadePlan): Prepared | null {
  const found = prepareRecorded(kernel, host, plan, true);
  const { made, line } = host;
  if (!found || !made) return null;
  const { prepared, parts, contents, shape } = found;
  const numbers = [
    ...made.template,
    ...[...made.numbers].map(([name, value]) => `${name} = ${value}`),
  ];
  const where = numbers.length
    ? ` where ${numbers.join(", ")}, which ${numbers.length > 1 ? "are" : "is"} assumed`
    : "";
  const hasIndices = prepared.fields.some(
    ({ pointer, element }) => pointer && (!element || isWhole(element)),
  );
  const told: Prepared = {
    ...{ ...prepared, host, certain: false, contentsAssumed: false },
    numbersTold: !numbers.length && (!hasIndices || plan.isZero),
    argued: [
      `Arguments, as line ${line} passes them${where}: ${textsOf(prepared.given)}.`,
      numbers.length && "Say --args where they are others.",
      made.arrays.size && SIZES_ASSUMED,
    ]
      .filter(Boolean)
      .join(" "),
    assumed: `Launch, told by line ${line}: a grid of ${shape[0]} blocks of ${shape[1]} threads.`,
  };
  const empty = parts.filter(({ value }) => isEmpty(value)).map(({ name }) => name);
  const drawn = withDrawn(told, contents, [...empty, ...made.arrays]);
  for (const [at, { element }] of prepared.fields.entries()) {
    const { name, value } = parts[at];
    const numbers = drawn.contents?.values.get(name)?.numbers;
    if (numbers && element && made.arrays.has(name)) keepWritten(numbers, element, value);
  }
  return drawn;
}

const isEmpty = (value: Argument) =>
  typeof value === "object" && "data" in value && value.state?.includes(WRITTEN) === false;

/** Of an array that is drawn keep what the function had written before the launch. */
function keepWritten(numbers: Float64Array, element: Element, value: Argument) {
  if (typeof value !== "object" || !("data" in value) || !value.state) return;
  const { data, state } = value;
  const held = numbersIn(element, data);
  const bytes = bytesOf(element);
  const most = Math.min(numbers.length, held.length);
  for (let at = 0; at < most; at++) if (state[at * bytes] === WRITTEN) numbers[at] = held[at];
}

const isWholeArray = ({ pointer, element }: Field, one: Given, drawn: string[]) =>
  pointer && isWhole(element) && drawn.includes(one.name);

/** Run a launch that a program made; null where it cannot be run by itself. Throws a LabError. */
export function countRecorded(
  kernel: Kernel,
  recorded: HostLaunch,
  isSketch: boolean,
  size: Size,
  expectations: Expectations,
  settings: Settings,
): Done | null {
  const prepared = prepareOwn(kernel, recorded, isSketch);
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

/** An array whose size is not known. */
function madeArray(
  { element, constant }: Field,
  name: string,
  count: number,
  start: number,
  { isZero }: MadePlan,
): GivenArray {
  const at = element ? Math.floor(start / width(element)) : 0;
  // Integers that are changed may be counters or marks.
  const isCleared = isWhole(element) ? isZero || !constant : isZero && !element && !constant;
  const use = isCleared ? "zero" : constant ? "in" : "inout";
  return {
    ...{ kind: "array", name, use, size: `${count + at}`, modes: null },
    ...{ type: element ? "" : "float", start: at ? `${at}` : "" },
  };
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
