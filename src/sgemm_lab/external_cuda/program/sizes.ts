// The text of a file with its large constants made smaller, so that its program can be followed.

import { comma } from "../../text.ts";
import type { Names } from "../arguments.ts";
import { constantOf } from "../constants.ts";
import type { CudaFile } from "../cuda_file.ts";
import { type Token, tokensOf } from "../tokens.ts";

/** Constants up to this stay, as they may be sizes of blocks; those of matrices by their names do not. */
const LARGEST_KEPT = 1024;
const OF_MATRIX = /^([mnk]|(mat(rix)?_?)?(size|dim|width|height|rows|cols))$/i;
/** How near to a constant another follows from it, though both become smaller. */
const NEAR = 0.9;
const TYPES = /^(int|long|unsigned|size_t|u?int(32|64)_t|auto|short|uint)$/;
/** What takes a number that stands for no size. */
const SEEDED = /^(srand(48)?|seed|mt19937(_64)?|minstd_rand0?|default_random_engine)$/;
const PLAIN = /^(?:\d[\d']*[uUlLzZ]*|<<|<|[-+*()])$/;

interface Step {
  halvings: number;
  least: number;
}

interface Change {
  start: number;
  end: number;
  name: string;
  own: number;
  value: number;
}

/**
 * Halve every number that a variable or a macro begins with: all by the same factor, so that what is
 * larger stays larger; what a block does not divide keeps its remainder.
 * @param least what none is less than, and whose remainder it keeps
 */
export function smallerSizes(file: CudaFile, halvings: number, least: number) {
  const step = { halvings, least };
  const [{ text }] = file.files;
  const changes = file.files[0].declarations.flatMap(({ kind, tokens }) =>
    kind === "directive" ? ofMacro(tokens[0], step) : ofVariables(tokens, step),
  );
  if (changes.some((change) => isTied(change, changes, file)) || isEmptied(changes, file)) {
    return { text, changed: "" };
  }
  let made = text;
  for (const { start, end, value } of changes.sort((one, other) => other.start - one.start)) {
    made = made.slice(0, start) + value + made.slice(end);
  }
  const said = changes
    .reverse()
    .map(({ name, own, value }) => `${name} is ${comma(value)} for ${comma(own)}`);
  return { text: made, changed: said.join(", ") };
}

/**
 * Whether another number of the file may depend on a constant: one that fits only its own value, or
 * its logarithm.
 */
function isTied(
  { own, value }: Change,
  changes: Change[],
  { files: [{ declarations }] }: CudaFile,
) {
  const isChanged = (place: number) =>
    changes.some(({ start, end }) => start <= place && place < end);
  return declarations.some(({ tokens }) =>
    tokens.some((token, at) => {
      if (token.kind !== "number") return false;
      if (tokens.slice(Math.max(0, at - 3), at).some(({ text }) => SEEDED.test(text))) return false;
      const number = numberOf([token]) ?? 0;
      if (isChanged(token.start) && number < NEAR * own) return false;
      if (number > LARGEST_KEPT && value < number && number < own) return true;
      const isNamed = /log|bits|depth|levels/i.test(tokens[at - 2]?.text ?? "");
      return isNamed && 2 ** number === own;
    }),
  );
}

/** Whether a quotient of the file comes to 0 with the smaller constants alone. */
function isEmptied(changes: Change[], file: CudaFile) {
  const names = Object.fromEntries(changes.map(({ name, value }) => [name, value]));
  return file.files[0].declarations.some(({ tokens }) =>
    tokens.some(({ text }, at) => {
      if (text !== "/") return false;
      const start = tokens.slice(0, at).findLastIndex((one) => /^[=;,{}]$/.test(one.text)) + 1;
      const length = tokens.slice(at).findIndex((one) => /^[;,]$/.test(one.text));
      const value = (given: Names) =>
        constantOf(tokens.slice(start, at + length), file, given, tokens.slice(0, start)) ?? 0;
      return value({}) >= 1 && value(names) < 1;
    }),
  );
}

function ofMacro({ text, start }: Token, step: Step): Change[] {
  const [, before, name, body] = /^(#\s*define\s+(\w+)[ \t]+)(.+?)\s*$/.exec(text) ?? [];
  if (!body) return [];
  const from = start + before.length;
  return changed(name, tokensOf(body), from, from + body.length, step);
}

/** Of `const int n = 1 << 20, m = 5;` and members with values. */
function ofVariables(tokens: Token[], step: Step): Change[] {
  let isDeclared = false;
  return tokens.flatMap((token, at) => {
    if (/^[;{}(]$/.test(token.text)) isDeclared = false;
    if (TYPES.test(token.text)) isDeclared = true;
    const [opening, first] = [tokens[at + 1]?.text, tokens[at + 2]];
    if (token.kind !== "name" || !isDeclared || !first) return [];
    if (opening !== "=" && opening !== "{" && opening !== "(") return [];
    if (TYPES.test(token.text)) return [];
    const begin = opening === "=" ? defaultAt(tokens, at + 2) : at + 2;
    let end = begin;
    while (end < tokens.length && PLAIN.test(tokens[end].text)) end++;
    if (opening !== "=") end -= Number(tokens[end - 1]?.text === ")");
    const closing = tokens[end]?.text ?? "";
    if (end === begin || !/^[,;})]$/.test(closing)) return [];
    return changed(
      token.text,
      tokens.slice(begin, end),
      tokens[begin].start,
      tokens[end - 1].end,
      step,
    );
  });
}

/** Of `argc > 1 ? atoi(argv[1]) : 4096` the last number: the program gets no words. */
function defaultAt(tokens: Token[], start: number) {
  const length = tokens.slice(start).findIndex(({ text }) => /^[;{}]$/.test(text));
  const texts = tokens.slice(start, start + Math.max(0, length)).map(({ text }) => text);
  const isAsked = texts.includes("argc") && texts.filter((text) => text === "?").length === 1;
  return start + (isAsked ? texts.indexOf(":", texts.indexOf("?")) + 1 : 0);
}

function changed(name: string, tokens: Token[], start: number, end: number, step: Step) {
  const own = numberOf(tokens);
  const { halvings, least } = step;
  if (own === null || own <= (OF_MATRIX.test(name) ? 2 * least : LARGEST_KEPT)) return [];
  const rest = own % least;
  const halved = Math.max(least, Math.floor(own / 2 ** halvings));
  const value = Math.floor(halved / least) * least + rest;
  return value < own ? [{ start, end, name, own, value }] : [];
}

/** Products, sums and shifts of decimal numbers; null for anything else. */
function numberOf(tokens: Token[]): number | null {
  const text = tokens
    .map((one) => one.text.replaceAll("'", "").replace(/[uUlLzZ]+$/, ""))
    .join(" ");
  if (!/^[\d<+*() -]+$/.test(text) || !/\d/.test(text)) return null;
  const parts = text.replaceAll("< <", "<<").replace(/[()]/g, " ").trim().split(/\s+/);
  if (/[+-]/.test(text) && /[*<(]/.test(text)) return null;
  let value = Number(parts[0]);
  for (let at = 1; at + 1 < parts.length; at += 2) {
    const [sign, next] = [parts[at], Number(parts[at + 1])];
    if (sign === "*") value *= next;
    else if (sign === "<<") value *= 2 ** next;
    else if (sign === "+") value += next;
    else if (sign === "-") value -= next;
    else return null;
  }
  return Number.isSafeInteger(value) ? value : null;
}
