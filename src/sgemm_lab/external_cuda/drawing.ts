// The random numbers of NumPy's default_rng, in which the contents of arrays were drawn for the
// results recorded on an H200; a test holds the two equal.
//
// The generator is PCG64: M. E. O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically
// Good Algorithms for Random Number Generation, Harvey Mudd College HMC-CS-2014-0905, 2014. Numbers
// in a range by D. Lemire, Fast Random Integer Generation in an Interval, ACM TOMACS 29, 2019.

const POOL = 4;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const MASK = (1n << 128n) - 1n;
const LIMBS = 4;
const WORD = 2 ** 32;

/** Limbs of 32 bits, the lowest first. */
const limbsOf = (value: bigint) =>
  Uint32Array.from({ length: LIMBS }, (_, at) => Number((value >> BigInt(32 * at)) & 0xffffffffn));
const BY = limbsOf(MULTIPLIER);

export class Drawing {
  state: Uint32Array;
  increment: Uint32Array;
  sum = new Uint32Array(LIMBS);
  /** the upper half of the last 64 bits; -1 once it is used */
  #kept = -1;

  /** @param seed a whole number from 0, below 2³² */
  constructor(seed: number) {
    const [high, low, first, second] = seeded(seed);
    const increment = (((first << 64n) | second) << 1n) | 1n;
    // The first two steps, from 0 on.
    const begun = (increment + ((high << 64n) | low)) & MASK;
    this.increment = limbsOf(increment & MASK);
    this.state = limbsOf((begun * MULTIPLIER + increment) & MASK);
  }

  /** Whole numbers from `low` to `high`. */
  integers(low: number, high: number, count: number) {
    const found = new Float64Array(count).fill(low);
    if (high === low) return found; // nothing is drawn
    for (let at = 0; at < count; at++) found[at] += this.below(high - low + 1);
    return found;
  }

  /** A whole number from 0 to below `bound`, which is at most 2³². */
  below(bound: number) {
    let word = this.#next();
    if (low(word, bound) < bound) {
      const least = (WORD - bound) % bound;
      while (low(word, bound) < least) word = this.#next();
    }
    return high(word, bound);
  }

  /** The numbers from 0 to below `count`, mixed. */
  permutation(count: number) {
    const found = Float64Array.from({ length: count }, (_, at) => at);
    for (let at = count - 1; at > 0; at--) {
      const other = this.below(at + 1);
      [found[at], found[other]] = [found[other], found[at]];
    }
    return found;
  }

  #next() {
    if (this.#kept >= 0) {
      const kept = this.#kept;
      this.#kept = -1;
      return kept;
    }
    this.#step();
    const state = this.state;
    const [one, other] = [state[0] ^ state[2], state[1] ^ state[3]];
    const turn = state[3] >>> 26;
    const [lower, upper] = turn & 32 ? [other, one] : [one, other];
    const by = turn & 31;
    const turned = (first: number, second: number) =>
      (by ? (first >>> by) | (second << (32 - by)) : first) >>> 0;
    this.#kept = turned(upper, lower);
    return turned(lower, upper);
  }

  /** State times multiplier plus increment, modulo 2¹²⁸. */
  #step() {
    const state = this.state;
    const sum = this.sum;
    sum.set(this.increment);
    for (let one = 0; one < LIMBS; one++) {
      let carry = 0;
      for (let other = 0; one + other < LIMBS; other++) {
        const factor = BY[other];
        const total = sum[one + other] + low(state[one], factor) + carry;
        sum[one + other] = total;
        carry = high(state[one], factor) + (total >= 2 * WORD ? 2 : total >= WORD ? 1 : 0);
      }
    }
    state.set(sum);
  }
}

/** The lower half of the product of two numbers of 32 bits. */
const low = (one: number, other: number) => Math.imul(one, other) >>> 0;

/** Its upper half. */
function high(one: number, other: number) {
  const middle = (one & 0xffff) * other; // below 2⁴⁸
  return Math.floor(((one >>> 16) * other + Math.floor(middle / 0x10000)) / 0x10000);
}

/** 4 numbers of 64 bits from a seed, as NumPy's SeedSequence mixes them. */
function seeded(seed: number) {
  const hash = (first: number, factor: number) => {
    let constant = first;
    return (value: number) => {
      let found = value ^ constant;
      constant = Math.imul(constant, factor);
      found = Math.imul(found, constant);
      return found ^ (found >>> 16);
    };
  };
  const into = hash(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: POOL }, (_, at) => into(at ? 0 : seed));
  for (let from = 0; from < POOL; from++) {
    for (let to = 0; to < POOL; to++) {
      if (from === to) continue;
      const mixed = Math.imul(0xca01f9dd, pool[to]) - Math.imul(0x4973f715, into(pool[from]));
      pool[to] = (mixed | 0) ^ ((mixed | 0) >>> 16);
    }
  }
  const out = hash(0x8b51f9dd, 0x58f38ded);
  const words = Array.from({ length: 2 * POOL }, (_, at) => BigInt(out(pool[at % POOL]) >>> 0));
  return [0, 2, 4, 6].map((at) => words[at] | (words[at + 1] << 32n));
}
