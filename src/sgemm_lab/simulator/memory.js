// @ts-check
// The memories that a kernel sees: global arrays, shared memory of each block, local memory.
// memory.py in JavaScript, held equal to it by a test.

import { GLOBAL_BASE } from "./memory.py";

/** @typedef {import("./ptx.js").ArrayDeclaration} ArrayDeclaration */

/**
 * @typedef {Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array |
 *   Float32Array | Float64Array} TypedArray
 *
 * Type of the elements of an array: its constructor, and the bytes of an element.
 * @typedef {{ make: new (buffer: ArrayBuffer) => TypedArray, itemsize: number }} ElementType
 *
 * Where an array lies in its memory. `start` and `bytes` count in bytes. `dtype` is null for shared
 * arrays, whose type PTX does not tell; then `shape` is empty.
 * @typedef {{ name: string, start: number, bytes: number, dtype: ElementType | null,
 *   shape: number[] }} NamedArray
 */

/** State of a byte: belongs to no array, nothing wrote it yet, holds a value. */
export const OUTSIDE = 0;
export const UNWRITTEN = 1;
export const WRITTEN = 2;

const FOUR_WRITTEN = 0x02020202;
const RESERVED_SHARED = 1024;
const OLDEST_THAT_RESERVES = 90;
/** Alignment of every allocation on the device, as cudaMalloc gives it. */
const ALLOCATION = 256;
/** Bytes left free around each array, so that a small overrun hits no other array. */
const GUARD = 1 << 16;
/** What memory holds before anything is written: all ones, which is NaN as a float. */
const POISON = 0xff;

/**
 * @param {number} value
 * @param {number} unit
 */
const roundUp = (value, unit) => Math.ceil(value / unit) * unit;

/** Bytes of one memory space, as one or several equal copies ("slots") side by side. */
export class Memory {
  /**
   * @param {string} space
   * @param {number} base
   * @param {number} size bytes of one slot that may be addressed
   * @param {number} slots
   */
  constructor(space, base, size, slots = 1) {
    this.space = space;
    this.base = base;
    this.size = size;
    // Slots start on a bank-row boundary and hold whole 16-byte words.
    this.stride = roundUp(Math.max(size, 1), 128);
    this.bytes = new Uint8Array(this.stride * slots).fill(POISON);
    this.state = new Uint8Array(this.stride * slots).fill(UNWRITTEN);
    /** @type {NamedArray[]} */
    this.arrays = [];
    /** The whole memory as 32-bit words, and four states at once. */
    this.words = new Int32Array(this.bytes.buffer);
    this.stateWords = new Int32Array(this.state.buffer);
  }

  /** Forget everything written. */
  reset() {
    this.bytes.fill(POISON);
    this.state.fill(UNWRITTEN);
  }

  /**
   * Note that bytes hold a value: `width` of them from each position, a multiple of it.
   * @param {Int32Array} positions
   * @param {number} width
   */
  markWritten(positions, width) {
    if (width < 4) {
      for (const position of positions) this.state.fill(WRITTEN, position, position + width);
      return;
    }
    const { stateWords } = this;
    const { length } = positions;
    for (let word = 0; word < width >> 2; word++) {
      for (let i = 0; i < length; i++) stateWords[(positions[i] >> 2) + word] = FOUR_WRITTEN;
    }
  }

  /**
   * The array that a byte (counted from the slot's start) belongs to, else the nearest one.
   * @param {number} position
   */
  arrayAt(position) {
    let [nearest, least] = [/** @type {NamedArray | null} */ (null), Number.POSITIVE_INFINITY];
    for (const array of this.arrays) {
      const away = Math.max(array.start - position, position - array.start - array.bytes + 1);
      if (away < least) [nearest, least] = [array, away];
    }
    return nearest;
  }
}

/**
 * Address of the first byte of a block's shared memory on a GPU of a target such as "sm_90". From
 * sm_90 on the first KiB belongs to the system.
 * @param {string} target
 */
export function sharedBase(target) {
  const number = target.replace(/^sm_/, "");
  return /^\d+$/.test(number) && Number(number) >= OLDEST_THAT_RESERVES ? RESERVED_SHARED : 0;
}

/**
 * Lay out and fill global memory. Arrays named in `unwritten` start as never written.
 * @param {Map<string, { data: TypedArray, shape: number[] }>} arrays
 * @param {ReadonlySet<string>} unwritten
 */
export function globalMemory(arrays, unwritten) {
  let start = GUARD;
  /** @type {NamedArray[]} */
  const placed = [];
  for (const [name, { data, shape }] of arrays) {
    const make = /** @type {new (buffer: ArrayBuffer) => TypedArray} */ (data.constructor);
    const dtype = { make, itemsize: data.BYTES_PER_ELEMENT };
    placed.push({ name, start, bytes: data.byteLength, dtype, shape });
    start += roundUp(data.byteLength, ALLOCATION) + GUARD;
  }
  const memory = new Memory("global", GLOBAL_BASE, start);
  memory.state.fill(OUTSIDE);
  memory.arrays = placed;
  for (const where of placed) {
    const { data } = /** @type {{ data: TypedArray }} */ (arrays.get(where.name));
    const state = unwritten.has(where.name) ? UNWRITTEN : WRITTEN;
    memory.state.fill(state, where.start, where.start + where.bytes);
    memory.bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), where.start);
  }
  return memory;
}

/**
 * Copies of all global arrays as they are now.
 * @param {Memory} memory
 * @returns {Record<string, TypedArray>}
 */
export function readBack(memory) {
  return Object.fromEntries(
    memory.arrays.map(({ name, start, bytes, dtype }) => {
      const copy = memory.bytes.slice(start, start + bytes);
      return [name, dtype ? new dtype.make(copy.buffer) : copy];
    }),
  );
}

/**
 * Place shared or local arrays as ptxas does: in declared order, each at its alignment. Dynamic
 * shared memory comes after all static arrays.
 * @param {ArrayDeclaration[]} declarations
 * @param {number} dynamicBytes
 * @returns {NamedArray[]}
 */
export function layOut(declarations, dynamicBytes) {
  let start = 0;
  const ordered = [
    ...declarations.filter(({ bytes }) => bytes),
    ...declarations.filter(({ bytes }) => !bytes),
  ];
  return ordered.map(({ name, bytes, alignment }) => {
    start = roundUp(start, alignment);
    const array = { name, start, bytes: bytes || dynamicBytes, dtype: null, shape: [] };
    start += bytes;
    return array;
  });
}

/**
 * The name an array has in the source: "As" for `_ZZ5sgemmE2As`. A function-local array is mangled
 * by the Itanium C++ ABI as _ZZ<function>E<length><name>.
 * @param {string} symbol
 */
export function sourceName(symbol) {
  for (const found of [...symbol.matchAll(/E(\d+)/g)].reverse()) {
    const after = symbol.slice(found.index + found[0].length);
    const name = after.slice(0, Number(found[1]));
    const rest = after.slice(Number(found[1]));
    if (name.length === Number(found[1]) && /^(_\d+)?$/.test(rest)) return name;
  }
  return symbol;
}
