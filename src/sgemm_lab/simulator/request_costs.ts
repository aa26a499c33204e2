// Bank conflicts and sectors of the requests of many warps, one access at a time: the rules of
// formulas/memory.ts, in loops that allocate nothing. The golden results hold them to what an H200 counted.

import { BANKS, SECTOR_BYTES, WARP, WORD_BYTES } from "../hardware.py";

/**
 * The addresses of an access: of `lanes`, or of all where that is null. `from` is added to each.
 */
interface Asked {
  addresses: ArrayLike<number>;
  lanes: Int32Array | null;
  from: number;
}

/**
 * Counts different numbers below a bound without clearing a table: each place remembers the last
 * count in which it occurred. Numbers outside of the table are looked up in a set.
 */
class Distinct {
  seen = new Int32Array(0);
  turn = 0;
  others: Set<number> = new Set();

  /** Make room for numbers below a bound. */
  reserve(bound: number) {
    if (this.seen.length < bound) this.seen = new Int32Array(bound);
  }

  /** Forget all numbers. */
  next() {
    this.turn += 1;
    if (this.others.size) this.others.clear();
  }

  /** Whether a number occurs for the first time. */
  isNew(number: number) {
    if (number >= 0 && number < this.seen.length) {
      if (this.seen[number] === this.turn) return false;
      this.seen[number] = this.turn;
      return true;
    }
    if (this.others.has(number)) return false;
    this.others.add(number);
    return true;
  }
}

const sectorOf = (address: number) => Math.floor(address / SECTOR_BYTES);

/**
 * Bytes from each lane's address to the next lane's, where the warp that begins at an index is whole
 * and all are the same multiple of the width; NaN otherwise.
 */
function strideOf({ addresses, lanes, from }: Asked, at: number, width: number) {
  const isWhole = lanes === null || ((lanes[at] & 31) === 0 && lanes[at + 31] === lanes[at] + 31);
  const step = addresses[at + 1] - addresses[at];
  if (!isWhole || ((addresses[at] + from) | step) & (width - 1)) return Number.NaN;
  for (let i = at + 1; i < at + WARP - 1; i++) {
    if (addresses[i + 1] - addresses[i] !== step) return Number.NaN;
  }
  return step;
}

/** Counts what accesses cost. The results stand in the fields after a call. */
export class RequestCosts {
  /** Warps with at least one lane. */
  requests = 0;
  /** Of global memory: 32-byte sectors that the warps touch. */
  sectors = 0;
  /** Of shared memory: passes through the banks, and those beyond one per phase. */
  wavefronts = 0;
  conflicts = 0;
  distinct = new Distinct();
  perBank = new Int32Array(BANKS);
  /** Of one warp: first byte and first word of each lane, and whether it asks. */
  start = new Float64Array(WARP);
  firstWord = new Float64Array(WARP);
  active = new Uint8Array(WARP);

  /**
   * Requests and sectors of an access to global memory.
   * @param count lanes that ask
   * @param width bytes that each asks for
   * @param size bytes of the memory
   */
  ofGlobal(asked: Asked, count: number, width: number, size: number) {
    const { addresses, lanes } = asked;
    const { distinct } = this;
    distinct.reserve(Math.ceil(size / SECTOR_BYTES));
    let [requests, sectors, warp, last] = [0, 0, -1, -1];
    for (let i = 0; i < count; i++) {
      const lane = lanes === null ? i : lanes[i];
      if (lane >> 5 !== warp) {
        warp = lane >> 5;
        requests += 1;
        last = -1;
        const stride = strideOf(asked, i, width);
        if (!Number.isNaN(stride)) {
          const first = sectorOf(addresses[i]);
          const end = sectorOf(addresses[i + WARP - 1]);
          sectors += Math.abs(stride) < SECTOR_BYTES ? Math.abs(end - first) + 1 : WARP;
          i += WARP - 1;
          continue;
        }
        distinct.next();
      }
      const address = addresses[i];
      const sector = sectorOf(address);
      // Neighbouring lanes mostly meet in one sector.
      if (sector !== last && distinct.isNew(sector)) sectors += 1;
      last = sector;
      const end = sectorOf(address + width - 1);
      if (end !== sector && distinct.isNew(end)) sectors += 1;
    }
    this.requests = requests;
    this.sectors = sectors;
  }

  /**
   * Requests, wavefronts and bank conflicts of an access to shared memory.
   * @param count lanes that ask
   * @param width bytes that each asks for, 1 to 16
   * @param size bytes of the memory
   */
  ofShared(asked: Asked, count: number, width: number, isLoad: boolean, size: number) {
    const { addresses, lanes, from } = asked;
    // A wide load may end behind the last array.
    this.distinct.reserve(Math.ceil(size / WORD_BYTES) + width);
    this.requests = 0;
    this.wavefronts = 0;
    this.conflicts = 0;
    for (let i = 0; i < count; ) {
      const warp = (lanes === null ? i : lanes[i]) >> 5;
      this.requests += 1;
      const stride = strideOf(asked, i, width);
      // The same for all, whose phases merge in pairs, or one behind the other.
      if (stride === 0 || stride === width) {
        const phases = Math.max(1, width / WORD_BYTES);
        this.wavefronts += stride === 0 && isLoad ? Math.max(1, phases / 2) : phases;
        i += WARP;
        continue;
      }
      this.active.fill(0);
      for (; i < count; i++) {
        const lane = lanes === null ? i : lanes[i];
        if (lane >> 5 !== warp) break;
        this.active[lane & 31] = 1;
        this.start[lane & 31] = addresses[i] + from;
        this.firstWord[lane & 31] = Math.floor((addresses[i] + from) / WORD_BYTES);
      }
      this.addWarp(width, isLoad);
    }
  }

  addWarp(width: number, isLoad: boolean) {
    if (width <= WORD_BYTES) {
      this.addPhase(0, WARP, 1);
      return;
    }
    const words = width / WORD_BYTES;
    const lanes = WARP / words;
    for (let start = 0; start < WARP; start += 2 * lanes) {
      const [wavefronts, conflicts] = [this.wavefronts, this.conflicts];
      this.addPhase(start, start + lanes, words);
      this.addPhase(start + lanes, start + 2 * lanes, words);
      const agree = (distance: number) => this.partnersAgree(start, start + 2 * lanes, distance);
      if (!isLoad || !(agree(1) || agree(2))) continue;
      const [apart, conflictsApart] = [this.wavefronts, this.conflicts];
      this.wavefronts = wavefronts;
      this.conflicts = conflicts;
      this.addPhase(start, start + 2 * lanes, words);
      // Phases merge where that costs no more.
      if (this.wavefronts > apart) {
        this.wavefronts = apart;
        this.conflicts = conflictsApart;
      }
    }
  }

  /**
   * Add the wavefronts of lanes that go together.
   * @param words of each lane
   */
  addPhase(start: number, end: number, words: number) {
    const { distinct, perBank, firstWord, active } = this;
    distinct.next();
    perBank.fill(0);
    let most = 0;
    for (let lane = start; lane < end; lane++) {
      if (active[lane] === 0) continue;
      for (let word = firstWord[lane]; word < firstWord[lane] + words; word++) {
        if (!distinct.isNew(word)) continue;
        const turns = ++perBank[word & (BANKS - 1)];
        if (turns > most) most = turns;
      }
    }
    this.wavefronts += most;
    if (most > 0) this.conflicts += most - 1;
  }

  /** Whether every lane's partner, at lane XOR `distance`, is off or asks the same. */
  partnersAgree(start: number, end: number, distance: number) {
    const { start: first, active } = this;
    for (let lane = start; lane < end; lane++) {
      const other = lane ^ distance;
      if (active[lane] && active[other] && first[lane] !== first[other]) return false;
    }
    return true;
  }
}
