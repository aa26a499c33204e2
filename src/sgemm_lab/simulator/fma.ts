// Fused multiply-add in single precision, rounded once, as the GPU does it.

const LARGEST = 2 ** 128 - 2 ** 104;

/**
 * a·b + c for the lanes from one to before another, with one rounding to nearest even, bit for bit
 * what `fma.rn.f32` gives. `out` may be one of the inputs.
 *
 * The product of two float32 is exact in double precision; the sum is rounded to 53 bits. Rounding
 * that to float32 differs from rounding once only where the sum lies exactly halfway between two
 * float32. There `total + rest` is the other of the two.
 */
export function fma32(
  out: Float32Array,
  a: Float32Array,
  b: Float32Array,
  c: Float32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) {
    const total = a[i] * b[i] + c[i];
    const near = Math.fround(total);
    const rest = total - near;
    const other = total + rest;
    if (rest !== 0 && Math.fround(other) === other) {
      out[i] = halfway(a[i] * b[i], c[i], total, near, other);
    } else {
      out[i] = near;
    }
  }
}

/**
 * What product + c is in float32 where its sum in double precision, `total`, is halfway between
 * `near` and `other`: the one that the rounding error of the sum leans to.
 */
function halfway(product: number, c: number, total: number, near: number, other: number) {
  const error = leftOver(product, c, total);
  if (error === 0 || !Number.isFinite(error)) return near;
  if (!Number.isFinite(near)) {
    // Half a step above the largest float32: what lies below that is rounded down.
    const inwards = Math.abs(total) === LARGEST + 2 ** 103 && error > 0 !== total > 0;
    return inwards ? Math.sign(total) * LARGEST : near;
  }
  return error > 0 ? Math.max(near, other) : Math.min(near, other);
}

const SPLIT = 2 ** 27 + 1;
const [LEAST_SAFE, MOST_SAFE] = [2 ** -900, 2 ** 900];
const [DOUBLE, LONG] = ((buffer) => [new Float64Array(buffer), new BigInt64Array(buffer)])(
  new ArrayBuffer(8),
);

/** What a sum leaves over, exactly: Knuth's two-sum. */
export function leftOver(one: number, other: number, total: number) {
  const kept = total - one;
  return one - (total - kept) + (other - kept);
}

/** The double beside a finite one that is not 0, towards zero. */
export function nextInwards(value: number) {
  DOUBLE[0] = value;
  LONG[0] -= 1n;
  return DOUBLE[0];
}

/** A sum; where it is inexact, the neighbour with an odd last bit. */
export function oddSum(one: number, other: number) {
  const total = one + other;
  const error = leftOver(one, other, total);
  if (!Number.isFinite(error) || error === 0) return total;
  DOUBLE[0] = total;
  if ((LONG[0] & 1n) === 0n) LONG[0] += error > 0 === total > 0 ? 1n : -1n;
  return DOUBLE[0];
}

/**
 * a·b + c with one rounding to nearest even, bit for bit what `fma.rn.f64` gives; beyond 2^±900
 * with two.
 */
export function fma64(a: number, b: number, c: number) {
  const product = a * b;
  const safe = [a, b, product].every((one) => {
    const size = Math.abs(one);
    return size > LEAST_SAFE && size < MOST_SAFE;
  });
  if (!safe || !(Math.abs(c) < MOST_SAFE)) return product + c;
  const highA = a * SPLIT - (a * SPLIT - a);
  const highB = b * SPLIT - (b * SPLIT - b);
  const [lowA, lowB] = [a - highA, b - highB];
  const rest = lowA * lowB - (product - highA * highB - lowA * highB - highA * lowB);
  const inner = c + rest;
  const total = product + inner;
  return total + oddSum(leftOver(c, rest, inner), leftOver(product, inner, total));
}
