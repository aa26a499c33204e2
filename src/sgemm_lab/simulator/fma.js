// @ts-check
// Fused multiply-add in single precision, rounded once, as the GPU does it: fma.py in JavaScript,
// held equal to it by a test.

const LARGEST = 2 ** 128 - 2 ** 104;

/**
 * a·b + c for the lanes from one to before another, with one rounding to nearest even, bit for bit what `fma.rn.f32` gives.
 * `out` may be one of the inputs.
 *
 * The product of two float32 is exact in double precision; the sum is rounded to 53 bits. Rounding
 * that to float32 differs from rounding once only where the sum lies exactly halfway between two
 * float32. There `total + rest` is the other of the two.
 * @param {Float32Array} out
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @param {Float32Array} c
 * @param {number} from
 * @param {number} to
 */
export function fma32(out, a, b, c, from, to) {
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
 * @param {number} product
 * @param {number} c
 * @param {number} total
 * @param {number} near
 * @param {number} other
 */
function halfway(product, c, total, near, other) {
  // Knuth's two-sum: the rounding error of product + c, exactly.
  const kept = total - product;
  const error = product - (total - kept) + (c - kept);
  if (error === 0 || !Number.isFinite(error)) return near;
  if (!Number.isFinite(near)) {
    // Half a step above the largest float32: what lies below that is rounded down.
    const inwards = Math.abs(total) === LARGEST + 2 ** 103 && error > 0 !== total > 0;
    return inwards ? Math.sign(total) * LARGEST : near;
  }
  return error > 0 ? Math.max(near, other) : Math.min(near, other);
}
