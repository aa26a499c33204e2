// Vector clocks of warps, for kernels in which some warps synchronise without the others.
//
// If every barrier is one of the whole block, the number of barriers passed orders all accesses.
// With named barriers of some warps, or barriers in memory (mbarrier), it does not. Then each warp
// has a clock, and stores the latest time that it knows of every other warp. An access of a warp
// happens before one of another warp if the other knows its time. (Mattern, Virtual time and global
// states of distributed systems, 1989.)
//
// Each warp also has a Lamport clock, its epoch, for traces: accesses in one epoch are not
// ordered. (Lamport, Time, clocks, and the ordering of events in a distributed system, 1978.)

import type { Instruction, PtxKernel } from "./ptx.ts";

/** The latest known time of every warp, and at the end the epoch of the warp that knows them. */
export type Row = Int32Array;

const PARTIAL =
  /^(?:mbarrier\.|barrier\.cluster\.|wgmma\.|cp\.async\.(?:bulk|mbarrier)\.|(?:bar|barrier)(?:\.cta)?\.arrive)/;
const BARRIER = /^(?:bar|barrier)(?:\.cta)?\.sync/;

const FENCE = /^(?:membar|fence)\./;

/** Whether warps of a kernel may hand on data by volatile variables in shared memory and fences. */
export function handsOnByFlags({ instructions }: Pick<PtxKernel, "instructions">) {
  const isFlag = (parts: string[]) => parts.includes("volatile") && parts.includes("shared");
  return (
    instructions.some(({ opcode }) => FENCE.test(opcode)) &&
    instructions.some(({ parts }) => isFlag(parts))
  );
}

/** Whether warps of a kernel synchronise other than at barriers of all threads of their block. */
export function synchronisesInParts(kernel: PtxKernel) {
  const inParts = ({ opcode, operands }: Instruction) =>
    PARTIAL.test(opcode) || (BARRIER.test(opcode) && operands.length > 1);
  return kernel.instructions.some(inParts) || handsOnByFlags(kernel);
}

/**
 * For each cluster and warp of it, the latest time that it knows of every warp. The engine of bulk
 * copies has a clock, too.
 */
export class VectorClocks {
  /** Number of the copy engine. */
  engine = this.warps;
  epoch = this.warps + 1;
  length = this.warps + 2;
  /** A row for each cluster and warp. */
  seen = new Int32Array(this.clusters * (this.warps + 1) * this.length);
  /** By where a warp's row begins: its clock at its last fence. */
  fenced: Map<number, Row> = new Map();
  /** In the same way what volatile variables have told a warp since its last fence. */
  told: Map<number, Row> = new Map();

  /** @param warps of a cluster */
  constructor(
    public clusters: number,
    public warps: number,
  ) {
    this.start();
  }

  /** Reset: each warp knows only its own time. */
  start() {
    this.seen.fill(0);
    this.fenced.clear();
    this.told.clear();
    for (let cluster = 0; cluster < this.clusters; cluster++) {
      for (let who = 0; who <= this.engine; who++) this.seen[this.at(cluster, who) + who] = 1;
    }
  }

  /** Where the row of a warp begins in `seen`. */
  at(cluster: number, warp: number) {
    return (cluster * (this.engine + 1) + warp) * this.length;
  }

  row(cluster: number, warp: number): Row {
    const start = this.at(cluster, warp);
    return this.seen.subarray(start, start + this.length);
  }

  /** Warps wait for each other: each gets the maximum of their clocks and `released`. */
  synchronize(cluster: number, warps: number[], released: Row | null = null) {
    const known = released ? released.slice() : new Int32Array(this.length);
    for (const warp of warps) mergeClock(known, this.row(cluster, warp));
    for (const warp of warps) {
      const row = this.row(cluster, warp);
      row.set(known);
      row[warp] += 1;
      row[this.epoch] += 1;
    }
  }

  /** Return the clock of a warp that arrives at a barrier, then advance that of the warp. */
  release(cluster: number, warp: number): Row {
    const row = this.row(cluster, warp);
    const known = row.slice();
    row[warp] += 1;
    row[this.epoch] += 1;
    return known;
  }

  /** Merge a released clock into that of a warp. */
  acquire(cluster: number, warp: number, released: Row) {
    const known = released.slice();
    known[this.epoch] += 1;
    mergeClock(this.row(cluster, warp), known);
  }

  /** A warp passes a fence: what it has been told, it knows now. */
  fence(cluster: number, warp: number) {
    const at = this.at(cluster, warp);
    const told = this.told.get(at);
    if (told) this.acquire(cluster, warp, told);
    this.told.delete(at);
    this.fenced.set(at, this.release(cluster, warp));
  }

  /** The epoch of a warp. */
  epochOf(cluster: number, warp: number) {
    return this.seen[this.at(cluster, warp) + this.epoch];
  }

  /** A warp starts a bulk copy: return its time, and the clock that its waiters acquire. */
  copyStarts(cluster: number, warp: number): [time: number, known: Row] {
    const engine = this.row(cluster, this.engine);
    engine[this.engine] += 1;
    const time = engine[this.engine];
    const known = this.release(cluster, warp);
    known[this.engine] = time;
    return [time, known];
  }
}

/** Raise each time of `row` to that of `other`. */
export function mergeClock(row: Row, other: Row) {
  for (let i = 0; i < row.length; i++) if (other[i] > row[i]) row[i] = other[i];
}

export function clocksOf({ batch }: { batch: { clocks: VectorClocks | null } }) {
  if (!batch.clocks) throw new Error("This kernel has no clocks.");
  return batch.clocks;
}
