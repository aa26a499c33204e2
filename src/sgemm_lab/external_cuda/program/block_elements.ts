// The elements of an array, as the type of a pointer to it says.

import type { ShapedArray } from "../../simulator/memory.ts";
import type { Block } from "./memory.ts";

const ARRAYS: Record<string, new (buffer: ArrayBuffer) => ShapedArray["data"]> = {
  ...{ float: Float32Array, double: Float64Array, char: Int8Array, "signed char": Int8Array },
  ...{ short: Int16Array, int: Int32Array, "long long": BigInt64Array, bool: Uint8Array },
  ...{ "unsigned char": Uint8Array, "unsigned short": Uint16Array, "unsigned int": Uint32Array },
  ...{ "unsigned long long": BigUint64Array, __half: Uint16Array, __half2: Uint16Array },
};
const SHORT: Record<string, string> = {
  ...{ uchar: "unsigned char", ushort: "unsigned short", uint: "unsigned int" },
  ...{ longlong: "long long", ulonglong: "unsigned long long" },
};

/** What a pointer leads to. */
export const pointee = (type: string) =>
  type
    .slice(0, -1)
    .trim()
    .replace(/ (const|volatile)\b/g, "");

/** A block as the elements that a pointer leads to. */
export function shaped(block: Block, type: string): ShapedArray {
  const [, base] = /^(\w+?)[1-4]$/.exec(type) ?? [];
  const isHalf = type.startsWith("__half");
  const make = ARRAYS[type] ?? ARRAYS[SHORT[base] ?? base];
  const bytes = block.bytes;
  const held = bytes.byteOffset || bytes.buffer.byteLength !== bytes.length ? bytes.slice() : bytes;
  const data = make && fits(make, held) ? new make(held.buffer as ArrayBuffer) : held;
  const state = block.state ?? undefined;
  const whole = block.size > bytes.length ? block.size : undefined;
  return { data, shape: [data.length], isHalf, state, whole };
}

const fits = (make: unknown, { length }: Uint8Array) =>
  length % (make as { BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT === 0;
