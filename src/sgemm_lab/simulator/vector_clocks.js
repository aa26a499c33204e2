// @ts-check
// What each warp knows of the others: vector clocks, for kernels whose warps synchronise in parts.
// clocks.py in JavaScript; there it says what they are good for, and what a window of time is.

/** @typedef {import("./ptx.js").PtxKernel} PtxKernel */
/**
 * The newest time of every warp that somebody has heard of, and behind them the window of time of who
 * it belongs to, or of who told it.
 * @typedef {Int32Array} Row
 */

const PARTIAL = /^(?:mbarrier\.|cp\.async\.(?:bulk|mbarrier)\.|(?:bar|barrier)(?:\.cta)?\.arrive)/;
const BARRIER = /^(?:bar|barrier)(?:\.cta)?\.sync/;

/**
 * Whether some barrier of a kernel is not one of all threads of its block.
 * @param {PtxKernel} kernel
 */
export function synchronisesInParts(kernel) {
  return kernel.instructions.some(
    ({ opcode, operands }) => PARTIAL.test(opcode) || (BARRIER.test(opcode) && operands.length > 1),
  );
}

/**
 * For each slot and warp, the newest time of every warp that it has heard of. Beside the warps there
 * is one more that keeps time: the engine of bulk copies.
 */
export class Clocks {
  /**
   * @param {number} slots
   * @param {number} warps of a block
   */
  constructor(slots, warps) {
    this.slots = slots;
    /** Number of the copy engine. */
    this.engine = warps;
    this.window = warps + 1;
    this.length = warps + 2;
    /** A row for each slot and warp. */
    this.seen = new Int32Array(slots * (warps + 1) * this.length);
    this.start();
  }

  /** Begin anew: nobody has heard of anybody. */
  start() {
    this.seen.fill(0);
    for (let slot = 0; slot < this.slots; slot++) {
      for (let who = 0; who <= this.engine; who++) this.seen[this.at(slot, who) + who] = 1;
    }
  }

  /**
   * Where the row of a warp begins in `seen`.
   * @param {number} slot
   * @param {number} warp
   */
  at(slot, warp) {
    return (slot * (this.engine + 1) + warp) * this.length;
  }

  /**
   * @param {number} slot
   * @param {number} warp
   * @returns {Row}
   */
  row(slot, warp) {
    const start = this.at(slot, warp);
    return this.seen.subarray(start, start + this.length);
  }

  /**
   * Warps wait for each other: each hears all that any knows, and `heard` besides.
   * @param {number} slot
   * @param {number[]} warps
   * @param {Row | null} heard
   */
  meet(slot, warps, heard = null) {
    const known = heard ? heard.slice() : new Int32Array(this.length);
    for (const warp of warps) learn(known, this.row(slot, warp));
    for (const warp of warps) {
      const row = this.row(slot, warp);
      row.set(known);
      row[warp] += 1;
      row[this.window] += 1;
    }
  }

  /**
   * What a warp knows as it arrives somewhere. What it does later is not told.
   * @param {number} slot
   * @param {number} warp
   * @returns {Row}
   */
  tell(slot, warp) {
    const row = this.row(slot, warp);
    const known = row.slice();
    row[warp] += 1;
    row[this.window] += 1;
    return known;
  }

  /**
   * A warp learns what was told.
   * @param {number} slot
   * @param {number} warp
   * @param {Row} told
   */
  hear(slot, warp, told) {
    const known = told.slice();
    known[this.window] += 1;
    learn(this.row(slot, warp), known);
  }

  /**
   * The window of time that a warp is in.
   * @param {number} slot
   * @param {number} warp
   */
  windowOf(slot, warp) {
    return this.seen[this.at(slot, warp) + this.window];
  }

  /**
   * A warp starts a bulk copy: its time, and what those learn who wait for it.
   * @param {number} slot
   * @param {number} warp
   * @returns {[time: number, known: Row]}
   */
  copyStarts(slot, warp) {
    const engine = this.row(slot, this.engine);
    engine[this.engine] += 1;
    const time = engine[this.engine];
    const known = this.tell(slot, warp);
    known[this.engine] = time;
    return [time, known];
  }
}

/**
 * Raise each time of `row` to that of `other`.
 * @param {Row} row
 * @param {Row} other
 */
export function learn(row, other) {
  for (let i = 0; i < row.length; i++) if (other[i] > row[i]) row[i] = other[i];
}
