// @ts-check
// A hazard: something wrong at one source line; and one that counts only if it does harm.

/** @typedef {[number, number, number]} Dim3 */
/** @typedef {import("./ptx.js").Location} Location */

/**
 * Something wrong at one source line. `message`: the sentence for the reader. `block`, `thread`:
 * `blockIdx` and `threadIdx` where it was first met. `element`: index in the array, in elements; a
 * shared array counts as one-dimensional. `otherThread`, `otherLocation`: the other thread of a
 * race, and where it accessed the element. `acrossWarps`: the two threads are of different warps.
 * @typedef {object} Hazard
 * @property {string} kind
 * @property {Location} location
 * @property {string} message
 * @property {Dim3} block
 * @property {Dim3} thread
 * @property {string | null} array
 * @property {number[] | null} element
 * @property {Dim3 | null} otherThread
 * @property {Location | null} otherLocation
 * @property {boolean} acrossWarps
 */

/**
 * One source line may be many instructions: the same thing is said once.
 * @param {Hazard} one
 * @param {Hazard} other
 */
export function toldAlike(one, other) {
  return one.kind === other.kind && one.location === other.location && one.array === other.array;
}

/** A hazard if it does harm. */
export class Suspect {
  /**
   * @param {Hazard} hazard
   * @param {number} time when it was met, counted in hazards and suspects
   */
  constructor(hazard, time) {
    this.hazard = hazard;
    this.time = time;
  }

  /**
   * Whether a reader would be told the same of both.
   * @param {Suspect} other
   */
  same(other) {
    return toldAlike(this.hazard, other.hazard);
  }
}
