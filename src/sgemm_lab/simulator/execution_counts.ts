// How often each piece of a kernel ran.

/** Executions of basic blocks, guarded instructions and barriers over a whole launch. */
export class Tally {
  /** For each basic block, how many lanes ran it, summed over all its runs. */
  blockLanes = new Float64Array(this.blocks);
  /** The same in warps with at least one active lane. */
  blockWarps = new Float64Array(this.blocks);
  /** For each instruction with a guard, by index: lanes where the guard held. */
  guardedLanes = new Float64Array(this.instructions);
  /** The same in warps. */
  guardedWarps = new Float64Array(this.instructions);
  /** For each barrier, by instruction index: how many blocks passed it. */
  barriers = new Float64Array(this.instructions);

  constructor(
    public blocks: number,
    public instructions: number,
  ) {}
}
