// @ts-check
// What was measured, beside each other: comparisons.py in JavaScript, held equal to it by a test.

import { sentence } from "./sentences.js";

/**
 * @typedef {{ median: number, cublas: number }} Speed GFLOP/s, both of the same run
 * @typedef {{ name: string, latency: Levels, bandwidth: Levels }} MeasuredGpu
 * @typedef {Record<string, number>} Levels cycles, or GB/s of all SMs together
 */

/**
 * How far a ladder of kernels reaches: its first rung and its best.
 * @param {string} size
 * @param {string} gpu
 * @param {[title: string, result: Speed][]} rungs those that were measured
 * @param {boolean} [others] whether there are kernels of another arithmetic, not among these
 */
export function ladderWords(size, gpu, rungs, others = false) {
  const words = reach(size, gpu, rungs);
  return others ? `${words} ${sentence("ladder.others")}` : words;
}

/**
 * @param {string} size
 * @param {string} gpu
 * @param {[title: string, result: Speed][]} rungs
 */
function reach(size, gpu, rungs) {
  const place = sentence("ladder.place", { size, gpu });
  if (!rungs.length) return sentence("ladder.none", { place });
  const [first, slow] = rungs[0];
  const [best, fast] = rungs.reduce((a, b) => (b[1].median > a[1].median ? b : a));
  const share = slow.median / slow.cublas;
  if (fast === slow) return sentence("ladder.one", { place, first, share });
  return sentence("ladder.best", {
    ...{ place, first, share, best },
    best_share: fast.median / fast.cublas,
    times: fast.median / slow.median,
  });
}

/**
 * How far apart the ends of the ladder of memory are.
 * @param {MeasuredGpu} gpu
 */
export function memoryWords({ name, latency, bandwidth }) {
  const { l1, l2, dram, shared } = latency;
  const [longer, more] = [dram / shared, bandwidth.shared / bandwidth.dram];
  return sentence("memory.conclusion", { gpu: name, l1, l2, dram, longer, more });
}
