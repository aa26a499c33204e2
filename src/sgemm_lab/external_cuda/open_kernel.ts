// One kernel of a file that is to be run: the values of its template, and the file's launches of it.

import { LabError } from "../errors.ts";
import type { CudaFile } from "./cuda_file.ts";
import type { Single, Value } from "./host_values.ts";
import { HostReader, known } from "./host_values.ts";
import type { FoundFunction, FoundLaunch } from "./kernels.ts";
import { choose, launchesOf, launchesOfKernel, templateValues } from "./kernels.ts";
import { usualValues } from "./template_arguments.ts";
import type { Token } from "./tokens.ts";
import { inside, textsOf } from "./tokens.ts";

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

/** A number that a kernel is given, the fields of a struct by name, or null for what is no number. */
export type GivenNumber = number | Record<string, number> | null;

/** A launch of a file for what a kernel is given; sides are empty where they are not known. */
export interface HostShape {
  grid: number[];
  block: number[];
  /** dynamic shared memory; null if unknown */
  sharedBytes: number | null;
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

/** The file's own launch for a kernel's arguments. */
export function hostShape(
  { file, values }: Opened,
  launch: FoundLaunch,
  given: GivenNumber[],
): HostShape {
  const reader = new HostReader(file, launch, namesOf(launch, given), values);
  const [grid, block] = [0, 1].map((at) => known(() => reader.sidesOf(launch.shape[at] ?? [])));
  const shared = launch.shape[2] ? reader.number(launch.shape[2]) : { number: 0 };
  const sharedBytes = shared && Math.trunc(shared.number);
  return { grid: grid ?? [], block: block ?? [], sharedBytes };
}

function namesOf(launch: FoundLaunch, given: GivenNumber[]) {
  const names = new Map<string, Value>();
  for (const [at, tokens] of launch.arguments.entries()) {
    const value = given[at];
    const isMember = tokens.length === 3 && tokens[1].text === ".";
    if (value === undefined || value === null || !(isMember || isName(tokens))) continue;
    const name = textsOf(tokens).join("");
    if (typeof value === "number") names.set(name, single(value));
    else {
      for (const [field, one] of Object.entries(value)) {
        names.set(`${tokens[0].text}.${field}`, single(one));
      }
    }
  }
  return names;
}

const single = (number: number): Single => ({ number, whole: Number.isInteger(number) });

/** Whether an argument is a variable alone. */
export const isName = (tokens: Token[]) => tokens.length === 1 && tokens[0].kind === "name";

/** The letters that a kernel names, such as 'a': text that it reads is drawn from there on. */
export function lettersOf({ declaration }: FoundFunction) {
  return declaration.tokens.flatMap(({ text }) => /^'(\w)'$/.exec(text)?.[1] ?? []);
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
