// Loops over the lanes of whole rows: what arithmetic.ts binds instructions to. They go over the
// lanes from one to before another. A value of 64 bits is two words, the low one first.

type Numbers = Int32Array | Uint32Array | Float32Array | Uint8Array;
type Loop = (out: Numbers, a: Numbers, b: Numbers, from: number, to: number) => void;
type PairLoop<Out = Int32Array> = (
  out: Out,
  a: Int32Array,
  b: Int32Array,
  from: number,
  to: number,
) => void;

const WORD = 2 ** 32;

const COMPARISONS: Record<string, Loop> = {
  eq: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] === b[i] ? 1 : 0;
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
};

const WHOLE: Record<string, Loop> = {
  ...COMPARISONS,
  ne: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = a[i] !== b[i] ? 1 : 0;
  },
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
  // All is lost from 32 on.
  shl: (out, a, b, from, to) => {
    for (let i = from; i < to; i++) out[i] = b[i] >>> 0 < 32 ? a[i] << b[i] : 0;
  },
};

/** by the kind of 32-bit numbers, then by operation */
export const LOOPS: Record<"s" | "u" | "f", Record<string, Loop>> = {
  s: {
    ...WHOLE,
    "mul.hi": (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = signedHigh(a[i], b[i]);
    },
    // The sign fills up.
    shr: (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = a[i] >> (b[i] >>> 0 < 32 ? b[i] : 31);
    },
  },
  u: {
    ...WHOLE,
    "mul.hi": (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = highOf(a[i], b[i]);
    },
    shr: (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = b[i] >>> 0 < 32 ? a[i] >>> b[i] : 0;
    },
  },
  // Rounded once: double precision is wide enough for that. Comparisons are false with NaN.
  f: {
    ...COMPARISONS,
    ne: (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = a[i] < b[i] || a[i] > b[i] ? 1 : 0;
    },
    num: (out, a, b, from, to) => {
      for (let i = from; i < to; i++) out[i] = Number.isNaN(a[i]) || Number.isNaN(b[i]) ? 0 : 1;
    },
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
  },
};

/** Of a number and NaN the number; -0 is less than 0. */
export function lesser(a: number, b: number) {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.min(a, b);
}

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

function signedHigh(a: number, b: number) {
  const high = highOf(a >>> 0, b >>> 0);
  return (high - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;
}

/** of 64-bit numbers */
export const PAIRS: Record<string, PairLoop> = {
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
  and: (out, a, b, from, to) => LOOPS.s.and(out, a, b, 2 * from, 2 * to),
  or: (out, a, b, from, to) => LOOPS.s.or(out, a, b, 2 * from, 2 * to),
  xor: (out, a, b, from, to) => LOOPS.s.xor(out, a, b, 2 * from, 2 * to),
};

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

/** of 64-bit numbers */
export const PAIR_TESTS: Record<string, PairLoop<Uint8Array>> = {
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
