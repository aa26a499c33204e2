// Which numbers each block reads from shared memory, in order.

import { type Access, LOAD, type Observer } from "../group.ts";
import type { TypedArray } from "../memory.ts";

/**
 * Remembers the whole numbers from 1 on that each block reads from shared memory, as the first
 * element of a load. An observer.
 */
export class SharedReads implements Observer {
  forgetful = true;
  #seen: Map<number, Set<number>> = new Map();

  /** For each block that reads some: its number, and the different numbers in order. */
  found(): [number, number[]][] {
    return [...this.#seen].map(([block, numbers]) => [block, [...numbers]]);
  }

  onValues({ site, group, lanes }: Access, [values]: TypedArray[]) {
    if (site.space !== "shared" || site.kind !== LOAD || !site.isFloat) return;
    const now: Map<number, Set<number>> = new Map();
    for (let i = 0; i < values.length; i++) {
      if (!(values[i] >= 1)) continue;
      const block = group.batch.blocks[group.slot[lanes ? lanes[i] : i]];
      now.set(block, (now.get(block) ?? new Set()).add(Math.trunc(values[i])));
    }
    // What is read at once has no order but that of its size.
    for (const [block, numbers] of now) {
      const seen = this.#seen.get(block) ?? new Set();
      for (const one of [...numbers].sort((a, b) => a - b)) seen.add(one);
      this.#seen.set(block, seen);
    }
  }
}
