// One kernel of a file that is to be run: the values of its template, and the file's launches of it.

import { LabError } from "../errors.ts";
import { constantOf } from "./constants.ts";
import type { CudaFile } from "./cuda_file.ts";
import type { FoundFunction, FoundLaunch } from "./kernels.ts";
import { choose, launchesOf, launchesOfKernel, templateValues } from "./kernels.ts";
import { usualValues } from "./template_arguments.ts";
import { inside, split, tokensOf } from "./tokens.ts";

const MOST_STEP = 256;

export interface Opened {
  file: CudaFile;
  kernel: FoundFunction;
  /** in C++: "tiled<16>" */
  name: string;
  /** of the template, by name */
  values: Map<string, string>;
  launches: FoundLaunch[];
  /** the line that tells the values of the template; 0 if assumed, null if they are given */
  line: number | null;
}

/** Open the kernel that `entry` means: see `choose`. Throws a LabError where it cannot be run. */
export function openKernel(file: CudaFile, entry: string | null): Opened {
  const launches = launchesOf(file);
  let line: number | null = null;
  const { kernel, name } = choose(file, entry, (found) => {
    const usual = usualValues(found, launches, file);
    line = usual.line;
    return usual.values;
  });
  const { declaration } = kernel;
  if (!declaration.hasBody) {
    throw new LabError(
      `${file.files[0].name} only announces the kernel ${kernel.name}. Give the file that has its ` +
        "body.",
    );
  }
  const inner = declaration.tokens.find(({ text }) => text === "<<<");
  if (inner) {
    throw new LabError(
      `Line ${file.lineOf(declaration, inner)}: ${kernel.name} launches another kernel, which only ` +
        "a GPU does. Give the inner kernel to --entry, and look at it alone.",
    );
  }
  const values = templateValues(kernel, name);
  return { file, kernel, name, values, launches: launchesOfKernel(kernel, launches), line };
}

/** The sides of a block that launches of a kernel have in constants; null where none has. */
export function toldBlock({ file, launches }: Opened): number[] | null {
  for (const { shape, before } of launches) {
    const block = shape[1] ?? [];
    const isNamed = block.length === 1 && block[0].kind === "name";
    const opens = (at: number) => (before[at]?.text === "=" ? at + 2 : at);
    const made = before.findLastIndex(
      ({ text }, at) =>
        isNamed && text === block[0].text && /^[({]$/.test(before[opens(at + 1)]?.text),
    );
    const isCall = /^(dim3|\{)$/.test(block[0]?.text);
    const [tokens, opening] = isCall
      ? [block, block[0].text === "{" ? 0 : 1]
      : [before, opens(made + 1)];
    const parts = isCall || made >= 0 ? split(inside(tokens, opening)) : [block];
    const sides = parts.map((part) => constantOf(part, file, {}, before) ?? 0);
    if (sides.length && sides.every((side) => side >= 1 && side <= 1024)) return sides;
  }
  return null;
}

/** The letters that a kernel names, such as 'a': text that it reads is drawn from there on. */
export function lettersOf({ declaration }: FoundFunction) {
  return declaration.tokens.flatMap(({ text }) => /^'(\w)'$/.exec(text)?.[1] ?? []);
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const STEPS = /(?:%\s*(?=\w+\s*==\s*0)|multiples?\s+of\s+|divisible\s+by\s+)(\w+)/g;

/** What divides every size by the comments of a file, such as "M, N % 64 == 0"; 1 where they say nothing. */
export function stepOf(file: CudaFile) {
  const comments = file.files[0].text.match(COMMENT) ?? [];
  const steps = [...comments.join("\n").matchAll(STEPS)].map(
    ([, text]) => constantOf(tokensOf(text), file) ?? 1,
  );
  const found = Math.max(1, ...steps);
  return found <= MOST_STEP ? found : 1;
}

/** The names in the conditions of a kernel. */
export function wordsOfConditions({ declaration: { tokens } }: FoundFunction) {
  const words = tokens.flatMap(({ text }, place) => {
    if (text === "if") {
      const opening = [place + 1, place + 2].find((at) => tokens[at]?.text === "(");
      return opening === undefined ? [] : inside(tokens, opening);
    }
    if (text !== "?") return [];
    let start = place;
    while (!/^[;{}=]$/.test(tokens[start].text)) start--;
    return tokens.slice(start, place);
  });
  return [...new Set(words.flatMap(({ kind, text }) => (kind === "name" ? text : [])))];
}
