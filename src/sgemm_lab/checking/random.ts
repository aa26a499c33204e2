// The random numbers of NumPy's RandomState, so that page and notebook judge a kernel on the same
// matrices; a test holds the two equal. NumPy promises that RandomState never changes (NEP 19).
//
// The generator is the Mersenne Twister, MT19937: M. Matsumoto and T. Nishimura, Mersenne Twister:
// A 623-dimensionally equidistributed uniform pseudorandom number generator, ACM TOMACS 8, 1998.

const WORDS = 624;
const APART = 397;
const TWIST = 0x9908b0df;

export class RandomState {
  words = new Uint32Array(WORDS);
  #used = WORDS;

  /** @param seed a whole number from 0 */
  constructor(seed: number) {
    const words = this.words;
    words[0] = seed;
    for (let i = 1; i < WORDS; i += 1) {
      const last = words[i - 1] ^ (words[i - 1] >>> 30);
      words[i] = Math.imul(1812433253, last) + i;
    }
  }

  /** Whole numbers from `low` to below `high`, as floats. */
  integers(low: number, high: number, count: number) {
    const numbers = new Float32Array(count).fill(low);
    const most = high - 1 - low;
    if (most === 0) return numbers; // nothing is drawn
    const mask = 2 ** (32 - Math.clz32(most)) - 1;
    for (let i = 0; i < count; i += 1) {
      let drawn = this.#next() & mask;
      while (drawn > most) drawn = this.#next() & mask;
      numbers[i] = low + drawn;
    }
    return numbers;
  }

  /** Numbers from `low` to below `high`, rounded to float32. */
  uniform(low: number, high: number, count: number) {
    const numbers = new Float32Array(count);
    for (let i = 0; i < count; i += 1) {
      const [upper, lower] = [this.#next() >>> 5, this.#next() >>> 6];
      numbers[i] = low + (high - low) * ((upper * 2 ** 26 + lower) / 2 ** 53);
    }
    return numbers;
  }

  #next() {
    if (this.#used === WORDS) this.#refill();
    let word = this.words[this.#used];
    this.#used += 1;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  }

  #refill() {
    const words = this.words;
    for (let i = 0; i < WORDS; i += 1) {
      const joined = (words[i] & 0x80000000) | (words[(i + 1) % WORDS] & 0x7fffffff);
      words[i] = words[(i + APART) % WORDS] ^ (joined >>> 1) ^ (joined & 1 ? TWIST : 0);
    }
    this.#used = 0;
  }
}
