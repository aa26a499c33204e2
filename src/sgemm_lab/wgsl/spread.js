// @ts-check
// The middle of samples, and how far they lie apart.

/** @param {number[]} samples at least one */
export function medianOf(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * How far the samples lie apart, as a share of their median.
 * @param {number[]} samples at least one
 */
export function spreadOf(samples) {
  return (Math.max(...samples) - Math.min(...samples)) / medianOf(samples);
}
