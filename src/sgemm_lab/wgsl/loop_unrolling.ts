// Loops whose bounds are known are unrolled before a program is compiled. A CUDA compiler does so by
// itself, or by `#pragma unroll`; then the indices of `acc` are constants, and `acc` is in registers.
// WGSL has no such pragma, and some of its compilers guard each loop against running for ever, so
// that the driver keeps it: `acc` is then in memory.

import { UnreadableError, wholeNumber } from "../expression.ts";

/** Longer loops stay: a program must not become too long to compile. */
const MOST_TURNS = 32;
const CONSTANT = /^const (\w+) = ([^;]+);/gm;
const LOOP = /for \(var (\w+) = 0u; \1 < ([^;]+); \1(?:\+\+| \+= ([^)]+))\) \{/g;

/** A program with its loops of known bounds written out. */
export function writtenOut(source: string) {
  const constants: Record<string, number> = {};
  for (const [, name, text] of source.matchAll(CONSTANT)) {
    constants[name] = known(text.replace(/(\d)u\b/g, "$1"), constants) ?? 0;
  }
  return withoutLoops(source, constants);
}

function withoutLoops(text: string, constants: Record<string, number>): string {
  let [done, at] = ["", 0];
  for (const loop of text.matchAll(LOOP)) {
    if (loop.index < at) continue; // inside a loop that is written out
    const [head, name, bound, step] = loop;
    const start = loop.index + head.length;
    const [to, by] = [known(bound, constants), known(step ?? "1", constants)];
    if (to === null || by === null || to > MOST_TURNS * by) continue;
    const end = endOf(text, start);
    const body = withoutLoops(text.slice(start, end - 1), constants);
    let turns = "";
    for (let i = 0; i < to; i += by) turns += `{ const ${name} = ${i}u;${body}}\n`;
    done += text.slice(at, loop.index) + turns;
    at = end;
  }
  return done + text.slice(at);
}

/** Where the block ends that begins before `start`. */
function endOf(text: string, start: number) {
  let [depth, at] = [1, start];
  while (depth > 0) {
    depth += Number(text[at] === "{") - Number(text[at] === "}");
    at += 1;
  }
  return at;
}

/** The whole number that a text stands for; null where a name in it is not known. */
function known(text: string, constants: Record<string, number>) {
  try {
    return wholeNumber(text, constants, true);
  } catch (fault) {
    if (fault instanceof UnreadableError) return null;
    throw fault;
  }
}
