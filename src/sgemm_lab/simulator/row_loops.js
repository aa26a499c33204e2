// @ts-check
// Loops over the lanes of whole rows: what arithmetic.js binds instructions to. Each is a function
// of its own, so that it sees one kind of array only and runs fast. It goes over the lanes from one
// to before another. A value of 64 bits is two words, the low one first.

/**
 * @typedef {(out: Int32Array, a: Int32Array, b: Int32Array,
 *   from: number, to: number) => void} SignedLoop
 */
/**
 * @typedef {(out: Uint32Array, a: Uint32Array, b: Uint32Array,
 *   from: number, to: number) => void} UnsignedLoop
 */
/**
 * @typedef {(out: Float32Array, a: Float32Array, b: Float32Array,
 *   from: number, to: number) => void} FloatLoop
 */
/**
 * @typedef {(out: Uint8Array, a: Int32Array, b: Int32Array,
 *   from: number, to: number) => void} SignedTest
 */
/**
 * @typedef {(out: Uint8Array, a: Uint32Array, b: Uint32Array,
 *   from: number, to: number) => void} UnsignedTest
 */
/**
 * @typedef {(out: Uint8Array, a: Float32Array, b: Float32Array,
 *   from: number, to: number) => void} FloatTest
 */

const WORD = 2 ** 32;

/** @type {Record<string, SignedLoop>} where the sign of 32-bit numbers does not matter */
export const BITS = {
  add: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = (a[i] + b[i]) | 0;
  },
  sub: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = (a[i] - b[i]) | 0;
  },
  "mul.lo": (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = Math.imul(a[i], b[i]);
  },
  and: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] & b[i];
  },
  or: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] | b[i];
  },
  xor: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] ^ b[i];
  },
};

/** @type {Record<string, SignedLoop>} */
export const SIGNED = {
  min: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] ? a[i] : b[i];
  },
  max: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
  },
  // A division by zero gives zero, as NumPy has it.
  div: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = b[i] === 0 ? 0 : a[i] / b[i];
  },
  rem: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = b[i] === 0 ? 0 : a[i] % b[i];
  },
};

/** @type {Record<string, UnsignedLoop>} */
export const UNSIGNED = {
  min: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] ? a[i] : b[i];
  },
  max: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
  },
  div: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = b[i] === 0 ? 0 : a[i] / b[i];
  },
  rem: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = b[i] === 0 ? 0 : a[i] % b[i];
  },
};

/** @type {Record<string, FloatLoop>} rounded once: double precision is wide enough for that */
export const FLOATS = {
  add: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] + b[i];
  },
  sub: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] - b[i];
  },
  mul: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] * b[i];
  },
  div: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] / b[i];
  },
  // Of a number and NaN the number.
  min: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = lesser(a[i], b[i]);
  },
  max: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = -lesser(-a[i], -b[i]);
  },
};

/**
 * @param {number} a
 * @param {number} b
 */
export function lesser(a, b) {
  if (Number.isNaN(a)) return b;
  return a <= b || Number.isNaN(b) ? a : b;
}

/** @type {Record<string, SignedLoop>} of 64-bit numbers */
export const PAIRS = {
  add: (out, a, b, from, to) => {
    for (let i = 2 * from; i < 2 * to; i += 2) {
      const low = (a[i] + b[i]) | 0;
      // The sum has wrapped around where it is below one of its parts.
      out[i + 1] = a[i + 1] + b[i + 1] + (low >>> 0 < a[i] >>> 0 ? 1 : 0);
      out[i] = low;
    }
  },
  sub: (out, a, b, from, to) => {
    for (let i = 2 * from; i < 2 * to; i += 2) {
      const borrow = a[i] >>> 0 < b[i] >>> 0 ? 1 : 0;
      out[i] = (a[i] - b[i]) | 0;
      out[i + 1] = (a[i + 1] - b[i + 1] - borrow) | 0;
    }
  },
  "mul.lo": (out, a, b, from, to) => {
    for (let i = 2 * from; i < 2 * to; i += 2) {
      const cross = Math.imul(a[i], b[i + 1]) + Math.imul(a[i + 1], b[i]);
      const high = (highOf(a[i] >>> 0, b[i] >>> 0) + cross) | 0;
      out[i] = Math.imul(a[i], b[i]);
      out[i + 1] = high;
    }
  },
  and: (out, a, b, from, to) => BITS.and(out, a, b, 2 * from, 2 * to),
  or: (out, a, b, from, to) => BITS.or(out, a, b, 2 * from, 2 * to),
  xor: (out, a, b, from, to) => BITS.xor(out, a, b, 2 * from, 2 * to),
};

/**
 * The upper half of the product of two unsigned 32-bit numbers.
 * @param {number} a
 * @param {number} b
 */
export function highOf(a, b) {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const other = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + (middle >>> 16) + (other >>> 16);
}

/**
 * Products of 32-bit numbers in 64 bits.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} from
 * @param {number} to
 */
export function multiplyWideSigned(out, a, b, from, to) {
  for (let lane = from; lane < to; lane++) {
    const product = a[lane] * b[lane];
    const low = Math.imul(a[lane], b[lane]);
    // Above 2⁵³ the product is not exact: its upper half is worked out from parts.
    const high =
      Math.abs(product) < 2 ** 53 ? Math.floor(product / WORD) : signedHigh(a[lane], b[lane]);
    out[2 * lane] = low;
    out[2 * lane + 1] = high;
  }
}

/**
 * @param {number} a
 * @param {number} b
 */
export function signedHigh(a, b) {
  const high = highOf(a >>> 0, b >>> 0);
  return (high - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;
}

/**
 * Products of unsigned 32-bit numbers in 64 bits.
 * @param {Int32Array} out
 * @param {Uint32Array} a
 * @param {Uint32Array} b
 * @param {number} from
 * @param {number} to
 */
export function multiplyWideUnsigned(out, a, b, from, to) {
  for (let lane = from; lane < to; lane++) {
    const low = Math.imul(a[lane], b[lane]);
    const high = highOf(a[lane], b[lane]);
    out[2 * lane] = low;
    out[2 * lane + 1] = high;
  }
}

/**
 * The upper halves of products of signed numbers.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} from
 * @param {number} to
 */
export function multiplyHighSigned(out, a, b, from, to) {
  for (let i = from; i < to; i++) out[i] = signedHigh(a[i], b[i]);
}

/**
 * The upper halves of products of unsigned numbers.
 * @param {Uint32Array} out
 * @param {Uint32Array} a
 * @param {Uint32Array} b
 * @param {number} from
 * @param {number} to
 */
export function multiplyHighUnsigned(out, a, b, from, to) {
  for (let i = from; i < to; i++) out[i] = highOf(a[i], b[i]);
}

/**
 * a·b + c of 32-bit numbers.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {Int32Array} c
 * @param {number} from
 * @param {number} to
 */
export function multiplyAdd(out, a, b, c, from, to) {
  for (let i = from; i < to; i++) out[i] = (Math.imul(a[i], b[i]) + c[i]) | 0;
}

/**
 * 32-bit numbers in 64 bits.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {boolean} isSigned
 * @param {number} from
 * @param {number} to
 */
export function widen(out, a, isSigned, from, to) {
  for (let lane = from; lane < to; lane++) {
    out[2 * lane] = a[lane];
    out[2 * lane + 1] = isSigned ? a[lane] >> 31 : 0;
  }
}

/**
 * The low halves of 64-bit numbers.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {number} from
 * @param {number} to
 */
export function narrow(out, a, from, to) {
  for (let lane = from; lane < to; lane++) out[lane] = a[2 * lane];
}

/**
 * 32-bit numbers moved left; all is lost from 32 on.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {Uint32Array} by
 * @param {number} from
 * @param {number} to
 */
export function shiftLeft(out, a, by, from, to) {
  for (let i = from; i < to; i++) out[i] = by[i] < 32 ? a[i] << by[i] : 0;
}

/**
 * Signed 32-bit numbers moved right: the sign fills up.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {Uint32Array} by
 * @param {number} from
 * @param {number} to
 */
export function shiftRightSigned(out, a, by, from, to) {
  for (let i = from; i < to; i++) out[i] = a[i] >> (by[i] < 32 ? by[i] : 31);
}

/**
 * Unsigned 32-bit numbers moved right.
 * @param {Uint32Array} out
 * @param {Uint32Array} a
 * @param {Uint32Array} by
 * @param {number} from
 * @param {number} to
 */
export function shiftRightUnsigned(out, a, by, from, to) {
  for (let i = from; i < to; i++) out[i] = by[i] < 32 ? a[i] >>> by[i] : 0;
}

/**
 * 64-bit numbers moved left by a fixed amount.
 * @param {Int32Array} out
 * @param {Int32Array} a
 * @param {number} by
 * @param {number} from
 * @param {number} to
 */
export function shiftPairsLeft(out, a, by, from, to) {
  for (let i = 2 * from; i < 2 * to; i += 2) {
    const low = a[i];
    const high = a[i + 1];
    if (by === 0) {
      out[i] = low;
      out[i + 1] = high;
    } else if (by < 32) {
      out[i] = low << by;
      out[i + 1] = (high << by) | (low >>> (32 - by));
    } else {
      out[i] = 0;
      out[i + 1] = by < 64 ? low << (by - 32) : 0;
    }
  }
}

/**
 * @param {Uint8Array} out
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} from
 * @param {number} to
 */
const equal = (out, a, b, from, to) => {
  for (let i = from; i < to; i++) out[i] = a[i] === b[i] ? 1 : 0;
};
/**
 * @param {Uint8Array} out
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} from
 * @param {number} to
 */
const notEqual = (out, a, b, from, to) => {
  for (let i = from; i < to; i++) out[i] = a[i] !== b[i] ? 1 : 0;
};

/** @type {Record<string, SignedTest>} */
export const SIGNED_TESTS = {
  eq: equal,
  ne: notEqual,
  lt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] ? 1 : 0;
  },
  le: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] <= b[i] ? 1 : 0;
  },
  gt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] > b[i] ? 1 : 0;
  },
  ge: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] >= b[i] ? 1 : 0;
  },
};

/** @type {Record<string, UnsignedTest>} */
export const UNSIGNED_TESTS = {
  lt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] ? 1 : 0;
  },
  le: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] <= b[i] ? 1 : 0;
  },
  gt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] > b[i] ? 1 : 0;
  },
  ge: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] >= b[i] ? 1 : 0;
  },
};

/** @type {Record<string, SignedTest>} of 64-bit numbers */
export const PAIR_TESTS = {
  eq: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) {
      out[i] = a[2 * i] === b[2 * i] && a[2 * i + 1] === b[2 * i + 1] ? 1 : 0;
    }
  },
  ne: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) {
      out[i] = a[2 * i] !== b[2 * i] || a[2 * i + 1] !== b[2 * i + 1] ? 1 : 0;
    }
  },
  lt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = isLess(a, b, 2 * i) ? 1 : 0;
  },
  le: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = isLess(b, a, 2 * i) ? 0 : 1;
  },
  gt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = isLess(b, a, 2 * i) ? 1 : 0;
  },
  ge: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = isLess(a, b, 2 * i) ? 0 : 1;
  },
};

/**
 * Whether one signed 64-bit number is below another.
 * @param {Int32Array} a
 * @param {Int32Array} b
 * @param {number} at
 */
function isLess(a, b, at) {
  const high = a[at + 1];
  const other = b[at + 1];
  return high < other || (high === other && a[at] >>> 0 < b[at] >>> 0);
}

/** @type {Record<string, FloatTest>} ordered: false where one is NaN */
export const FLOAT_TESTS = {
  eq: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] === b[i] ? 1 : 0;
  },
  ne: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] || a[i] > b[i] ? 1 : 0;
  },
  lt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] < b[i] ? 1 : 0;
  },
  le: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] <= b[i] ? 1 : 0;
  },
  gt: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] > b[i] ? 1 : 0;
  },
  ge: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] >= b[i] ? 1 : 0;
  },
  num: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = isNumber(a[i], b[i]);
  },
};

/**
 * @param {number} a
 * @param {number} b
 */
const isNumber = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? 0 : 1);
