// The middle of samples, and how far they lie apart.

/**
 * What a share of the samples stays below, with a straight line between neighbours, as NumPy has
 * it.
 * @param samples at least one
 */
function quantileOf(samples: number[], share: number) {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low + (high - low) * (place % 1);
}

/** @param samples at least one */
export const medianOf = (samples: number[]) => quantileOf(samples, 0.5);

/**
 * How far the middle half of the samples reaches, as a share of their median.
 * @param samples at least one
 */
export const spreadOf = (samples: number[]) =>
  (quantileOf(samples, 0.75) - quantileOf(samples, 0.25)) / medianOf(samples);
