// Loads, stores and atomics. Asynchronous copies are in async_copies.ts, the checks of an address
// in accesses.ts.

import { addressOf, begin } from "./accesses.ts";
import { type Access, ATOMIC, type Kind, LOAD, Site, STORE, type ThreadGroup } from "./group.ts";
import { addSmall } from "./half_operations.ts";
import { FLOAT_ORDER } from "./hazard_types.ts";
import { LOCAL_WINDOW, type Memory, SHARED_WINDOW, type TypedArray } from "./memory.ts";
import { readSomewhere, registersOf, writersOf } from "./operands.ts";
import type { Match, Step } from "./operations.ts";
import { copied, lanewise, operations, slowly, target } from "./operations.ts";
import { type Instruction, type Operand, type PtxKernel, TYPE_BYTES } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { fromHalf, type Mask, typeOf, type Value } from "./registers.ts";
import { sentence } from "./sentences.ts";

type Run = (space: string, addresses: Float64Array, mask: Mask | null) => void;

/** A step that calls `run` with a named space, or finds the space of generic addresses. */
export function inSpace(
  space: string | null,
  addresses: (mask: Mask | null) => Float64Array,
  run: Run,
): Step {
  if (space !== null) return (mask) => run(space, addresses(mask), mask);
  return (mask) => {
    const generic = addresses(mask);
    const spaces = [
      ["local", LOCAL_WINDOW, Number.POSITIVE_INFINITY],
      ["shared", SHARED_WINDOW, LOCAL_WINDOW],
      ["global", 0, SHARED_WINDOW],
    ] as [string, number, number][];
    for (const [name, start, end] of spaces) {
      const from = name === "global" ? Number.NEGATIVE_INFINITY : start;
      const chosen = Uint8Array.from(generic, (address, lane) =>
        address >= from && address < end && (mask === null || mask[lane] !== 0) ? 1 : 0,
      );
      if (chosen.includes(1))
        run(name, start ? generic.map((one) => one - start) : generic, chosen);
    }
  };
}

const GENERIC = ["global", "shared", "local"];

export const spaceOf = (match: Match) => match.space?.replaceAll(".", "").split("::")[0] ?? null;

function sitesOf(instruction: Instruction, match: Match, kind: Kind): Record<string, Site> {
  const words = match.vector ? Number(match.vector.slice(1)) : 1;
  const bytes = TYPE_BYTES.get(match.type) as number;
  const named = spaceOf(match);
  return Object.fromEntries(
    (named === null ? GENERIC : [named]).map((space) => [
      space,
      new Site(instruction, space, kind, bytes, words, match.type[0] === "f"),
    ]),
  );
}

export const itemsOf = (operand: Operand) =>
  operand.kind === "vector" ? operand.items : [operand];

/**
 * Tell who wants to know what moved. `moved` gives the element of a number, for a legal lane of a
 * number.
 */
function notifyValues(
  access: Access,
  type: string,
  moved: (number: number) => (index: number, lane: number) => Value,
  count: number,
) {
  const { valueObservers } = access.group.launch;
  if (!valueObservers.length) return;
  const values = Array.from({ length: count }, (_, number) => {
    const value = moved(number);
    const array = numbersOf(type, access.positions.length);
    for (let i = 0; i < array.length; i++) {
      array[i] = Number(value(i, access.lanes === null ? i : access.lanes[i]));
    }
    return array;
  });
  for (const observer of valueObservers) observer.onValues?.(access, values);
}

/**
 * An array for elements of a PTX type, as numbers. Those of 64 bits lose what double precision has
 * no room for.
 */
function numbersOf(type: string, length: number): TypedArray {
  const { kind, bytes } = typeOf(type);
  if (bytes === 8 || (kind === "f" && bytes === 2)) return new Float64Array(length);
  if (kind === "f") return new Float32Array(length);
  if (bytes === 4) return kind === "s" ? new Int32Array(length) : new Uint32Array(length);
  if (bytes === 2) return kind === "s" ? new Int16Array(length) : new Uint16Array(length);
  return kind === "s" ? new Int8Array(length) : new Uint8Array(length);
}

/** A function that reads an element of a type at a byte of a memory. */
function elementAt(memory: Memory, type: string): (position: number) => Value {
  const view = new DataView(memory.bytes.buffer);
  const { kind, bytes } = typeOf(type);
  const bits = 8 * bytes;
  if (kind === "f") {
    if (bytes === 2) return (at) => fromHalf(view.getUint16(at, true));
    return bytes === 4 ? (at) => view.getFloat32(at, true) : (at) => view.getFloat64(at, true);
  }
  const fit = kind === "s" ? BigInt.asIntN : BigInt.asUintN;
  if (bytes === 8) return (at) => fit(bits, view.getBigUint64(at, true));
  if (bytes === 4) return (at) => fit(bits, BigInt(view.getUint32(at, true)));
  if (bytes === 2) return (at) => fit(bits, BigInt(view.getUint16(at, true)));
  return (at) => fit(bits, BigInt(view.getUint8(at)));
}

function load(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { type } = match;
  const sites = sitesOf(instruction, match, LOAD);
  const move = loader(group, itemsOf(instruction.operands[0]), type);
  const usedIf = group.launch.usedIf.get(instruction.index);
  return inSpace(spaceOf(match), addressOf(group, instruction, 1), (space, addresses, mask) => {
    move(begin(group, sites[space], addresses, mask, { scratch: 0, usedIf }));
  });
}

/** What fills registers with the elements of an access. */
export function loader(group: ThreadGroup, items: Operand[], type: string) {
  const fill = loadWords(group, items, type) ?? loadElements(group, items, type);
  return (access: Access) => {
    fill(access);
    if (!group.launch.valueObservers.length) return;
    const read = elementAt(access.memory, type);
    const { positions, site } = access;
    notifyValues(
      access,
      type,
      (at) => (i) => read(positions[i] + at * site.wordBytes),
      items.length,
    );
  };
}

/** A number among the parameters, or a part of a struct: those lie in memory. */
function loadParameter(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const origin = instruction.operands[1];
  const name = origin?.kind === "address" && origin.base.kind === "symbol" ? origin.base.name : "";
  const value = group.parameters.get(name);
  if (value === undefined) {
    const isPlace = origin?.kind === "address" && origin.base.kind === "register";
    if (isPlace || group.registers.symbols.has(name)) return load(group, instruction, match);
    throw new PtxError(sentence("run.parameter", { place: instruction.location }));
  }
  const { kind, bytes } = typeOf(match.type);
  if (kind === "f" && bytes < 4) return slowly(group, instruction, match.type, () => Number(value));
  const bits = bitsOfNumber(value, kind, bytes);
  const out = bytes < 4 ? null : group.registers.row(target(instruction), bytes);
  if (out) return copied(group, out, group.registers.constant(bits, bytes).i32);
  if (!extends_(match.type)) return slowly(group, instruction, `b${8 * bytes}`, () => bits);
  return lanewise(group, group.registers.wholeWriter(target(instruction)), () => bits);
}

/** A number as it is read from its bits: PTX loads an int of -2 as u32, and a char as s8. */
function bitsOfNumber(value: number | bigint, kind: string, bytes: number) {
  if (kind !== "f") {
    const whole = BigInt(typeof value === "number" ? Math.trunc(value) : value);
    return (kind === "s" ? BigInt.asIntN : BigInt.asUintN)(8 * bytes, whole);
  }
  return floatBits(new DataView(new ArrayBuffer(8)), Number(value), bytes);
}

/** Moves what an access loads or stores. */
type Move = (access: Access) => void;

/** Whether a load of a type fills the whole register, which may be wider. */
const extends_ = (type: string) => typeOf(type).bytes < 8 && "su".includes(type[0]);

/**
 * What moves 32-bit words into registers of that width; null where elements or registers differ.
 */
function loadWords(group: ThreadGroup, items: Operand[], type: string): Move | null {
  if (typeOf(type).bytes !== 4) return null;
  const rows = items.map((item) => {
    if (item.kind !== "register") throw new TypeError(type);
    return group.registers.row(item, 4);
  });
  const found = rows.filter((row) => row !== null).map((row) => row.i32);
  if (found.length < rows.length) return null;
  return (access) => {
    for (let word = 0; word < found.length; word++) gather(found[word], access, word);
  };
}

function gather(out: Int32Array, { memory, positions, lanes }: Access, word: number) {
  const { words } = memory;
  const { length } = positions;
  if (lanes === null) {
    for (let i = 0; i < length; i++) out[i] = words[(positions[i] >> 2) + word];
  } else {
    for (let i = 0; i < length; i++) out[lanes[i]] = words[(positions[i] >> 2) + word];
  }
}

/** What moves elements of any type; a narrow integer is extended to its whole register. */
function loadElements(group: ThreadGroup, items: Operand[], type: string): Move {
  const { bytes } = typeOf(type);
  const writers = items.map((item) => {
    if (item.kind !== "register") throw new TypeError(type);
    if (extends_(type)) return group.registers.wholeWriter(item);
    return group.registers.writer(item, `b${8 * bytes}`);
  });
  const bits = extends_(type) ? type : `b${8 * bytes}`;
  return ({ memory, positions, lanes }) => {
    const read = elementAt(memory, bits);
    writers.forEach((write, number) => {
      for (let i = 0; i < positions.length; i++) {
        write(lanes === null ? i : lanes[i], read(positions[i] + number * bytes));
      }
    });
  };
}

function store(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { type } = match;
  const sites = sitesOf(instruction, match, STORE);
  const move = storer(group, itemsOf(instruction.operands[1]), type);
  return inSpace(spaceOf(match), addressOf(group, instruction, 0), (space, addresses, mask) => {
    move(begin(group, sites[space], addresses, mask, { scratch: 0 }));
  });
}

/** What stores registers as the elements of an access. */
export function storer(group: ThreadGroup, items: Operand[], type: string) {
  const empty = storeWords(group, items, type) ?? storeElements(group, items, type);
  const readers = items.map((item) => group.registers.reader(item, type));
  const bits = items.map((item) => group.registers.reader(item, `b${8 * typeOf(type).bytes}`));
  const bitsOf =
    ({ lanes }: Access): ((element: number, i: number) => bigint) =>
    (element, i) =>
      BigInt(bits[element](lanes === null ? i : lanes[i]));
  return (access: Access) => {
    empty(access);
    access.memory.markWritten(access.positions, access.site.width);
    for (const observer of group.launch.observers) observer.onStored?.(access, bitsOf(access));
    notifyValues(access, type, (number) => (_, lane) => readers[number](lane), items.length);
  };
}

/**
 * What moves 32-bit words out of registers of that width; null where elements or registers differ.
 */
function storeWords(group: ThreadGroup, items: Operand[], type: string): Move | null {
  if (typeOf(type).bytes !== 4) return null;
  const rows = items.map((item) => group.registers.source(item, 4));
  const found = rows.filter((row) => row !== null).map((row) => row.i32);
  if (found.length < rows.length) return null;
  return (access) => {
    for (let word = 0; word < found.length; word++) scatter(found[word], access, word);
  };
}

function scatter(from: Int32Array, { memory, positions, lanes }: Access, word: number) {
  const { words } = memory;
  const { length } = positions;
  if (lanes === null) {
    for (let i = 0; i < length; i++) words[(positions[i] >> 2) + word] = from[i];
  } else {
    for (let i = 0; i < length; i++) words[(positions[i] >> 2) + word] = from[lanes[i]];
  }
}

/** What moves elements of any type, as bits. */
function storeElements(group: ThreadGroup, items: Operand[], type: string): Move {
  const { bytes } = typeOf(type);
  const readers = items.map((item) => group.registers.reader(item, `b${8 * bytes}`));
  return ({ memory, positions, lanes }) => {
    readers.forEach((read, number) => {
      for (let i = 0; i < positions.length; i++) {
        const value = BigInt(read(lanes === null ? i : lanes[i]));
        setBits(memory, positions[i] + number * bytes, bytes, value);
      }
    });
  };
}

function setBits(memory: Memory, position: number, bytes: number, value: bigint) {
  for (let byte = 0; byte < bytes; byte++) {
    memory.bytes[position + byte] = Number((value >> BigInt(8 * byte)) & 0xffn);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: both numbers or both bigints
const ATOMICS: Record<string, (a: any, b: any) => any> = {
  exch: (_, b) => b,
  add: (a, b) => a + b,
  min: (a, b) => (Number.isNaN(a) || a < b ? a : b),
  max: (a, b) => (Number.isNaN(a) || a > b ? a : b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  inc: (a, most) => (a >= most ? 0n : a + 1n),
  dec: (a, most) => (a === 0n || a > most ? most : a - 1n),
};

const SMALL = /^b?f16/;
/** The bits of minus infinity: those of larger negative whole numbers are NaN. */
const LEAST_NEGATIVE = -(2 ** 23);

/** `red` and `atom`. Lanes that meet at one address go one after the other. */
function atomic(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { op } = match;
  const isSmall = SMALL.test(match.type);
  // Floats of 16 bits, and pairs of them, are added as bits.
  const type = isSmall ? `b${8 * typeOf(match.type).bytes}` : match.type;
  const { kind, bytes } = typeOf(type);
  const sites = sitesOf(instruction, match, ATOMIC);
  const returns = match.name === "atom";
  if (op === "exch" && !returns) throw new TypeError(instruction.opcode);
  const place = returns ? 2 : 1;
  const swaps = op === "cas";
  const read = group.registers.reader(instruction.operands[place + (swaps ? 1 : 0)], type);
  const wanted = swaps ? group.registers.reader(instruction.operands[place], type) : null;
  const change = isSmall
    ? (a: Value, b: Value) => addSmall(a, b, match.type)
    : ATOMICS[swaps ? "exch" : op];
  const [first] = instruction.operands;
  // What nobody reads is not returned: so does ptxas, and no loop waits for it.
  const isRead = first.kind === "register" && readSomewhere(group.launch.kernel).has(first.name);
  const write = returns && isRead ? group.registers.writer(first, type) : null;
  // The bits of floats, compared as whole numbers.
  const isExtreme = type === "s32" && (op === "max" || op === "min");
  const isFloat = isExtreme && holdsFloat(group.launch.kernel, instruction.operands[place]);
  const view = new DataView(new ArrayBuffer(8));
  const bitsOf = (value: Value) =>
    kind === "f" ? floatBits(view, Number(value), bytes) : BigInt(value);
  const addresses = addressOf(group, instruction, returns ? 1 : 0);
  return inSpace(spaceOf(match), addresses, (space, where, mask) => {
    const access = begin(group, sites[space], where, mask, { scratch: 0 });
    const { positions, lanes, memory } = access;
    const element = elementAt(memory, type);
    const raw = elementAt(memory, `b${8 * bytes}`);
    const before = Array.from(positions, (position) => raw(position));
    // Only what the lanes ask for counts, not what is written meanwhile.
    const asked = Array.from(positions, (_, i) => read(lanes === null ? i : lanes[i]));
    const stored = asked.slice();
    positions.forEach((position, i) => {
      const old = element(position);
      const lane = lanes === null ? i : lanes[i];
      // compare and swap: only what is there as expected is exchanged
      const result = wanted && wanted(lane) !== old ? old : change(old, asked[i]);
      const isOdd =
        isExtreme && old <= LEAST_NEGATIVE && asked[i] <= LEAST_NEGATIVE && old !== asked[i];
      if (isOdd && (isFloat || memory.arrayAt(position)?.dtype?.make === Float32Array)) {
        group.launch.hazards.odd(FLOAT_ORDER, group, lane, instruction);
      }
      write?.(lane, old);
      setBits(memory, position, bytes, bitsOf(result));
      stored[i] = result;
    });
    if (before.every((old, i) => old === raw(positions[i]))) {
      // Nothing new: a thread that asks in a loop need not ask again until there is.
      group.testFailed ||= write !== null;
      group.mayEnd ||= write !== null;
    } else group.batch.progressCount += 1;
    memory.markWritten(positions, access.site.width);
    const { observers } = group.launch;
    for (const one of observers) one.onStored?.(access, (_, i) => bitsOf(stored[i]));
    notifyValues(access, type, () => (i) => asked[i], 1);
  });
}

/** Whether an operand has the bits of a float. */
const holdsFloat = ({ instructions }: PtxKernel, operand: Operand) =>
  registersOf(operand).some(({ name }) =>
    writersOf(instructions)
      .get(name)
      ?.some(({ parts, operands: [, from] }) => {
        return parts[0] === "mov" && registersOf(from).some((one) => /^%f\d/.test(one.name));
      }),
  );

function floatBits(view: DataView, value: number, bytes: number) {
  if (bytes === 8) view.setFloat64(0, value);
  else {
    view.setUint32(0, 0);
    view.setFloat32(4, value);
  }
  return view.getBigUint64(0);
}

const SPACE = "(?<space>\\.global|\\.shared(?:::(?:cta|cluster))?|\\.local|\\.const)?";
const TYPE = "(?<type>[subf](?:8|16|32|64))";
const CACHE = "(?:\\.(?:ca|cg|cs|lu|cv|wb|wt|nc|weak|L1::\\w+|L2::\\w+))*";
const STRENGTH =
  "(?:\\.volatile|\\.(?:weak|relaxed|acquire|release)(?:\\.(?:cta|cluster|gpu|sys))?)?";
const SCOPE = "(?:\\.(?:relaxed|release|acquire|acq_rel|gpu|cta|sys))*";
const VECTOR = "(?:\\.(?<vector>v[24]))?";

export const MEMORY_OPERATIONS = operations([
  [`ld${STRENGTH}${SPACE}${CACHE}${VECTOR}\\.${TYPE}`, load],
  [`ld(?<space>\\.param)${VECTOR}\\.${TYPE}`, loadParameter],
  [`st${STRENGTH}${SPACE}${CACHE}${VECTOR}\\.${TYPE}`, store],
  [
    `(?<name>red|atom)${SCOPE}${SPACE}${SCOPE}\\.(?<op>add|min|max|and|or|xor|exch|cas|inc|dec)\\.${TYPE}`,
    atomic,
  ],
  [
    `(?<name>red|atom)${SCOPE}${SPACE}${SCOPE}\\.(?<op>add)\\.noftz\\.(?<type>b?f16(?:x2)?)`,
    atomic,
  ],
  // As CUDA's own headers write it, the order behind the operation.
  [`(?<name>atom)(?<space>\\.global)?\\.(?<op>add)${SCOPE}\\.${TYPE}`, atomic],
]);
