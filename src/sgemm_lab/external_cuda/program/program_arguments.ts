// The words that a program is given where its main asks for some.

import type { CudaFile } from "../cuda_file.ts";
import { textsOf } from "../tokens.ts";

/** What each word is: a size that blocks of the usual sizes divide. */
const WORD = "128";
const MOST_WORDS = 12;

/** How many words besides the program's name make each comparison with `argc` true or false. */
const LEFT_OUT: Record<string, number> = { "!=": 1, "==": 1, "<": 1, ">=": 1, "<=": 0, ">": 0 };

/**
 * The words that main reads as `argv[1]`, `argv[2]` and so on, or compares `argc` with; empty
 * where it asks for none.
 */
export function assumedWords(file: CudaFile): string[] {
  const main = file.declarations.find(
    ({ kind, names, hasBody }) => kind === "function" && hasBody && names.includes("main"),
  );
  const text = textsOf(main?.tokens ?? []).join(" ");
  const read = [...text.matchAll(/\bargv \[ (\d+) \]/g)].map(([, at]) => Number(at));
  const compared = [...text.matchAll(/\bargc ([!=<>]) (= )?(\d+)/g)].map(
    ([, sign, more, number]) => Number(number) - (LEFT_OUT[sign + (more ?? "").trim()] ?? 1),
  );
  const count = Math.min(MOST_WORDS, Math.max(0, ...read, ...compared));
  return Array<string>(count).fill(WORD);
}
