// The engines of a panel: one that answers, and a second one while many sizes are checked.

import type { Size } from "../../kernel.ts";
import { newEngine } from "./worker.ts";

/** More of them gain less, because each warms up for itself; and each takes memory. */
const AT_ONCE = Math.min(2, navigator.hardwareConcurrency || 1);

/** Workers that run kernels. */
export class Engines {
  #all = Array.from({ length: AT_ONCE }, newEngine);

  /** Ask the first one. */
  ask<Answer>(request: Record<string, unknown>): Promise<Answer> {
    return this.#all[0].ask<Answer>(request);
  }

  /** End what runs. */
  stop() {
    for (const engine of this.#all) engine.stop();
  }

  /**
   * Ask about sizes, several at once, until one is the last: what follows from those behind it does
   * not matter.
   * @param tell hears of each size before it is tried
   * @returns the results, in the order of the sizes
   */
  async inTurn<Result>(
    sizes: Size[],
    request: (size: Size) => Record<string, unknown>,
    tell: (size: Size, number: number) => void,
  ): Promise<Result[]> {
    const results: Result[] = [];
    let [next, end] = [0, sizes.length];
    const work = async (engine: ReturnType<typeof newEngine>) => {
      while (next < end) {
        const at = next;
        next += 1;
        tell(sizes[at], at + 1);
        const { result, last } = await engine.ask<{ result: Result; last: boolean }>(
          request(sizes[at]),
        );
        results[at] = result;
        if (last) end = Math.min(end, at + 1);
      }
    };
    try {
      await Promise.all(this.#all.map(work));
    } catch (error) {
      end = 0; // the other begins nothing new
      throw error;
    }
    return results.slice(0, end);
  }
}
