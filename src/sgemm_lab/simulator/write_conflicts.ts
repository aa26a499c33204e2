// Lanes of one store that meet at one word, in shared and in global memory.
//
// CUDA says of the lanes of a warp that store to one place with one instruction: one of them lands,
// and which one is not defined. So they race where what they store differs, and only there.

import type { Access, Site } from "./group.ts";
import type { HazardLog } from "./hazard_log.ts";
import type { Instruction } from "./ptx.ts";

/** Gives the bits of an element that the i-th legal lane of an access stores. */
export type Stored = (element: number, i: number) => bigint;

/** The bits of a word of what a lane stores; `word` counts from the lane's first. */
export function wordStored(
  { wordBytes: elementBytes }: Site,
  word: number,
  wordBytes: number,
  bits: Stored,
  i: number,
) {
  const start = word * wordBytes;
  const stored = bits(Math.floor(start / elementBytes), i) >> BigInt(8 * (start % elementBytes));
  return BigInt.asUintN(8 * wordBytes, stored);
}

/** The lanes that store something else than the last lane that stores to their place. */
export function losers(places: ArrayLike<number>, stored: (i: number) => bigint) {
  const last: Map<number, number> = new Map();
  for (let i = 0; i < places.length; i++) last.set(places[i], i);
  const found: number[] = [];
  for (let i = 0; i < places.length; i++) {
    const winner = last.get(places[i]) ?? i;
    if (winner !== i && stored(i) !== stored(winner)) found.push(i);
  }
  return found;
}

/**
 * Report lanes of one warp that stored different values to one word of shared memory.
 * @param words of those that each lane stores, the ones to look at
 * @param writer the thread that wrote a word last, and where
 */
export function reportTies(
  log: HazardLog,
  access: Access,
  words: number[],
  wordBytes: number,
  bits: Stored,
  writer: (index: number) => [number, Instruction],
) {
  const { positions, lanes, site } = access;
  for (const word of words) {
    const [first] = losers(positions, (i) => wordStored(site, word, wordBytes, bits, i));
    if (first === undefined) continue;
    const index = positions[first] / wordBytes + word;
    const [other, before] = writer(index);
    const lane = lanes ? lanes[first] : first;
    log.race(access, lane, index * wordBytes, other, before, "hazard.together");
  }
}
