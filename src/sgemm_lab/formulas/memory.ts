// Bank conflicts and sectors: what one warp's memory request costs in wavefronts and sectors. The rules
// were found on an H200 (sm_90) by comparing single-warp requests with its counters; the tests'
// warp_requests_h200.json holds 276 of them, and the functions here give every one.

import { BANKS, SECTOR_BYTES, WARP, WORD_BYTES } from "../hardware.py";

export interface Wavefront {
  phase: number[];
  words: Map<number, number[]>;
}

/**
 * What a request to global memory touches. Each lane asks for `bytes`, at a multiple of `bytes`.
 */
export function globalRequest(addresses: Lanes, bytes: number) {
  const asked = new Set(addresses.flatMap((address) => (address === null ? [] : [address])));
  const sectors = new Set([...asked].map((address) => Math.floor(address / SECTOR_BYTES)));
  return {
    sectors,
    moved: sectors.size * SECTOR_BYTES,
    used: asked.size * bytes, // what several lanes ask for moves once
  };
}

/**
 * The wavefronts of a request to shared memory, in order: `phase` holds the lanes that go together,
 * `words` maps the first word of what a lane asks for to the lanes that ask for it. Which of a
 * bank's words comes first is not known: here the one that the lowest lane asks for.
 */
export function sharedWavefronts(addresses: Lanes, bytes: number, isLoad: boolean) {
  return phasesOf(addresses, bytes, isLoad).flatMap((phase) =>
    wavefrontsOf(phase, addresses, bytes),
  );
}

/**
 * The lanes that go together. Up to 4 bytes all do; 8 and 16 bytes go in phases of 16 and 8 lanes.
 * Two phases of a load merge where every lane's partner, at lane XOR 1 or every one's at XOR 2, is
 * off or asks the same, and merging costs no more.
 */
function phasesOf(addresses: Lanes, bytes: number, isLoad: boolean) {
  const lanes = [...Array(WARP).keys()];
  if (bytes <= WORD_BYTES) return [lanes];
  const perPhase = (WARP * WORD_BYTES) / bytes;
  const cost = (phase: number[]) => wavefrontsOf(phase, addresses, bytes).length;
  const phases: number[][] = [];
  for (let start = 0; start < WARP; start += 2 * perPhase) {
    const both = lanes.slice(start, start + 2 * perPhase);
    const apart = [both.slice(0, perPhase), both.slice(perPhase)];
    const merges =
      isLoad &&
      [1, 2].some((distance) => partnersAgree(both, addresses, distance)) &&
      cost(both) <= cost(apart[0]) + cost(apart[1]);
    phases.push(...(merges ? [both] : apart));
  }
  return phases;
}

function partnersAgree(lanes: number[], addresses: Lanes, distance: number) {
  return lanes.every((lane) => {
    const [mine, other] = [addresses[lane], addresses[lane ^ distance]];
    return mine === null || other === null || mine === other;
  });
}

/** In a phase the banks work side by side; a bank gives one word per wavefront. */
function wavefrontsOf(phase: number[], addresses: Lanes, bytes: number): Wavefront[] {
  const wavefronts: Wavefront[] = [];
  /** word → its wavefront; all words of a lane have the same */
  const turns: Map<number, number> = new Map();
  const given = Array(BANKS).fill(0);
  for (const lane of phase) {
    const address = addresses[lane];
    if (address === null) continue;
    const word = Math.floor(address / WORD_BYTES);
    const turn = turns.get(word) ?? given[word % BANKS];
    if (!turns.has(word)) {
      turns.set(word, turn);
      for (let i = 0; i < Math.max(1, bytes / WORD_BYTES); i++) given[(word + i) % BANKS] += 1;
    }
    wavefronts[turn] ??= { phase, words: new Map() };
    const { words } = wavefronts[turn];
    words.set(word, [...(words.get(word) ?? []), lane]);
  }
  return wavefronts;
}
