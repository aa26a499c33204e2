// @ts-check
// Loads, stores and atomics: memory_operations.py in JavaScript. Asynchronous copies are in
// async_copies.js, the checks of an address in accesses.js.

import { addressOf, begin } from "./accesses.js";
import { ATOMIC, LOAD, Site, STORE } from "./group.js";
import { LOCAL_WINDOW, SHARED_WINDOW } from "./memory.py";
import { TYPE_BYTES } from "./ptx.js";
import { fromHalf, typeOf } from "./registers.js";

/** @typedef {import("./group.js").Access} Access */
/** @typedef {import("./group.js").Kind} Kind */
/** @typedef {import("./group.js").ThreadGroup} ThreadGroup */
/** @typedef {import("./memory.js").Memory} Memory */
/** @typedef {import("./memory.js").TypedArray} TypedArray */
/** @typedef {import("./operations.js").Binder} Binder */
/** @typedef {import("./operations.js").Match} Match */
/** @typedef {import("./operations.js").Operations} Operations */
/** @typedef {import("./operations.js").Step} Step */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./ptx.js").Operand} Operand */
/** @typedef {import("./registers.js").Mask} Mask */
/** @typedef {import("./registers.js").Value} Value */

/** @typedef {(space: string, addresses: Float64Array, mask: Mask | null) => void} Run */

/**
 * A step that calls `run` with a named space, or finds the space of generic addresses.
 * @param {string | null} space
 * @param {(mask: Mask | null) => Float64Array} addresses
 * @param {Run} run
 * @returns {Step}
 */
function inSpace(space, addresses, run) {
  if (space !== null) return (mask) => run(space, addresses(mask), mask);
  return (mask) => {
    const generic = addresses(mask);
    const spaces = /** @type {[string, number, number][]} */ ([
      ["local", LOCAL_WINDOW, Number.POSITIVE_INFINITY],
      ["shared", SHARED_WINDOW, LOCAL_WINDOW],
      ["global", 0, SHARED_WINDOW],
    ]);
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

/**
 * @param {Match} match
 */
const spaceOf = (match) => match.space?.replaceAll(".", "").split("::")[0] ?? null;

/**
 * @param {Instruction} instruction
 * @param {Match} match
 * @param {Kind} kind
 * @returns {Record<string, Site>}
 */
function sitesOf(instruction, match, kind) {
  const words = match.vector ? Number(match.vector.slice(1)) : 1;
  const bytes = /** @type {number} */ (TYPE_BYTES.get(match.type));
  return Object.fromEntries(
    ["global", "shared", "local"].map((space) => [
      space,
      new Site(instruction, space, kind, bytes, words, match.type[0] === "f"),
    ]),
  );
}

/**
 * @param {Operand} operand
 */
const itemsOf = (operand) => (operand.kind === "vector" ? operand.items : [operand]);

/**
 * Tell who wants to know what moved. `moved` gives the element of a number, for a legal lane of a
 * number.
 * @param {Access} access
 * @param {string} type
 * @param {(number: number) => (index: number, lane: number) => Value} moved
 * @param {number} count
 */
function told(access, type, moved, count) {
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
 * @param {string} type
 * @param {number} length
 * @returns {TypedArray}
 */
function numbersOf(type, length) {
  const { kind, bytes } = typeOf(type);
  if (bytes === 8 || (kind === "f" && bytes === 2)) return new Float64Array(length);
  if (kind === "f") return new Float32Array(length);
  if (bytes === 4) return kind === "s" ? new Int32Array(length) : new Uint32Array(length);
  if (bytes === 2) return kind === "s" ? new Int16Array(length) : new Uint16Array(length);
  return kind === "s" ? new Int8Array(length) : new Uint8Array(length);
}

/**
 * A function that reads an element of a type at a byte of a memory.
 * @param {Memory} memory
 * @param {string} type
 * @returns {(position: number) => Value}
 */
function elementAt(memory, type) {
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

/** @type {Binder} */
function load(group, instruction, match) {
  const { type } = match;
  const sites = sitesOf(instruction, match, LOAD);
  const items = itemsOf(instruction.operands[0]);
  const fill = loadWords(group, items, type) ?? loadElements(group, items, type);
  return inSpace(spaceOf(match), addressOf(group, instruction, 1), (space, addresses, mask) => {
    const access = begin(group, sites[space], addresses, mask, { scratch: 0 });
    fill(access);
    if (!group.launch.valueObservers.length) return;
    const read = elementAt(access.memory, type);
    const { positions, site } = access;
    told(access, type, (at) => (i) => read(positions[i] + at * site.wordBytes), items.length);
  });
}

/**
 * What moves 32-bit words into registers of that width; null where elements or registers differ.
 * @param {ThreadGroup} group
 * @param {Operand[]} items
 * @param {string} type
 * @returns {((access: Access) => void) | null}
 */
function loadWords(group, items, type) {
  if (typeOf(type).bytes !== 4) return null;
  const rows = items.map((item) => {
    if (item.kind !== "register") throw new TypeError(type);
    return group.registers.row(item, 4);
  });
  const found = rows.filter((row) => row !== null).map((row) => row.i32);
  if (found.length < rows.length) return null;
  return ({ memory, positions, lanes }) => {
    for (let word = 0; word < found.length; word++) {
      gather(found[word], memory.words, positions, word, lanes);
    }
  };
}

/**
 * @param {Int32Array} out
 * @param {Int32Array} words
 * @param {Int32Array} positions
 * @param {number} word
 * @param {Int32Array | null} lanes
 */
function gather(out, words, positions, word, lanes) {
  const { length } = positions;
  if (lanes === null) {
    for (let i = 0; i < length; i++) out[i] = words[(positions[i] >> 2) + word];
  } else {
    for (let i = 0; i < length; i++) out[lanes[i]] = words[(positions[i] >> 2) + word];
  }
}

/**
 * What moves elements of any type; a narrow integer is extended to its whole register.
 * @param {ThreadGroup} group
 * @param {Operand[]} items
 * @param {string} type
 * @returns {(access: Access) => void}
 */
function loadElements(group, items, type) {
  const { bytes } = typeOf(type);
  const extends_ = bytes < 4 && "su".includes(type[0]);
  const writers = items.map((item) => {
    if (item.kind !== "register") throw new TypeError(type);
    if (extends_) return group.registers.wholeWriter(item);
    return group.registers.writer(item, `b${8 * bytes}`);
  });
  const bits = extends_ ? type : `b${8 * bytes}`;
  return ({ memory, positions, lanes }) => {
    const read = elementAt(memory, bits);
    writers.forEach((write, number) => {
      for (let i = 0; i < positions.length; i++) {
        write(lanes === null ? i : lanes[i], read(positions[i] + number * bytes));
      }
    });
  };
}

/** @type {Binder} */
function store(group, instruction, match) {
  const { type } = match;
  const sites = sitesOf(instruction, match, STORE);
  const items = itemsOf(instruction.operands[1]);
  const empty = storeWords(group, items, type) ?? storeElements(group, items, type);
  const readers = items.map((item) => group.registers.reader(item, type));
  const bits = items.map((item) => group.registers.reader(item, `b${8 * typeOf(type).bytes}`));
  /** @param {Access} access @returns {(element: number, i: number) => bigint} */
  const bitsOf =
    ({ lanes }) =>
    (element, i) =>
      BigInt(bits[element](lanes === null ? i : lanes[i]));
  return inSpace(spaceOf(match), addressOf(group, instruction, 0), (space, addresses, mask) => {
    const access = begin(group, sites[space], addresses, mask, { scratch: 0 });
    empty(access);
    access.memory.markWritten(access.positions, access.site.width);
    for (const observer of group.launch.observers) observer.onStored?.(access, bitsOf(access));
    told(access, type, (number) => (_, lane) => readers[number](lane), items.length);
  });
}

/**
 * What moves 32-bit words out of registers of that width; null where elements or registers differ.
 * @param {ThreadGroup} group
 * @param {Operand[]} items
 * @param {string} type
 * @returns {((access: Access) => void) | null}
 */
function storeWords(group, items, type) {
  if (typeOf(type).bytes !== 4) return null;
  const rows = items.map((item) => group.registers.source(item, 4));
  const found = rows.filter((row) => row !== null).map((row) => row.i32);
  if (found.length < rows.length) return null;
  return ({ memory, positions, lanes }) => {
    for (let word = 0; word < found.length; word++) {
      scatter(found[word], memory.words, positions, word, lanes);
    }
  };
}

/**
 * @param {Int32Array} from
 * @param {Int32Array} words
 * @param {Int32Array} positions
 * @param {number} word
 * @param {Int32Array | null} lanes
 */
function scatter(from, words, positions, word, lanes) {
  const { length } = positions;
  if (lanes === null) {
    for (let i = 0; i < length; i++) words[(positions[i] >> 2) + word] = from[i];
  } else {
    for (let i = 0; i < length; i++) words[(positions[i] >> 2) + word] = from[lanes[i]];
  }
}

/**
 * What moves elements of any type, as bits.
 * @param {ThreadGroup} group
 * @param {Operand[]} items
 * @param {string} type
 * @returns {(access: Access) => void}
 */
function storeElements(group, items, type) {
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

/**
 * @param {Memory} memory
 * @param {number} position
 * @param {number} bytes
 * @param {bigint} value
 */
function setBits(memory, position, bytes, value) {
  for (let byte = 0; byte < bytes; byte++) {
    memory.bytes[position + byte] = Number((value >> BigInt(8 * byte)) & 0xffn);
  }
}

/** @type {Record<string, (a: any, b: any) => any>} */
const ATOMICS = {
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

/** `red` and `atom`. Lanes that meet at one address go one after the other. @type {Binder} */
function atomic(group, instruction, match) {
  const { type, op } = match;
  const { kind, bytes } = typeOf(type);
  const sites = sitesOf(instruction, match, ATOMIC);
  const returns = match.name === "atom";
  if (op === "exch" && !returns) throw new TypeError(instruction.opcode);
  const place = returns ? 2 : 1;
  const swaps = op === "cas";
  const read = group.registers.reader(instruction.operands[place + (swaps ? 1 : 0)], type);
  const wanted = swaps ? group.registers.reader(instruction.operands[place], type) : null;
  const change = ATOMICS[swaps ? "exch" : op];
  const [first] = instruction.operands;
  const write = returns && first.kind === "register" ? group.registers.writer(first, type) : null;
  const bits = new DataView(new ArrayBuffer(8));
  const addresses = addressOf(group, instruction, returns ? 1 : 0);
  return inSpace(spaceOf(match), addresses, (space, where, mask) => {
    const access = begin(group, sites[space], where, mask, { scratch: 0 });
    const { positions, lanes, memory } = access;
    const element = elementAt(memory, type);
    const raw = elementAt(memory, `b${8 * bytes}`);
    const before = Array.from(positions, (position) => raw(position));
    // Only what the lanes ask for counts, not what is written meanwhile.
    const asked = Array.from(positions, (_, i) => read(lanes === null ? i : lanes[i]));
    positions.forEach((position, i) => {
      const old = element(position);
      const lane = lanes === null ? i : lanes[i];
      // compare and swap: only what is there as expected is exchanged
      const result = wanted && wanted(lane) !== old ? old : change(old, asked[i]);
      write?.(lane, old);
      setBits(memory, position, bytes, kind === "f" ? floatBits(bits, result, bytes) : result);
    });
    if (before.every((old, i) => old === raw(positions[i]))) {
      // Nothing new: a thread that asks in a loop need not ask again until there is.
      group.testFailed ||= write !== null;
    } else group.batch.news += 1;
    memory.markWritten(positions, access.site.width);
    told(access, type, () => (i) => asked[i], 1);
  });
}

/**
 * @param {DataView} view
 * @param {number} value
 * @param {number} bytes
 */
function floatBits(view, value, bytes) {
  if (bytes === 8) view.setFloat64(0, value);
  else {
    view.setUint32(0, 0);
    view.setFloat32(4, value);
  }
  return view.getBigUint64(0);
}

const SPACE = "(?<space>\\.global|\\.shared(?:::cta)?|\\.local)?";
const TYPE = "(?<type>[subf](?:8|16|32|64))";
const CACHE = "(?:\\.(?:ca|cg|cs|lu|cv|wb|wt|nc|weak|L1::\\w+|L2::\\w+))*";
const STRENGTH =
  "(?:\\.volatile|\\.(?:weak|relaxed|acquire|release)(?:\\.(?:cta|cluster|gpu|sys))?)?";
const SCOPE = "(?:\\.(?:relaxed|release|acquire|acq_rel|gpu|cta|sys))*";
const VECTOR = "(?:\\.(?<vector>v[24]))?";

/** @type {[string, Binder][]} */
const PATTERNS = [
  [`ld${STRENGTH}${SPACE}${CACHE}${VECTOR}\\.${TYPE}`, load],
  [`st${STRENGTH}${SPACE}${CACHE}${VECTOR}\\.${TYPE}`, store],
  [
    `(?<name>red|atom)${SCOPE}${SPACE}${SCOPE}\\.(?<op>add|min|max|and|or|xor|exch|cas|inc|dec)\\.${TYPE}`,
    atomic,
  ],
];

/** @type {Operations} */
export const MEMORY_OPERATIONS = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
