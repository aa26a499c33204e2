// How often each piece of a kernel ran.

/** Executions of basic blocks, guarded instructions and barriers over a whole launch. */
export class Tally {
  /** For each basic block, how many lanes ran it, summed over all its runs. */
  blockLanes;
  /** The same in warps with at least one active lane. */
  blockWarps;
  /** For each instruction with a guard, by index: lanes where the guard held. */
  guardedLanes;
  /** The same in warps. */
  guardedWarps;
  /** For each barrier, by instruction index: how many blocks passed it. */
  barriers;

  constructor(blocks: number, instructions: number) {
    this.blockLanes = new Float64Array(blocks);
    this.blockWarps = new Float64Array(blocks);
    this.guardedLanes = new Float64Array(instructions);
    this.guardedWarps = new Float64Array(instructions);
    this.barriers = new Float64Array(instructions);
  }
}
