// @ts-check
// Whether the reader's kernel is right at a size.

import { checkHere } from "../checking/simulated.js";
import sentences from "../cuda/sentences.json";
import { STATIC_SHARED } from "../hardware.py";
import { ENTRY } from "../kernel.js";
import { parse } from "../simulator/ptx.js";
import { filled } from "../text.js";

/** @typedef {import("../checking/simulated.js").CheckedHere} CheckedHere */
/** @typedef {import("../kernel.js").Size} Size */
/**
 * Why there is no kernel: at a line of the file, or at none.
 * @typedef {{ refused: string, line: number }} Refused
 */

/**
 * Check a kernel at a size, unless NVRTC would refuse to compile it.
 * @param {import("../kernel.js").Kernel} kernel
 * @param {string} ptx
 * @param {Size} size
 * @returns {CheckedHere | Refused}
 */
export function checked(kernel, ptx, size) {
  const wanted = declaredBytes(ptx);
  if (wanted > STATIC_SHARED) {
    return { refused: filled(sentences.shared, { wanted, limit: STATIC_SHARED }), line: 0 };
  }
  const [result] = checkHere(kernel, ptx, [size]);
  return result;
}

/** What was asked last: one kernel is checked at many sizes. */
let last = { ptx: "", bytes: 0 };

/**
 * The bytes of shared memory that a block declares.
 * @param {string} ptx
 */
export function declaredBytes(ptx) {
  if (last.ptx !== ptx) {
    const shared = parse(ptx).get(ENTRY)?.shared ?? [];
    last = { ptx, bytes: shared.reduce((sum, { bytes }) => sum + bytes, 0) };
  }
  return last.bytes;
}
