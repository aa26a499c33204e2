// What judges lines in Python's worker, where every source is compiled before.

import { passed } from "../checking/judge.ts";
import { checked } from "./checked.ts";
import { said } from "./criteria.ts";
import type { Tools } from "./lines.ts";

type Compiled = Awaited<ReturnType<Tools["compiled"]>>;

/** @param made what a compiler made of each source */
export function toolsOf(made: Record<string, Compiled>): Tools {
  return {
    compiled: async (source) => made[source],
    compiledLike: async (_, source, like) => ({ ...like, ...made[source] }),
    checked: async (reader, sizes, onlyWholeNumbers) => {
      const results = [];
      for (const size of sizes) {
        const result = checked(reader, size, onlyWholeNumbers);
        if ("refused" in result) return result;
        results.push(result);
        if (!passed(result)) break;
      }
      return results;
    },
    said: async (...asked) => said(...asked),
  };
}
