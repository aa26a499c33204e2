// @ts-check
// Whether the reader's kernel is right, up to the first size where it is not.

import { passed } from "../checking/judge.js";
import { checkHere } from "../checking/on_cpu.js";
import sentences from "../cuda/sentences.json";
import { STATIC_SHARED } from "../hardware.py";
import { ENTRY } from "../kernel.js";
import { parse } from "../simulator/ptx.js";
import { filled } from "../text.js";

/** @typedef {import("../checking/on_cpu.js").CheckedHere} CheckedHere */
/** @typedef {import("../kernel.js").Size} Size */

/**
 * Check a kernel size by size, unless NVRTC would refuse to compile it.
 * @param {import("../kernel.js").Kernel} kernel
 * @param {string} ptx
 * @param {Size[]} sizes
 * @param {(size: Size, number: number) => void} [tell] hears of each size before it is tried
 * @returns {CheckedHere[] | import("./lines.js").Refused}
 */
export function checked(kernel, ptx, sizes, tell) {
  const wanted = declaredBytes(ptx);
  if (wanted > STATIC_SHARED) {
    return { refused: filled(sentences.shared, { wanted, limit: STATIC_SHARED }), line: 0 };
  }
  /** @type {CheckedHere[]} */
  const results = [];
  for (const [at, size] of sizes.entries()) {
    tell?.(size, at + 1);
    const [result] = checkHere(kernel, ptx, [size]);
    results.push(result);
    if (!passed(result)) break;
  }
  return results;
}

/**
 * The bytes of shared memory that a block declares.
 * @param {string} ptx
 */
export function declaredBytes(ptx) {
  return (parse(ptx).get(ENTRY)?.shared ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
}
