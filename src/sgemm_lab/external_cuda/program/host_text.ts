// The text of a file as the compiler of host code takes it, line by line the same:
//
// - `long`, `size_t` and `sizeof` have 8 bytes, as on the machines that CUDA runs on, though
//   WebAssembly has 4;
// - functions of the device alone have no body, as their words are unknown here;
// - `<< <` and `>> >` of a launch have no blanks;
// - includes name what is there: headers of the project; CUDA's own are `host_cuda.h`.

import type { CudaFile } from "../cuda_file.ts";
import { depthOf, matching, type Token, tokensOf } from "../tokens.ts";

/** CUDA's headers that `host_cuda.h` stands for, and those that only kernels use. */
const OF_CUDA =
  /^(cuda(_\w+)?\.h|cuda\/\w+|cuda_runtime_api\.h|curand_(kernel|mtgp32\w*)\.h|cooperative_groups(\/.*)?\.h|mma\.h|cuComplex\.h|(vector|device|driver|texture|surface|math|sm_\d+|channel|host)_\w+\.h|helper_(cuda|functions)\.h|crt\/.*|cub\/(cub|(block|warp|thread)\/\w+|util_\w+)\.cuh|nv\/\w+|nvToolsExt\.h|nvtx3\/.*|omp\.h|immintrin\.h|cudaProfiler\.h)$/;
/** Headers of libraries that `host_libraries.h` stands for. */
const OF_LIBRARIES = /^(cublas(_v2|_api)?|curand|library_types)\.h$/;
export const LIBRARY_FILE = "lab_libraries.h";
const INCLUDE = /^(#\s*include\s*)(?:<([^>\n]+)>|"([^"\n]+)")/;
const EVERYTHING = (
  "algorithm array bitset chrono cmath complex deque fstream functional iomanip iostream iterator " +
  "limits list map memory numeric queue random set sstream stack string tuple unordered_map vector"
).split(" ");
const PRINTING = /^(f|s|sn)?printf$/;
const WHOLE = /^(0[xX][\da-fA-F']+|0[bB][01']+|[\d']+)(?:([uU]?)[lL]|[lL]([uU]))$/;
const MARKS = /^__(global|device)__$/;

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The texts of a file and of its headers, by the names that its includes have now. */
export function hostTexts(file: CudaFile, isWide: boolean): Record<string, string> {
  const names = new Map(
    file.files.map(({ name }, at) => [name, at ? `header_${at}.h` : plainName(name)]),
  );
  const marks = marksOf(file);
  return Object.fromEntries(
    file.files.map(({ name, text }) => {
      const tokens = tokensOf(text);
      const edits = [
        ...includes(tokens, names),
        ...bodies(text, tokens, marks),
        ...linkages(tokens),
        ...launches(tokens),
        ...(isWide ? widths(tokens) : []),
      ];
      return [names.get(name), edited(text, edits)];
    }),
  );
}

/** A name that clang takes for a file. */
export const plainName = (name: string) => name.replace(/^.*\//, "") || "file.cu";

/** Replace parts of a text; of two that overlap the first given, which blanks the other. */
function edited(text: string, edits: Edit[]) {
  edits.sort((one, other) => one.start - other.start || other.end - one.end);
  let [made, place] = ["", 0];
  for (const { start, end, text: own } of edits) {
    if (start < place) continue;
    made += text.slice(place, start) + own;
    place = end;
  }
  return made + text.slice(place);
}

function includes(tokens: Token[], names: Map<string, string>): Edit[] {
  return tokens.flatMap(({ kind, text, start }) => {
    const [all, before, pointed, quoted] = (kind === "directive" && INCLUDE.exec(text)) || [];
    if (all === undefined) return [];
    const name = (pointed ?? quoted).replace(/^cuda\/std\//, "");
    const own = names.get(name);
    if (own) return { start, end: start + all.length, text: `${before}"${own}"` };
    if (name === "bits/stdc++.h") {
      // In one line: the lines of the file stay where they are.
      return { start, end: start + all.length, text: `${before}"everything.h"` };
    }
    if (OF_LIBRARIES.test(name)) {
      return { start, end: start + all.length, text: `${before}"${LIBRARY_FILE}"` };
    }
    if (OF_CUDA.test(name)) return { start, end: start + all.length, text: "" };
    return name === (pointed ?? quoted)
      ? []
      : { start, end: start + all.length, text: `${before}<${name}>` };
  });
}

/** What `#include <bits/stdc++.h>` becomes. */
export const EVERY_HEADER = EVERYTHING.map((name) => `#include <${name}>\n`).join("");
const HEAVY = EVERYTHING.filter((name) => name !== "cmath" && name !== "limits");
/** An include of one of them that takes longer to read than all of them from what was read before. */
export const OF_CPP = new RegExp(
  `^\\s*#\\s*include\\s*[<"](${HEAVY.join("|")}|everything\\.h)[>"]`,
  "m",
);

/** Whole numbers of 8 bytes, and `printf` that knows them. */
function widths(tokens: Token[]): Edit[] {
  return tokens.flatMap(({ kind, text, start, end }, at) => {
    if (kind === "directive") {
      const body = /^#\s*define\s/.exec(text) && tokensOf(text.slice(1));
      const inner = body ? widths(body) : [];
      return inner.map((one) => ({
        start: one.start + start + 1,
        end: one.end + start + 1,
        text: one.text,
      }));
    }
    const next = tokens[at + 1]?.text;
    const before = tokens[at - 1]?.text;
    if (kind === "number") {
      const [, digits, sign, later] = WHOLE.exec(text) ?? [];
      return digits ? { start, end, text: `${digits}${sign || later || ""}ll` } : [];
    }
    if (kind !== "name") return [];
    if (text === "long" && next !== "long" && next !== "double" && before !== "long") {
      return { start, end, text: "long long" };
    }
    if (text === "ptrdiff_t") return { start, end, text: "long long" };
    if (text === "size_t") return { start, end, text: "lab_size_t" };
    if (text === "sizeof") return { start, end, text: "(lab_size_t)sizeof" };
    return PRINTING.test(text) && next === "(" ? { start, end, text: `lab_${text}` } : [];
  });
}

/** Kernels are known by their types, which the names of C do not have. */
function linkages(tokens: Token[]): Edit[] {
  return tokens.flatMap(({ text, start, end }, at) => {
    if (text !== '"C"' || tokens[at - 1]?.text !== "extern") return [];
    const isBlock = tokens[at + 1]?.text === "{";
    const last = isBlock ? matching(tokens, at + 1) : at + 4;
    const isOfKernels = tokens.slice(at, last).some((one) => one.text === "__global__");
    return isOfKernels ? { start, end, text: '"C++"' } : [];
  });
}

/** A launch as clang wants it: `k<<<1, 1>>>(x)` where a file has `k << <1, 1 >> > (x)`. */
function launches(tokens: Token[]): Edit[] {
  return tokens.flatMap(({ text, start }, at) => {
    if (text === "<<<") return [{ start, end: tokens[at].end, text }];
    const ends = [1, 2, 3].map((next) => tokens[at + next]);
    const isEnd = text === ">" && ends.map((one) => one?.text).join(" ") === "> > (";
    return isEnd ? [{ start, end: ends[1].end, text: ">>>" }] : [];
  });
}

/** Macros that mark functions of the device alone, besides the words of CUDA. */
function marksOf({ macros }: CudaFile) {
  const found = new Map<string, boolean>();
  for (const [name, { body, takes }] of macros) {
    const words = body.map(({ text }) => text);
    if (takes || words.includes("{") || words.includes(";")) continue;
    if (words.includes("__host__")) found.set(name, false);
    else if (words.some((one) => MARKS.test(one))) found.set(name, true);
  }
  return found;
}

/** Empty the bodies of functions that only the device runs. */
function bodies(source: string, tokens: Token[], macros: Map<string, boolean>): Edit[] {
  const found: Edit[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { text } = tokens[at];
    if (!MARKS.test(text) && !macros.get(text)) continue;
    const opening = bodyOf(tokens, at);
    if (!opening || isOfHost(tokens, at, opening, macros)) continue;
    const closing = matching(tokens, opening);
    const [start, end] = [tokens[opening].end, tokens[closing].start];
    found.push({ start, end, text: source.slice(start, end).replace(/[^\n]/g, "") });
    at = closing;
  }
  return found;
}

/** Whether a function runs on the host too, or in what a compiler calculates. */
function isOfHost(tokens: Token[], mark: number, opening: number, macros: Map<string, boolean>) {
  let start = mark;
  while (start > 0 && !/^[;{}>]$/.test(tokens[start - 1].text)) start--;
  const head = tokens.slice(start, opening);
  return head.some(
    ({ text }) => text === "__host__" || text === "constexpr" || macros.get(text) === false,
  );
}

/** The place of the brace that opens a function's body; 0 where none does. */
function bodyOf(tokens: Token[], mark: number) {
  let isList = false;
  let isCalled = false;
  for (let at = mark + 1; at < tokens.length; at++) {
    const { text, kind } = tokens[at];
    const before = tokens[at - 1];
    if (kind === "directive") continue;
    if (text === ";" || (text === "=" && before.text !== "operator" && !isCalled)) return 0;
    if (text === "struct" && !isCalled && tokens[at + 2]?.text === "{") return 0;
    if (text === "{") {
      const isBody = !isList || before.text === ")" || before.text === "}";
      if (isCalled && isBody) return at;
      if (!isCalled) return 0;
      at = matching(tokens, at);
    } else if (text === "(" || text === "[") {
      isCalled ||= text === "(" && before.kind === "name" && !/^__(launch|align)/.test(before.text);
      isCalled ||= text === "(" && /^[>\])]$/.test(before.text);
      at = matching(tokens, at);
    } else if (text === ":" && isCalled) isList = true;
    else if (depthOf(text) < 0) return 0;
  }
  return 0;
}
