// The memories that a kernel sees: global arrays, shared memory of each block, local memory.

/** Address of the first global array. */
export const GLOBAL_BASE = 2 ** 40;
/** Where shared memory starts in the generic address space. */
export const SHARED_WINDOW = 2 ** 44;
/** Where local memory starts in the generic address space. */
export const LOCAL_WINDOW = 2 ** 45;

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/**
 * An array of any number of axes; none of a single number. `isHalf`: its 16 bits are floats of half
 * precision, for which JavaScript has no array. `state`: of each byte, where that is known: WRITTEN,
 * UNWRITTEN, or OUTSIDE where what it holds is not known. Two arrays with the same state are the same array, under two names. `whole`: the
 * bytes of an array of which `data` is only the start. `pointers`: addresses in it: first byte, name of
 * the array that it leads to, bytes from there.
 */
export interface ShapedArray {
  data: TypedArray | BigInt64Array | BigUint64Array;
  shape: number[];
  isHalf?: boolean;
  state?: Uint8Array;
  whole?: number;
  pointers?: [at: number, to: string, more: number][];
}

/** A shared or local array. `bytes` is 0 for dynamic shared memory. */
export interface ArrayDeclaration {
  name: string;
  bytes: number;
  alignment: number;
}

/** Type of the elements of an array: its constructor, and the bytes of an element. */
interface ElementType {
  make: new (buffer: ArrayBuffer, start?: number, length?: number) => TypedArray;
  itemsize: number;
  isHalf: boolean;
}

/**
 * Where an array lies in its memory. `start` and `bytes` count in bytes. `dtype` is null for shared
 * arrays, whose type PTX does not have; then `shape` is empty.
 */
export interface NamedArray {
  name: string;
  start: number;
  bytes: number;
  dtype: ElementType | null;
  shape: number[];
}

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

const roundUp = (value: number, unit: number) => Math.ceil(value / unit) * unit;

/** Bytes of one memory space, as one or several equal copies ("slots") side by side. */
export class Memory {
  // Slots start on a bank-row boundary and hold whole 16-byte words.
  stride = roundUp(Math.max(this.size, 1), 128);
  bytes = new Uint8Array(this.stride * this.slots).fill(POISON);
  state = new Uint8Array(this.stride * this.slots).fill(UNWRITTEN);
  arrays: NamedArray[] = [];
  /** What large arrays have beyond what is held of them, from byte to byte. */
  unheld: { start: number; end: number }[] = [];
  /** The whole memory as 32-bit words, and four states at once. */
  words = new Int32Array(this.bytes.buffer);
  stateWords = new Int32Array(this.state.buffer);

  /** @param size bytes of one slot that may be addressed */
  constructor(
    public space: string,
    public base: number,
    public size: number,
    public slots: number = 1,
  ) {}

  /** Forget everything written. */
  reset() {
    this.bytes.fill(POISON);
    this.state.fill(UNWRITTEN);
  }

  /** Put bytes at an address, as the host does before a launch. */
  write(address: number, data: Uint8Array) {
    this.bytes.set(data, address - this.base);
  }

  /** Note that bytes hold a value: `width` of them from each position, a multiple of it. */
  markWritten(positions: Int32Array, width: number) {
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

  /** Whether the byte at an address belongs to an array. */
  holds(address: number) {
    const place = address - this.base;
    return place < this.size && this.state[place] > OUTSIDE;
  }

  /** Whether an address is in a large array, beyond what is held of it. */
  isUnheld(address: number) {
    const place = address - this.base;
    return this.unheld.some(({ start, end }) => start <= place && place < end);
  }

  /** The array that a byte (counted from the slot's start) belongs to, else the nearest one. */
  arrayAt(position: number) {
    // What passes 32 bits does so in the largest array.
    if (position < 0 && this.unheld.length) return this.arrays.at(-1) ?? null;
    let [nearest, least] = [null as NamedArray | null, Number.POSITIVE_INFINITY];
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
 */
export function sharedBase(target: string) {
  const number = target.replace(/^sm_/, "");
  return /^\d+$/.test(number) && Number(number) >= OLDEST_THAT_RESERVES ? RESERVED_SHARED : 0;
}

/**
 * Lay out and fill global memory.
 * @param filledTo of some arrays from which byte on they are never written
 */
export function globalMemory(
  arrays: Map<string, ShapedArray>,
  filledTo: ReadonlyMap<string, number>,
) {
  let start = GUARD;
  const placed: NamedArray[] = [];
  const known = new Map<Uint8Array, NamedArray>();
  // Behind the last array there is room for what is not held of a large one.
  const inOrder = [...arrays].sort(([, one], [, other]) => (one.whole ?? 0) - (other.whole ?? 0));
  for (const [name, { data, shape: held, state, isHalf = false, whole }] of inOrder) {
    const make = data.constructor as ElementType["make"];
    const dtype = { make, itemsize: data.BYTES_PER_ELEMENT, isHalf };
    const shape = whole ? [Math.floor(whole / dtype.itemsize)] : held;
    const same = state && known.get(state);
    const where = { name, start: same?.start ?? start, bytes: data.byteLength, dtype, shape };
    placed.push(where);
    if (same) continue;
    if (state) known.set(state, where);
    start += roundUp(data.byteLength, ALLOCATION) + GUARD;
  }
  const memory = new Memory("global", GLOBAL_BASE, start);
  memory.state.fill(OUTSIDE);
  memory.arrays = placed;
  for (const where of placed) {
    const { data, state } = arrays.get(where.name) as ShapedArray;
    const filled = where.start + Math.min(where.bytes, filledTo.get(where.name) ?? where.bytes);
    memory.state.fill(WRITTEN, where.start, filled);
    memory.state.fill(UNWRITTEN, filled, where.start + where.bytes);
    memory.bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), where.start);
    if (state) memory.state.set(state, where.start);
    const { whole } = arrays.get(where.name) as ShapedArray;
    // Of an array whose bytes nobody knows, all may be read, and nothing is known of it then.
    const isLost = state?.includes(OUTSIDE);
    if (isLost) memory.unheld.push({ start: where.start, end: where.start + where.bytes });
    if (whole) memory.unheld.push({ start: where.start + where.bytes, end: where.start + whole });
  }
  return memory;
}

/** Copies of all global arrays as they are now. */
export function readBack(memory: Memory): Record<string, TypedArray> {
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
 */
export function layOut(declarations: ArrayDeclaration[], dynamicBytes: number): NamedArray[] {
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
 */
export function sourceName(symbol: string) {
  for (const found of [...symbol.matchAll(/E(\d+)/g)].reverse()) {
    const after = symbol.slice(found.index + found[0].length);
    const name = after.slice(0, Number(found[1]));
    const rest = after.slice(Number(found[1]));
    if (name.length === Number(found[1]) && /^(_\d+)?$/.test(rest)) return name;
  }
  return symbol;
}
