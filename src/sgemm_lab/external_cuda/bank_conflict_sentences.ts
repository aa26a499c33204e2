// Sentences on bank conflicts, for each line of a kernel; ../formulas/memory.ts computes them.

import { sharedWavefronts } from "../formulas/memory.ts";
import { BANKS, WORD_BYTES } from "../hardware.py";
import type { WarpRequest } from "../simulator/warp_requests.ts";

/** For each line its worst request to shared memory, in a sentence, where lanes share a bank. */
export function bankConflicts(requests: WarpRequest[]): Map<number, string> {
  const found = new Map<number, { wavefronts: number; says: string }>();
  for (const { line, space, width, addresses, isLoad } of requests) {
    if (space !== "shared") continue;
    const wavefronts = sharedWavefronts(addresses, width, isLoad);
    const phases = new Set(wavefronts.map(({ phase }) => phase)).size;
    if (wavefronts.length <= Math.max(phases, found.get(line)?.wavefronts ?? 0)) continue;
    const says = sentenceOf(wavefronts, phases);
    if (says) found.set(line, { wavefronts: wavefronts.length, says });
  }
  return new Map([...found].map(([line, { says }]) => [line, says]));
}

function sentenceOf(wavefronts: ReturnType<typeof sharedWavefronts>, phases: number) {
  for (const first of wavefronts) {
    for (const second of wavefronts) {
      if (first === second || first.phase !== second.phase) continue;
      for (const [word, [lane]] of first.words) {
        for (const [other, [otherLane]] of second.words) {
          if (word % BANKS !== other % BANKS || lane >= otherLane) continue;
          const apart = Math.abs(other - word) * WORD_BYTES;
          return (
            `Bank conflict: lanes ${lane} and ${otherLane} want different words of bank ` +
            `${word % BANKS}, ${apart} bytes apart: ${wavefronts.length} wavefronts for ${phases}.`
          );
        }
      }
    }
  }
  return "";
}
