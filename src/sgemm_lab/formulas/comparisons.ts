// Sentences that compare measurements.

import { sentence } from "./sentences.ts";

/** GFLOP/s, both of the same run */
interface Speed {
  median: number;
  cublas: number;
}

/**
 * How far a ladder of kernels reaches: its first step and its best.
 * @param steps those that were measured
 * @param others whether there are kernels of another arithmetic, not among these
 */
export function ladderWords(
  size: string,
  gpu: string,
  steps: [title: string, result: Speed][],
  others: boolean = false,
) {
  const words = reach(size, gpu, steps);
  return others ? `${words} ${sentence("ladder.others")}` : words;
}

function reach(size: string, gpu: string, steps: [title: string, result: Speed][]) {
  const place = sentence("ladder.place", { size, gpu });
  if (!steps.length) return sentence("ladder.none", { place });
  const [first, slow] = steps[0];
  const [best, fast] = steps.reduce((a, b) => (b[1].median > a[1].median ? b : a));
  const share = slow.median / slow.cublas;
  if (fast === slow) return sentence("ladder.one", { place, first, share });
  return sentence("ladder.best", {
    ...{ place, first, share, best },
    best_share: fast.median / fast.cublas,
    times: fast.median / slow.median,
  });
}
