// @ts-check

/**
 * A log scale from values [low, high] to pixels [from, to], with its inverse and its decades.
 * @param {number} low
 * @param {number} high
 * @param {number} from
 * @param {number} to
 * @returns {LogScale}
 */
export function logScale(low, high, from, to) {
  const origin = Math.log10(low);
  const perDecade = (to - from) / (Math.log10(high) - origin);
  const decades = [];
  for (let e = Math.ceil(origin - 1e-9); 10 ** e <= high * 1.0001; e++) decades.push(10 ** e);
  /** @param {number} value */
  const place = (value) => from + (Math.log10(value) - origin) * perDecade;
  /** @param {number} pixel */
  const invert = (pixel) => 10 ** (origin + (pixel - from) / perDecade);
  return Object.assign(place, { invert, low, high, decades });
}

/**
 * Whole numbers from `first` to `last`, both with it.
 * @param {number} first
 * @param {number} last
 * @param {number} [step]
 */
export function range(first, last, step = 1) {
  const count = Math.floor((last - first) / step) + 1;
  return Array.from({ length: count }, (_, i) => first + i * step);
}

/**
 * `value`, or the nearer end where it lies outside.
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export function within(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

/**
 * About `count` round numbers from 0 to `end`.
 * @param {number} end
 * @param {number} count
 */
export function ticks(end, count) {
  const raw = end / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((one) => one * power >= raw) ?? 10;
  return range(0, end, factor * power);
}
