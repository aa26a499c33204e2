// The syntax of `--args`: "M N K 1.0 A B 0.0 C" or "x:in:4096 n=4096". Each word is an argument, in
// the kernel's order:
//
// - A, B or C: a matrix of the product C = A·B. "A:col" is column-major; "C:zero" starts with zeros.
// - An array: name, use and size, such as "x:in:4096". The uses are "in", "out", "inout" and "zero"
//   (starts with zeros). A type may follow: "x:in:4096:int". A file may replace the size,
//   "x:in:x.npy". "x:in:4096@4" is a pointer to the fifth of 4096 elements.
// - "image:texture:64:48" or "image:surface:64:48": an image by width, height and optional depth or
//   layers. A type may follow, and the modes of a texture: "linear", "normalized" (coordinates from
//   0 to 1), "border", "wrap" or "mirror".
// - Anything else is a number: 3, 0.5, M, or arithmetic such as ceil(N/4). "n=4096" also names it.

import { LabError } from "../errors.ts";
import { UnreadableError, wholeNumber } from "../expression.ts";
import type { Sampling } from "../simulator/images.ts";
import { elementOf } from "./elements.ts";

/** "3", "0.5", "ceil(N/4)"; with a name if other arguments use it. */
export interface GivenNumber {
  kind: "number";
  text: string;
  name: string;
}

/** A, B or C of a matrix product. `zero`: whether it is initialised to zeros. */
export interface GivenMatrix {
  kind: "matrix";
  name: string;
  byColumns: boolean;
  zero: boolean;
}

/**
 * An array that is no matrix of a product. `size`: number of elements, as arithmetic, or the name of
 * a ".npy" file; of an image its sides, "64:48". `start`: offset of the kernel's pointer, in
 * elements. `modes`: of an image, how it is read; null for an array.
 */
export interface GivenArray {
  kind: "array";
  name: string;
  use: string;
  size: string;
  type: string;
  start: string;
  modes: string[] | null;
}

export type Given = GivenNumber | GivenMatrix | GivenArray;
export type Names = Record<string, number>;

/** Most elements of an array; more would need over 1 GB. */
export const LARGEST_ARRAY = 2 ** 26;
/** Most dimensions of an image. */
export const SIDES = 3;
const BEYOND = ["clamp", "border", "wrap", "mirror"] as const;
const MODES = ["linear", "normalized", ...BEYOND];
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?$/;
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

export const isArray = (one: Given): one is GivenArray => one.kind === "array";
export const isFile = ({ size }: GivenArray) => size.endsWith(".npy");

/** An argument as `--args` has it. */
export function textOf(one: Given): string {
  if (one.kind === "number") return one.name ? `${one.name}=${one.text}` : one.text;
  if (one.kind === "matrix") {
    return `${one.name}${one.byColumns ? ":col" : ""}${one.zero ? ":zero" : ""}`;
  }
  const sized = `${one.name}:${one.use}:${one.size}${one.start && `@${one.start}`}`;
  return [sized, ...(one.type ? [one.type] : []), ...(one.modes ?? [])].join(":");
}

export const textsOf = (given: Given[]) => given.map(textOf).join(" ");

/** Parse the text of `--args`. Throws a LabError where a word is no argument, or a name comes twice. */
export function readArguments(text: string): Given[] {
  const given = wordsOf(text).map(argumentOf);
  const names = given.map(({ name }) => name).filter(Boolean);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice) throw new LabError(`'${twice}' stands twice among the arguments.`);
  const roles = given.filter(({ kind }) => kind === "matrix").map(({ name }) => name);
  const lacking = ["A", "B", "C"].filter((role) => !roles.includes(role));
  if (roles.length && lacking.length) {
    throw new LabError(
      `A product has three matrices; ${lacking.join(", ")} is missing among the arguments.`,
    );
  }
  return given;
}

function wordsOf(text: string) {
  const words = [""];
  let depth = 0;
  for (const letter of text) {
    depth += Number(letter === "(") - Number(letter === ")");
    if (depth <= 0 && /[\s,]/.test(letter)) words.push("");
    else words[words.length - 1] += letter;
  }
  return words.filter(Boolean);
}

function argumentOf(word: string): Given {
  const [first, ...rest] = word.split(":");
  if (/^(texture|surface)$/.test(rest[0])) return imageOf(word, first, rest);
  const isRole = /^[ABC]$/.test(first);
  const marks = rest.every((part) => /^(row|col|zero)$/.test(part));
  if (!(isRole && marks) && rest.length > 1 && /^(in|out|inout|zero)$/.test(rest[0])) {
    if (!NAME.test(first) || rest.length > 3) {
      throw new LabError(`'${word}' names no array. Write it like x:in:4096 or x:in:4096:int.`);
    }
    const [size, start = ""] = rest[1].split(/@(.*)/s);
    const [use, , type = ""] = rest;
    return { kind: "array", name: first, use, size, type, start, modes: null };
  }
  if (isRole) {
    if (!marks) throw new LabError(`'${word}' is no matrix. Write ${first} or ${first}:col.`);
    const [byColumns, zero] = ["col", "zero"].map((mark) => rest.includes(mark));
    return { kind: "matrix", name: first, byColumns, zero };
  }
  if (rest.length) {
    throw new LabError(`'${word}' is no argument. An array is written like x:in:4096 or y:out:N.`);
  }
  const [name, value] = word.split(/=(.*)/s);
  if (value === undefined) return { kind: "number", text: word, name: "" };
  if (!NAME.test(name) || /^[MNK]$/.test(name)) {
    throw new LabError(`'${word}' names no number. Write it like n=4096.`);
  }
  return { kind: "number", text: value, name };
}

function imageOf(word: string, name: string, [use, ...rest]: string[]): GivenArray {
  const modes = rest.filter((part) => MODES.includes(part));
  const sides = rest.filter((part) => !MODES.includes(part));
  const type = sides.length && elementOf(sides[sides.length - 1]) ? (sides.pop() ?? "") : "";
  if (!NAME.test(name) || sides.length < 1 || sides.length > SIDES) {
    throw new LabError(
      `'${word}' is no texture or surface. Write it like image:texture:64:48, image:surface:64:48` +
        `:uchar4 or volume:texture:8:8:8:float:linear. Words are ${MODES.join(", ")}.`,
    );
  }
  return { kind: "array", name, use, size: sides.join(":"), type, start: "", modes };
}

/** How an image is read. */
export function samplingOf(modes: string[]): Sampling {
  const beyond = BEYOND.find((mode) => modes.includes(mode)) ?? "clamp";
  return { linear: modes.includes("linear"), normalized: modes.includes("normalized"), beyond };
}

/** Width, height, and depth or layers of an image. */
export function sidesOf({ name, size }: GivenArray, names: Names): [number, number, number] {
  const [x, y = 1, z = 1] = size.split(":").map((side) => whole(side, names, `size of ${name}`));
  return [x, y, z];
}

/** Elements of an array, or of an image, of which a vector such as float4 counts as one. */
export function elementsOf(one: GivenArray, names: Names) {
  if (!one.modes) return whole(one.size, names, `size of ${one.name}`);
  return sidesOf(one, names).reduce((product, side) => product * side, 1);
}

const isLiteral = ({ text }: GivenNumber) => NUMBER.test(text);

/** The value of a number. Throws a LabError where it cannot be read. */
export function numberOf(one: GivenNumber, names: Names): number {
  return isLiteral(one) ? Number(one.text.replace(/f$/, "")) : whole(one.text, names, "argument");
}

/** Evaluate integer arithmetic; `/` truncates as in C where it does not come out even. */
export function whole(text: string, names: Names, what: string): number {
  try {
    return wholeNumber(text, names);
  } catch (fault) {
    if (!(fault instanceof UnreadableError)) throw fault;
    try {
      return wholeNumber(text, names, true);
    } catch (other) {
      if (!(other instanceof UnreadableError)) throw other;
      throw new LabError(`The ${what} is '${text}', ${fault.message}.`);
    }
  }
}

/** `names`, and the integers that the arguments name. */
export function namedNumbers(given: Given[], names: Names): Names {
  const found = { ...names };
  for (const one of given) {
    if (one.kind !== "number" || !one.name) continue;
    const value = numberOf(one, found);
    if (!isLiteral(one) || /^[-+]?\d+f?$/.test(one.text)) found[one.name] = value;
  }
  return found;
}
