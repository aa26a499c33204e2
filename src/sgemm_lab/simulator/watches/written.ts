// Which bytes of global memory a launch writes, and which it reads.

import { type Access, ATOMIC, type Observer, STORE } from "../group.ts";

/** Marks of a byte; an atomic stores and updates. */
export const [STORED, LOADED, UPDATED] = [1, 2, 4];

/** Marks the bytes of global memory that loads, stores and atomics use. An observer. */
export class Written implements Observer {
  forgetful = true;
  judges = true;
  #arrays: { name: string; start: number; marks: Uint8Array }[] = [];

  /** By array, the marks of each byte; empty where nothing was used. */
  found(): Record<string, Uint8Array> {
    return Object.fromEntries(this.#arrays.map(({ name, marks }) => [name, marks]));
  }

  onAccess({ site: { kind, width }, memory, positions }: Access) {
    if (memory.space !== "global") return;
    if (!this.#arrays.length) {
      this.#arrays = memory.arrays.map(({ name, start, bytes }) => {
        return { name, start, marks: new Uint8Array(bytes) };
      });
    }
    const mark = kind === ATOMIC ? STORED | UPDATED : kind === STORE ? STORED : LOADED;
    for (const { start, marks } of this.#arrays) {
      for (const position of positions) {
        const at = position - start;
        if (at < 0 || at >= marks.length) continue;
        for (let byte = at; byte < at + width; byte++) marks[byte] |= mark;
      }
    }
  }
}
