// @ts-check
// The middle of samples, and how far they lie apart.

/** @param {number[]} samples at least one */
export function medianOf(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * How far the middle half of the samples reaches, as a share of their median.
 * @param {number[]} samples at least one
 */
export function spreadOf(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const quarter = Math.floor(sorted.length / 4);
  return (sorted[sorted.length - 1 - quarter] - sorted[quarter]) / medianOf(sorted);
}
