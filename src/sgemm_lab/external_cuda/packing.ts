// How the numbers of an array lie in memory.

import type { ShapedArray } from "../simulator/memory.ts";
import { fromHalf, toHalf } from "../simulator/registers.ts";
import { type Element, limitsOf } from "./elements.ts";

type Stored = ShapedArray["data"];
/** By NumPy's names. Halves and bfloat16 are their bits. */
const ARRAYS: Record<string, new (numbers: Float64Array) => Stored> = {
  ...{ f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array },
  ...{ u2: Uint16Array, i4: Int32Array, u4: Uint32Array },
};
const OTHERS: Record<string, (numbers: Float64Array) => Stored> = {
  "?": (numbers) => Uint8Array.from(numbers, (one) => Number(one !== 0)),
  f2: (numbers) => Uint16Array.from(numbers, toHalf),
  i8: (numbers) => BigInt64Array.from(Array.from(numbers, long)),
  u8: (numbers) => BigUint64Array.from(Array.from(numbers, long)),
};
/** Bits of a whole number that a float type holds. */
const EXACT: Record<string, number> = { f2: 11, f4: 24, f8: 53 };
const EXACT_BFLOAT16 = 8;

/** What each pattern of 16 bits stands for as a half. */
const HALVES = Float64Array.from({ length: 2 ** 16 }, (_, bits) => fromHalf(bits));

/** The largest word rounds to 2^64. */
const long = (one: number) =>
  one === 2 ** 64 ? 2n ** 64n - 1n : BigInt(Number.isFinite(one) ? Math.trunc(one) : 0);

const isBrief = ({ name }: Element) => name === "bfloat16";

/** Numbers as they lie in memory, rounded to nearest. */
export function pack(element: Element, numbers: Float64Array): Stored {
  const { stored } = element;
  if (!isBrief(element)) return OTHERS[stored]?.(numbers) ?? new ARRAYS[stored](numbers);
  const bits = new Uint32Array(Float32Array.from(numbers).buffer);
  return Uint16Array.from(bits, (one) => (one + 0x7fff + ((one >>> 16) & 1)) >>> 16);
}

/** What lies in memory as numbers. */
export function unpack(element: Element, stored: Stored): Float64Array {
  if (isBrief(element)) {
    const bits = Uint32Array.from(stored as Uint16Array, (one) => one << 16);
    return new Float64Array(new Float32Array(bits.buffer));
  }
  if (element.stored === "f2")
    return new Float64Array(stored.length).map((_, at) => HALVES[Number(stored[at])]);
  const isLong = stored instanceof BigInt64Array || stored instanceof BigUint64Array;
  return isLong ? Float64Array.from(stored as ArrayLike<bigint>, Number) : new Float64Array(stored);
}

/** Memory of any type as elements of this one. */
export function viewed(element: Element, { buffer }: Stored): Stored {
  const empty = pack(element, new Float64Array(0));
  return new (empty.constructor as new (buffer: ArrayBufferLike) => Stored)(buffer);
}

/** The largest n such that every integer up to n is representable. */
export function exactOf(element: Element) {
  const bits = isBrief(element) ? EXACT_BFLOAT16 : EXACT[element.stored];
  return bits ? 2 ** bits : limitsOf(element)[1];
}
