// References in the same file: a function or a kernel that computes what another kernel should.
// `softmax_cpu(out, in, N)` is a reference for `softmax_kernel(out, in, N)`: the rest of its name is
// in the kernel's name, and its parameters are among the kernel's. A host function is compiled as
// device code, where it can be with its outer loops spread over threads.

import { isHostCode } from "./device_part.ts";
import { resolve } from "./elements.ts";
import type { FoundFunction } from "./kernels.ts";
import { functionOf, lastName, ownKernels, parameterTokens } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";
import { BLOCKS, spread, THREADS } from "./parallel_loops.ts";
import WORDS from "./reference_words.json";
import { isSize, plain } from "./signatures.ts";
import { type Field, fieldOf } from "./structs.ts";
import { textsOf } from "./tokens.ts";

/** A text of the file that has the reference as a kernel, and its launch; none of a kernel's own. */
export interface Wrapped {
  text: string;
  entry: string;
  grid: number | null;
  block: number | null;
}

export interface Reference {
  name: string;
  line: number;
  isKernel: boolean;
  /** for each of its parameters the place of the kernel's that it gets, or the name of a size */
  places: (number | string)[];
  /** what it stands for follows from names alone: it returns a value, or takes a size more */
  isLoose: boolean;
  /** the ways to run it, the fastest first */
  texts: Wrapped[];
}

const WRAPPER = "lab_reference";

/** The references for a kernel, functions of the host first. */
export function referencesOf(opened: Opened, fields: Field[]): Reference[] {
  const { file, kernel } = opened;
  const wanted = meaning(kernel.name);
  const declared = file.files[0].declarations.filter(
    (one) => one.kind === "function" && one.hasBody && !one.marks.size,
  );
  const host = declared.filter((one) => !isHostCode(one) && one.head[0].text !== "template");
  const kernels = ownKernels(file).filter(({ template }) => !template.length);
  const all = [
    ...host.map((one) => functionOf(one, file)),
    ...(isReference(kernel.name) ? [] : kernels),
  ];
  const found = all.flatMap((one) => {
    const named = one.name !== kernel.name && isReference(one.name);
    const result = named ? resultOf(one, fields) : -1;
    const known = named && placesOf(one, opened, fields, result);
    const places = known && result >= 0 ? [...known, result] : known;
    const words = meaning(one.name);
    if (!places || !words.every((word) => wanted.includes(word))) return [];
    const { declaration, name } = one;
    const { isKernel } = declaration;
    const text = file.files[0].text;
    const texts = isKernel
      ? [{ text, entry: name, grid: null, block: null }]
      : wrapped(one, text, fields[result]);
    // The most telling name first: softmax_online_cpu before softmax_cpu.
    const line = file.lineOf(declaration);
    const rank = [Number(isKernel), -new Set(words).size, line];
    const isLoose = result >= 0 || places.some((place) => typeof place === "string");
    return { rank, reference: { name, line, isKernel, places, isLoose, texts } };
  });
  found.sort(({ rank: [a, b, c] }, { rank: [x, y, z] }) => a - x || b - y || c - z);
  return found.map(({ reference }) => reference);
}

/** Kernels that call a function of the host, with its loops spread where they can be. */
function wrapped(
  { name, parameters, declaration }: FoundFunction,
  text: string,
  result?: Field,
): Wrapped[] {
  const types = parameterTokens(declaration).map((part) => {
    const texts = textsOf(part);
    return texts.slice(0, texts.includes("=") ? texts.indexOf("=") : undefined).join(" ");
  });
  if (result) types.push(`${result.type}* lab_result`);
  const given = parameters.map((one) => one.name).join(", ");
  const call = `${result ? "*lab_result = " : ""}${name}(${given});`;
  const kernel = `\n__global__ void ${WRAPPER}(${types.join(", ")}) { ${call} }\n`;
  const parallel = result ? null : spread(declaration, text);
  const { start, end } = declaration;
  const made = (own: string, grid: number, block: number) => ({
    ...{ text: text.slice(0, start) + own + text.slice(end) + kernel, entry: WRAPPER, grid, block },
  });
  return [
    ...(parallel === null ? [] : [made(parallel, BLOCKS, THREADS)]),
    made(text.slice(start, end), 1, 1),
  ];
}

function wordsOf(name: string) {
  const words = lastName(name).match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  return words.map((word) => word.toLowerCase());
}

/** Two functions that fill arrays, such as of the host and of the device, may fill them differently. */
const isReference = (name: string) => {
  const words = wordsOf(name);
  const [isNamed, fills] = [WORDS.references, WORDS.filling].map((those) =>
    words.some((one) => those.includes(one)),
  );
  return isNamed && !fills;
};

/** What a name says besides that it is a kernel, a reference or a version. */
const meaning = (name: string) =>
  wordsOf(name).filter(
    (one) => !WORDS.references.includes(one) && !WORDS.meaningless.includes(one),
  );

/** The place of the only array that a kernel may write, if a reference returns what it should hold; else -1. */
function resultOf({ parameters, declaration: { head, names } }: FoundFunction, fields: Field[]) {
  const [first, ...others] = fields.flatMap((one, at) => (one.pointer && !one.constant ? at : []));
  const before = head[head.findIndex(({ text }) => text === names[0]) - 1]?.text ?? "void";
  const fills = parameters.some(({ pointer, constant }) => pointer && !constant);
  return fills || others.length || /^(void|auto)$/.test(before) ? -1 : (first ?? -1);
}

/**
 * For each parameter of a function the place of the kernel's parameter that it gets, or its name where one
 * size is none of the kernel's; null where another has no such parameter, or points to elements of
 * another type.
 */
function placesOf(
  { parameters }: FoundFunction,
  { file, values }: Opened,
  fields: Field[],
  result: number,
): (number | string)[] | null {
  if (result < 0 && !parameters.some(({ pointer, constant }) => pointer && !constant)) return null;
  const known = fields.map(({ name }) => plain(name));
  let places = parameters.map(({ name }) => known.indexOf(plain(name)));
  const left = parameters.filter((_, at) => places[at] < 0);
  const [open] = left.map((one) => fieldOf(one, resolve(one.type, file, values)));
  const isSizeOpen = left.length === 1 && isSize(open) && new Set(places).size === places.length;
  if (!isSizeOpen && (left.length || new Set(places).size < places.length)) {
    const alike = parameters.every(
      ({ pointer, type }, at) => fields[at]?.pointer === pointer && fields[at].type === type,
    );
    if (parameters.length !== fields.length || !alike) return null;
    places = parameters.map((_, at) => at);
  }
  const same = parameters.every(({ pointer, type }, at) => {
    const other = fields[places[at]];
    if (!other) return true;
    if (pointer !== other.pointer || !pointer) return pointer === other.pointer;
    return JSON.stringify(resolve(type, file, values)) === JSON.stringify(other.element);
  });
  return same ? places.map((at, place) => (at < 0 ? parameters[place].name : at)) : null;
}
