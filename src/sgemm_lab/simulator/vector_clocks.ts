// What each warp knows of the others: vector clocks, for kernels whose warps synchronise in parts.
// clocks.py in JavaScript; there it says what they are good for, and what a window of time is.

import type { PtxKernel } from "./ptx.ts";

/**
 * The newest time of every warp that somebody has heard of, and behind them the window of time of
 * who it belongs to, or of who told it.
 */
export type Row = Int32Array;

const PARTIAL = /^(?:mbarrier\.|cp\.async\.(?:bulk|mbarrier)\.|(?:bar|barrier)(?:\.cta)?\.arrive)/;
const BARRIER = /^(?:bar|barrier)(?:\.cta)?\.sync/;

/** Whether some barrier of a kernel is not one of all threads of its block. */
export function synchronisesInParts(kernel: PtxKernel) {
  return kernel.instructions.some(
    ({ opcode, operands }) => PARTIAL.test(opcode) || (BARRIER.test(opcode) && operands.length > 1),
  );
}

/**
 * For each slot and warp, the newest time of every warp that it has heard of. Beside the warps there
 * is one more that keeps time: the engine of bulk copies.
 */
export class Clocks {
  /** Number of the copy engine. */
  engine: number;
  window;
  length;
  /** A row for each slot and warp. */
  seen;

  /** @param warps of a block */
  constructor(
    public slots: number,
    warps: number,
  ) {
    this.engine = warps;
    this.window = warps + 1;
    this.length = warps + 2;
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

  /** Where the row of a warp begins in `seen`. */
  at(slot: number, warp: number) {
    return (slot * (this.engine + 1) + warp) * this.length;
  }

  row(slot: number, warp: number): Row {
    const start = this.at(slot, warp);
    return this.seen.subarray(start, start + this.length);
  }

  /** Warps wait for each other: each hears all that any knows, and `heard` besides. */
  meet(slot: number, warps: number[], heard: Row | null = null) {
    const known = heard ? heard.slice() : new Int32Array(this.length);
    for (const warp of warps) learn(known, this.row(slot, warp));
    for (const warp of warps) {
      const row = this.row(slot, warp);
      row.set(known);
      row[warp] += 1;
      row[this.window] += 1;
    }
  }

  /** What a warp knows as it arrives somewhere. What it does later is not told. */
  tell(slot: number, warp: number): Row {
    const row = this.row(slot, warp);
    const known = row.slice();
    row[warp] += 1;
    row[this.window] += 1;
    return known;
  }

  /** A warp learns what was told. */
  hear(slot: number, warp: number, told: Row) {
    const known = told.slice();
    known[this.window] += 1;
    learn(this.row(slot, warp), known);
  }

  /** The window of time that a warp is in. */
  windowOf(slot: number, warp: number) {
    return this.seen[this.at(slot, warp) + this.window];
  }

  /** A warp starts a bulk copy: its time, and what those learn who wait for it. */
  copyStarts(slot: number, warp: number): [time: number, known: Row] {
    const engine = this.row(slot, this.engine);
    engine[this.engine] += 1;
    const time = engine[this.engine];
    const known = this.tell(slot, warp);
    known[this.engine] = time;
    return [time, known];
  }
}

/** Raise each time of `row` to that of `other`. */
export function learn(row: Row, other: Row) {
  for (let i = 0; i < row.length; i++) if (other[i] > row[i]) row[i] = other[i];
}
