// The random numbers of NumPy's default_rng, in which the contents of arrays were drawn for the
// results recorded on an H200; a test holds the whole numbers equal.
//
// The generator is PCG64: M. E. O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically
// Good Algorithms for Random Number Generation, Harvey Mudd College HMC-CS-2014-0905, 2014. Numbers
// in a range by D. Lemire, Fast Random Integer Generation in an Interval, ACM TOMACS 29, 2019.

const POOL = 4;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const MASK = (1n << 128n) - 1n;
const LIMBS = 4;
const WORD = 2 ** 32;
const LEAST_WORDS = 1024;

/** Limbs of 32 bits, the lowest first. */
const limbsOf = (value: bigint) =>
  Uint32Array.from({ length: LIMBS }, (_, at) => Number((value >> BigInt(32 * at)) & 0xffffffffn));
const BY = limbsOf(MULTIPLIER);

/** The generator's words of 32 bits from a seed on. */
class Words {
  state: Uint32Array;
  increment: Uint32Array;
  #words = new Uint32Array(LEAST_WORDS);
  #count = 0;

  constructor(public seed: number) {
    const [high, low, first, second] = seeded(seed);
    const increment = (((first << 64n) | second) << 1n) | 1n;
    // The first two steps, from 0 on.
    const begun = (increment + ((high << 64n) | low)) & MASK;
    this.increment = limbsOf(increment & MASK);
    this.state = limbsOf((begun * MULTIPLIER + increment) & MASK);
  }

  /** The word at a place: 0 is the first. */
  at(place: number) {
    while (place >= this.#count) this.#add();
    return this.#words[place];
  }

  /** Add two: the halves of 64 bits. */
  #add() {
    if (this.#count === this.#words.length) {
      const more = new Uint32Array(2 * this.#count);
      more.set(this.#words);
      this.#words = more;
    }
    this.#step();
    const state = this.state;
    const turn = state[3] >>> 26;
    const one = state[turn & 32 ? 1 : 0] ^ state[turn & 32 ? 3 : 2];
    const other = state[turn & 32 ? 0 : 1] ^ state[turn & 32 ? 2 : 3];
    this.#words[this.#count++] = turned(one, other, turn & 31);
    this.#words[this.#count++] = turned(other, one, turn & 31);
  }

  /** State times multiplier plus increment, modulo 2¹²⁸: limb by limb, with what each carries on. */
  #step() {
    const state = this.state;
    const increment = this.increment;
    const s0 = state[0];
    const s1 = state[1];
    const s2 = state[2];
    const s3 = state[3];
    let sum = increment[0] + low(s0, BY[0]);
    state[0] = sum;
    sum = increment[1] + above(sum) + high(s0, BY[0]) + low(s0, BY[1]) + low(s1, BY[0]);
    state[1] = sum;
    sum = increment[2] + above(sum) + high(s0, BY[1]) + high(s1, BY[0]);
    sum += low(s0, BY[2]) + low(s1, BY[1]) + low(s2, BY[0]);
    state[2] = sum;
    sum = increment[3] + above(sum) + high(s0, BY[2]) + high(s1, BY[1]) + high(s2, BY[0]);
    sum += low(s0, BY[3]) + low(s1, BY[2]) + low(s2, BY[1]) + low(s3, BY[0]);
    state[3] = sum;
  }
}

/** Those of the last seed: a kernel is tried in many launches, with the same numbers in its arrays. */
let last: Words | null = null;

export class Drawing {
  #words: Words;
  #place = 0;

  /** @param seed a whole number from 0, below 2³² */
  constructor(seed: number) {
    if (last?.seed !== seed) last = new Words(seed);
    this.#words = last;
  }

  /** Whole numbers from `low` to `high`. */
  integers(low: number, high: number, count: number) {
    const found = new Float64Array(count).fill(low);
    if (high === low) return found; // nothing is drawn
    for (let at = 0; at < count; at++) found[at] += this.below(high - low + 1);
    return found;
  }

  /** Numbers from `low` to below `high`, rounded to float32. */
  uniform(low: number, high: number, count: number) {
    return Float32Array.from({ length: count }, () => low + ((high - low) * this.#next()) / WORD);
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
    return this.#words.at(this.#place++);
  }
}

/** The lower half of 64 bits that are turned to the right. */
const turned = (lower: number, upper: number, by: number) =>
  (by ? (lower >>> by) | (upper << (32 - by)) : lower) >>> 0;

const above = (sum: number) => Math.floor(sum / WORD);

/** The lower half of the product of two numbers of 32 bits. */
const low = (one: number, other: number) => Math.imul(one, other) >>> 0;

/** Its upper half, from products of halves. */
function high(one: number, other: number) {
  const oneLow = one & 0xffff;
  const otherLow = other & 0xffff;
  const middle = (Math.imul(one >>> 16, otherLow) >>> 0) + (Math.imul(oneLow, otherLow) >>> 16);
  const last = (Math.imul(oneLow, other >>> 16) >>> 0) + (middle & 0xffff);
  return (Math.imul(one >>> 16, other >>> 16) + (middle >>> 16) + (last >>> 16)) >>> 0;
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
