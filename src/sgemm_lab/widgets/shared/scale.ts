/** A log scale from values [low, high] to pixels [from, to], with its decades. */
export function logScale(low: number, high: number, from: number, to: number): LogScale {
  const origin = Math.log10(low);
  const perDecade = (to - from) / (Math.log10(high) - origin);
  const decades = [];
  for (let e = Math.ceil(origin - 1e-9); 10 ** e <= high * 1.0001; e++) decades.push(10 ** e);
  const place = (value: number) => from + (Math.log10(value) - origin) * perDecade;
  return Object.assign(place, { low, high, decades });
}

/** Whole numbers from `first` to `last`, both with it. */
export function range(first: number, last: number, step: number = 1) {
  const count = Math.floor((last - first) / step) + 1;
  return Array.from({ length: count }, (_, i) => first + i * step);
}

/** `value`, or the nearer end where it lies outside. */
export function within(value: number, low: number, high: number) {
  return Math.min(high, Math.max(low, value));
}

/** About `count` round numbers from 0 to `end`. */
export function ticks(end: number, count: number) {
  const raw = end / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((one) => one * power >= raw) ?? 10;
  return range(0, end, factor * power);
}
