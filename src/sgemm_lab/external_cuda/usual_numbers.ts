// Numbers that a kernel, or a function that launches it, is usually given.

import { isBool } from "./elements.ts";
import type { Field } from "./structs.ts";

/** For a single size, for each of two or three, and of more. */
const SIZES: Record<number, number> = { 1: 4096, 2: 64, 3: 32 };
const MANY = 16;
/** Names of integers that are no sizes, and their values. */
const USUAL: [RegExp, number][] = [
  [/^(offset|start|begin|base|shift|seed|idx|index|pos|first|lo|low|id|tid|rank|flag|mode)$/, 0],
  [/^(n?iters?|iterations|n?steps|niter|reps?|repeat|loops?|times|num_iters?)$/, 2],
  [/^(radius|r|ksize|filter_?size|kernel_?size|mask_?(?:size|width|dim)|filter_?width)$/, 3],
  [/^(alpha|one)$/, 1],
];

/** The value of each of some sizes. */
export const sizeOf = (count: number) => SIZES[count] ?? MANY;

/** The value of an integer that is no size by its name; null if it is one. */
export function usualNumber({ name, element }: Field) {
  if (isBool(element)) return 1;
  const plain = (name.split(".").at(-1) ?? "").toLowerCase().replace(/^_+|_+$/g, "");
  return USUAL.find(([pattern]) => pattern.test(plain))?.[1] ?? null;
}
