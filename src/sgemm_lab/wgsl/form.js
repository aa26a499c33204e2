// @ts-check
// The form in which a measured card is kept, sent and opened: records/webgpu_cards.py in JavaScript.

import FORM from "./form.json";

/**
 * What was measured: seconds of every sample of a program, rates of the card.
 * @typedef {object} Measured
 * @property {string} form form.json
 * @property {string} card
 * @property {string} date as ISO 8601 has it
 * @property {string} clock "timestamps" or "wall clock"
 * @property {number} size M = N = K
 * @property {number} copy_gbs
 * @property {number} multiply_add_gflops
 * @property {{ name: string, fingerprint: string, seconds: number[] }[]} rungs
 * @property {{ name: string, why: string }[]} [left_out] programs that the card cannot run
 * @property {Smaller[]} [smaller]
 *
 * What was measured at a smaller size: seconds of every sample, by the name of the program.
 * @typedef {{ size: number, seconds: Record<string, number[]> }} Smaller
 */

/**
 * Whether something is a measured card.
 * @param {any} found
 * @returns {found is Measured}
 */
export function isMeasured(found) {
  return (
    found?.form === FORM &&
    [found.card, found.date, found.clock].every((text) => typeof text === "string") &&
    [found.size, found.copy_gbs, found.multiply_add_gflops].every(isRate) &&
    Array.isArray(found.rungs) &&
    found.rungs.length > 0 &&
    found.rungs.every(isRung) &&
    (found.left_out ?? []).every?.(isLeftOut) === true &&
    (found.smaller ?? []).every?.(isSmaller) === true
  );
}

/** @param {any} rung */
const isRung = (rung) =>
  typeof rung?.name === "string" &&
  typeof rung.fingerprint === "string" &&
  Array.isArray(rung.seconds) &&
  rung.seconds.length > 0 &&
  rung.seconds.every(isRate);

/** @param {any} one */
const isLeftOut = (one) => typeof one?.name === "string" && typeof one.why === "string";

/** @param {any} one */
const isSmaller = (one) =>
  isRate(one?.size) &&
  Object.values(one.seconds ?? { none: null }).every(
    (some) => Array.isArray(some) && some.length > 0 && some.every(isRate),
  );

/** @param {unknown} value */
const isRate = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;
