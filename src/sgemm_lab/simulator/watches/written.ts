// Which bytes of global memory a launch writes.

import { type Access, ATOMIC, type Observer, STORE } from "../group.ts";

/** Marks the bytes of global memory that stores and atomics write. An observer. */
export class Written implements Observer {
  forgetful = true;
  #arrays: { name: string; start: number; marks: Uint8Array }[] = [];

  /** By array, a 1 for each byte that was written; empty where nothing was. */
  found(): Record<string, Uint8Array> {
    return Object.fromEntries(this.#arrays.map(({ name, marks }) => [name, marks]));
  }

  onAccess({ site, memory, positions }: Access) {
    if (memory.space !== "global" || (site.kind !== STORE && site.kind !== ATOMIC)) return;
    if (!this.#arrays.length) {
      this.#arrays = memory.arrays.map(({ name, start, bytes }) => {
        return { name, start, marks: new Uint8Array(bytes) };
      });
    }
    for (const { start, marks } of this.#arrays) {
      for (const position of positions) {
        const at = position - start;
        if (at >= 0 && at < marks.length) marks.fill(1, at, at + site.width);
      }
    }
  }
}
