// @ts-check
// How often each piece of a kernel ran: tally.py in JavaScript.

/** Executions of basic blocks, guarded instructions and barriers over a whole launch. */
export class Tally {
  /**
   * @param {number} blocks
   * @param {number} instructions
   */
  constructor(blocks, instructions) {
    /** For each basic block, how many lanes ran it, summed over all its runs. */
    this.blockLanes = new Float64Array(blocks);
    /** The same in warps with at least one active lane. */
    this.blockWarps = new Float64Array(blocks);
    /** For each instruction with a guard, by index: lanes where the guard held. */
    this.guardedLanes = new Float64Array(instructions);
    /** The same in warps. */
    this.guardedWarps = new Float64Array(instructions);
    /** For each barrier, by instruction index: how many blocks passed it. */
    this.barriers = new Float64Array(instructions);
  }
}
