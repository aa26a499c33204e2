// Loops over the lanes of whole rows: what arithmetic.ts binds instructions to. Each is a function
// of its own, so that it sees one kind of array only and runs fast. It goes over the lanes from one
// to before another. A value of 64 bits is two words, the low one first.

type SignedLoop = (out: Int32Array, a: Int32Array, b: Int32Array, from: number, to: number) => void;

type UnsignedLoop = (
  out: Uint32Array,
  a: Uint32Array,
  b: Uint32Array,
  from: number,
  to: number,
) => void;

type FloatLoop = (
  out: Float32Array,
  a: Float32Array,
  b: Float32Array,
  from: number,
  to: number,
) => void;

type SignedTest = (out: Uint8Array, a: Int32Array, b: Int32Array, from: number, to: number) => void;

type UnsignedTest = (
  out: Uint8Array,
  a: Uint32Array,
  b: Uint32Array,
  from: number,
  to: number,
) => void;

type FloatTest = (
  out: Uint8Array,
  a: Float32Array,
  b: Float32Array,
  from: number,
  to: number,
) => void;

const WORD = 2 ** 32;

/** where the sign of 32-bit numbers does not matter */
export const BITS: Record<string, SignedLoop> = {
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

export const SIGNED: Record<string, SignedLoop> = {
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

export const UNSIGNED: Record<string, UnsignedLoop> = {
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

/** rounded once: double precision is wide enough for that */
export const FLOATS: Record<string, FloatLoop> = {
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
  min: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = lesser(a[i], b[i]);
  },
  max: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = -lesser(-a[i], -b[i]);
  },
};

/** Of a number and NaN the number; -0 is less than 0. */
export function lesser(a: number, b: number) {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.min(a, b);
}

/** of 64-bit numbers */
export const PAIRS: Record<string, SignedLoop> = {
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

/** The upper half of the product of two unsigned 32-bit numbers. */
function highOf(a: number, b: number) {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const other = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + (middle >>> 16) + (other >>> 16);
}

/** Products of 32-bit numbers in 64 bits. */
export function multiplyWideSigned(
  out: Int32Array,
  a: Int32Array,
  b: Int32Array,
  from: number,
  to: number,
) {
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

function signedHigh(a: number, b: number) {
  const high = highOf(a >>> 0, b >>> 0);
  return (high - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;
}

/** Products of unsigned 32-bit numbers in 64 bits. */
export function multiplyWideUnsigned(
  out: Int32Array,
  a: Uint32Array,
  b: Uint32Array,
  from: number,
  to: number,
) {
  for (let lane = from; lane < to; lane++) {
    const low = Math.imul(a[lane], b[lane]);
    const high = highOf(a[lane], b[lane]);
    out[2 * lane] = low;
    out[2 * lane + 1] = high;
  }
}

/** The upper halves of products of signed numbers. */
export function multiplyHighSigned(
  out: Int32Array,
  a: Int32Array,
  b: Int32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = signedHigh(a[i], b[i]);
}

/** The upper halves of products of unsigned numbers. */
export function multiplyHighUnsigned(
  out: Uint32Array,
  a: Uint32Array,
  b: Uint32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = highOf(a[i], b[i]);
}

/** a·b + c of 32-bit numbers. */
export function multiplyAdd(
  out: Int32Array,
  a: Int32Array,
  b: Int32Array,
  c: Int32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = (Math.imul(a[i], b[i]) + c[i]) | 0;
}

/** 32-bit numbers in 64 bits. */
export function widen(out: Int32Array, a: Int32Array, isSigned: boolean, from: number, to: number) {
  for (let lane = from; lane < to; lane++) {
    out[2 * lane] = a[lane];
    out[2 * lane + 1] = isSigned ? a[lane] >> 31 : 0;
  }
}

/** The low halves of 64-bit numbers. */
export function narrow(out: Int32Array, a: Int32Array, from: number, to: number) {
  for (let lane = from; lane < to; lane++) out[lane] = a[2 * lane];
}

/** 32-bit numbers moved left; all is lost from 32 on. */
export function shiftLeft(
  out: Int32Array,
  a: Int32Array,
  by: Uint32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = by[i] < 32 ? a[i] << by[i] : 0;
}

/** Signed 32-bit numbers moved right: the sign fills up. */
export function shiftRightSigned(
  out: Int32Array,
  a: Int32Array,
  by: Uint32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = a[i] >> (by[i] < 32 ? by[i] : 31);
}

/** Unsigned 32-bit numbers moved right. */
export function shiftRightUnsigned(
  out: Uint32Array,
  a: Uint32Array,
  by: Uint32Array,
  from: number,
  to: number,
) {
  for (let i = from; i < to; i++) out[i] = by[i] < 32 ? a[i] >>> by[i] : 0;
}

/** 64-bit numbers moved left by a fixed amount. */
export function shiftPairsLeft(
  out: Int32Array,
  a: Int32Array,
  by: number,
  from: number,
  to: number,
) {
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

const equal = (out: Uint8Array, a: Int32Array, b: Int32Array, from: number, to: number) => {
  for (let i = from; i < to; i++) out[i] = a[i] === b[i] ? 1 : 0;
};
const notEqual = (out: Uint8Array, a: Int32Array, b: Int32Array, from: number, to: number) => {
  for (let i = from; i < to; i++) out[i] = a[i] !== b[i] ? 1 : 0;
};

export const SIGNED_TESTS: Record<string, SignedTest> = {
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

export const UNSIGNED_TESTS: Record<string, UnsignedTest> = {
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

/** of 64-bit numbers */
export const PAIR_TESTS: Record<string, SignedTest> = {
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

/** Whether one signed 64-bit number is below another. */
function isLess(a: Int32Array, b: Int32Array, at: number) {
  const high = a[at + 1];
  const other = b[at + 1];
  return high < other || (high === other && a[at] >>> 0 < b[at] >>> 0);
}

/** ordered: false where one is NaN */
export const FLOAT_TESTS: Record<string, FloatTest> = {
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

const isNumber = (a: number, b: number) => (Number.isNaN(a) || Number.isNaN(b) ? 0 : 1);
