// Reduces a CUDA file and its headers to the part that a kernel needs: the kernel and all
// declarations that it uses, directly or not. Host code and `main` are removed. Removed lines stay
// empty, so that messages and counts have the file's line numbers.

import type { CudaFile, SourceText } from "./cuda_file.ts";
import type { Declaration } from "./declarations.ts";
import { isSameKernel } from "./kernels.ts";
import { matching } from "./tokens.ts";

const INCLUDE = /#\s*include\s*(?:<([^>\n]+)>|"([^"\n]+)")/;
const DEFINE = /^#\s*define\s+(\w+)([\s\S]*)/;
const WORD = /[^\W\d]\w*/g;
const HOST_WORD =
  /^(?:cuda(?:Malloc|Free|Memcpy|Memset|Event|Stream|Device|Get|Set|Error|Check|Func)|cublas|cudnn|cufft|curandGen|cusparse|torch|PYBIND|nccl|MPI_)\w*$|^s?rand$/;

export interface DevicePart {
  /** the file, then its headers */
  files: SourceText[];
  /** names of the host functions that were removed from the file, in order */
  leftOut: string[];
}

/**
 * What `roots` need of a file.
 * @param gone whether an `#include` of this name is removed, as the header is not there
 */
export function devicePart(
  file: CudaFile,
  roots: Declaration[],
  gone: (name: string) => boolean,
): DevicePart {
  const kept = closure(file, roots);
  const leftOut = file.files[0].declarations
    .filter((one) => one.kind === "function" && one.hasBody && !kept.has(one))
    .filter(({ marks }) => !marks.has("__global__") && !marks.has("__device__"))
    .flatMap(({ names }) => names);
  const files = file.files.map(({ name, text, declarations }) => ({
    name,
    text: without(text, declarations, kept, gone),
  }));
  return { files, leftOut: [...new Set(leftOut)] };
}

/** The declarations that the kernel needs. */
function closure({ declarations }: CudaFile, roots: Declaration[]) {
  const byName = new Map<string, Declaration[]>();
  const macros = new Map<string, string[]>();
  for (const one of declarations) {
    for (const name of one.names) byName.set(name, [...(byName.get(name) ?? []), one]);
    const define = one.kind === "directive" && DEFINE.exec(one.tokens[0].text);
    if (define) {
      const words = define[2].match(WORD) ?? [];
      macros.set(define[1], [...(macros.get(define[1]) ?? []), ...words]);
    }
  }
  const kept = new Set<Declaration>();
  const seen = new Set<string>();
  const waiting = [...roots, ...declarations.filter((one) => isAlwaysNeeded(one, macros))];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    if (kept.has(one)) continue;
    kept.add(one);
    const words = [...one.words];
    for (let word = words.pop(); word !== undefined; word = words.pop()) {
      if (seen.has(word)) continue;
      seen.add(word);
      words.push(...(macros.get(word) ?? []));
      waiting.push(...(byName.get(word) ?? []).filter((found) => mayStay(found, roots)));
    }
  }
  for (const one of declarations) {
    if (one.tokens[0].text !== "static_assert") continue;
    const named = [...one.words].flatMap((word) => byName.get(word) ?? []);
    if (named.every((found) => kept.has(found))) kept.add(one);
  }
  return kept;
}

const isDevice = (text: string) => text === "__global__" || text === "__device__";

const isUsingNamespace = ({ kind, names, tokens }: Declaration) =>
  kind === "using" && !names.length && tokens[1]?.text === "namespace";

/** Whether a declaration is needed even if nothing names it. */
function isAlwaysNeeded(one: Declaration, macros: Map<string, string[]>) {
  if (one.kind === "function") return one.names[0] === "operator" && one.marks.has("__device__");
  if (one.kind === "using") return isUsingNamespace(one);
  // The call of a macro that writes a kernel.
  return one.kind === "other" && (macros.get(one.tokens[0].text) ?? []).some(isDevice);
}

/** Whether a named declaration is device code. */
function mayStay(one: Declaration, roots: Declaration[]) {
  if (one.kind !== "function") return true;
  if (one.isKernel) return roots.some((root) => isSameKernel(root, one));
  if (one.marks.size) return one.marks.size > 1 || !one.marks.has("__host__");
  return one.names[0] !== "main" && !isHostCode(one);
}

/** Whether a function launches kernels or calls host functions. */
export function isHostCode({ marks, tokens }: Declaration) {
  if (marks.has("__device__")) return false;
  return tokens.some(({ text }) => isHostToken(text));
}

const isHostToken = (text: string) => text === "<<<" || HOST_WORD.test(text);

/** Blank what is not needed in the text of a file. */
function without(
  source: string,
  declarations: Declaration[],
  kept: Set<Declaration>,
  gone: (name: string) => boolean,
) {
  let found = "";
  let place = 0;
  for (const one of declarations) {
    const text = source.slice(one.start, one.end);
    const include = one.kind === "directive" ? INCLUDE.exec(text) : null;
    const stays = /^(directive|open|close)$/.test(one.kind) || kept.has(one);
    found += source.slice(place, one.start);
    if (include && gone(include[1] ?? include[2])) found += blank(text);
    else if (!stays) found += blankButDirectives(one, text);
    else {
      // Declare the namespace of a using-directive, as its header may be missing.
      const name = one.tokens.slice(2, -1).map((token) => token.text);
      found += isUsingNamespace(one)
        ? `namespace ${name.join("")} {} ${text}`
        : withoutHostBodies(one, text);
    }
    place = one.end;
  }
  return found + source.slice(place);
}

/** Declare, and no longer define, the members of a class that call host functions. */
function withoutHostBodies({ tokens, start, kind }: Declaration, source: string) {
  if (kind === "function") return source;
  let found = "";
  let place = start;
  let member = 0;
  let depth = 0;
  for (let i = 0; i < tokens.length; i++) {
    const { text } = tokens[i];
    const head = tokens.slice(member, i);
    const closing = head.findIndex((token) => token.text === ")");
    if (text === "{" && depth === 1 && closing >= 0) {
      const end = matching(tokens, i);
      const isHost = tokens.slice(i, end).some((token) => isHostToken(token.text));
      if (isHost && !head.some((token) => isDevice(token.text))) {
        // Initializers of members stand between the head and the body.
        const colon = head.findIndex((token, at) => at > closing && token.text === ":");
        const { start: from } = colon < 0 ? tokens[i] : head[colon];
        const to = tokens[end].end;
        found += `${source.slice(place - start, from - start)};${blank(source.slice(from - start + 1, to - start))}`;
        place = to;
      }
      i = end;
    } else depth += Number(text === "{") - Number(text === "}");
    if (/^[;{}]$/.test(tokens[i].text)) member = i + 1;
  }
  return found + source.slice(place - start);
}

const blank = (text: string) => text.replace(/[^\r\n]/g, " ");

/** Blank a declaration except for #if, #endif and #define. */
function blankButDirectives({ tokens, start }: Declaration, source: string) {
  let found = "";
  let place = start;
  for (const { kind, text, start: from, end } of tokens) {
    if (kind !== "directive" || /^#\s*(pragma|include|error)/.test(text)) continue;
    found += blank(source.slice(place - start, from - start)) + text;
    place = end;
  }
  return found + blank(source.slice(place - start));
}
