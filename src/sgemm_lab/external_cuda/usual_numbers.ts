// Numbers that a kernel, or a function that launches it, is usually given.

import { bytesOf, FLOAT, isBool } from "./elements.ts";
import NAMES from "./names.json";
import { isSize } from "./signatures.ts";
import type { Field } from "./structs.ts";

/** For a single size, for each of two or three, and of more. */
const SIZES: Record<number, number> = { 1: 4096, 2: 64, 3: 32 };
const MANY = 16;
/** Names of integers that are no sizes, and their values. */
const USUAL = NAMES.numbers.map(([text, value]) => [new RegExp(`${text}`), Number(value)] as const);

/** From one row to the next, from one matrix to the next, or from one window to the next. */
const STRIDE = /^(ld_?\w?|.*(stride|pitch).*)$/;
const [OF_WINDOWS, STEP] = [/pad|dilat|kernel|window/, 2];

/** Whether a name is that of a distance between rows, or matrices. */
export const isNamedStride = (one: Pick<Field, "name">) => STRIDE.test(plain(one));

/** The value of each of some sizes. */
export const sizeOf = (count: number) => SIZES[count] ?? MANY;

const plain = ({ name }: Pick<Field, "name">) =>
  (name.split(".").at(-1) ?? "").toLowerCase().replace(/^_+|_+$/g, "");

/** The sizes among some fields: neither usual numbers, nor strides, which follow from them. */
export function sizesAmong(fields: Field[]) {
  const found = fields.filter((one) => isSize(one) && usualNumber(one) === null);
  const own = found.filter((one) => !isNamedStride(one));
  return own.length ? own : found;
}

/** Whether an integer follows from the sizes. */
export const isStride = (one: Field, fields: Field[]) =>
  isSize(one) && usualNumber(one) === null && !sizesAmong(fields).includes(one);

/**
 * The number of a parameter: one that is known, a usual one, a size, or a stride for which no two rows,
 * or matrices, overlap.
 */
export function numberFor(one: Field, fields: Field[], known: Map<string, number>, size: number) {
  if (!isSize(one)) return /eps/i.test(one.name) ? 1e-5 : 1;
  const told = known.get(one.name) ?? usualNumber(one);
  if (told !== null) return told;
  const sizes = sizesAmong(fields);
  if (sizes.includes(one)) return size;
  if (fields.some((other) => OF_WINDOWS.test(plain(other)))) return STEP;
  const side = Math.max(...sizes.map(({ name }) => known.get(name) ?? size));
  const others = fields.some((other) => /^ld|pitch/.test(plain(other)));
  const isWide = others || /batch/.test(plain(one)) || bytesOf(one.element ?? FLOAT) > 4;
  return /stride/.test(plain(one)) && sizes.length > 1 && isWide ? side * side : side;
}

/** The value of an integer that is no size by its name; null if it is one. */
export function usualNumber(one: Field) {
  if (isBool(one.element)) return 1;
  return USUAL.find(([pattern]) => pattern.test(plain(one)))?.[1] ?? null;
}
