// The text of a file with its large constants made smaller, so that its program can be followed.

import { comma } from "../../text.ts";
import type { CudaFile } from "../cuda_file.ts";
import type { Token } from "../tokens.ts";
import { tokensOf } from "../tokens.ts";

/** Constants up to the first stay; none is less than the second, whose remainder it keeps. */
const LARGEST_KEPT = 1024;
const LEAST = 256;
const TYPES = /^(int|long|unsigned|size_t|u?int(32|64)_t|auto|short|uint)$/;
/** What takes a number that stands for no size. */
const SEEDED = /^(srand(48)?|seed|mt19937(_64)?|minstd_rand0?|default_random_engine)$/;
const PLAIN = /^(?:\d[\d']*[uUlLzZ]*|<<|<|[-+*()])$/;

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
 */
export function smallerSizes(file: CudaFile, halvings: number) {
  const [{ text }] = file.files;
  const changes = file.files[0].declarations.flatMap(({ kind, tokens }) =>
    kind === "directive" ? ofMacro(tokens[0], halvings) : ofVariables(tokens, halvings),
  );
  if (changes.some((change) => isTied(change, file))) return { text, changed: "" };
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
function isTied({ start, end, own, value }: Change, { files: [{ declarations }] }: CudaFile) {
  return declarations.some(({ tokens }) =>
    tokens.some((token, at) => {
      if (token.kind !== "number" || (start <= token.start && token.start < end)) return false;
      if (tokens.slice(Math.max(0, at - 3), at).some(({ text }) => SEEDED.test(text))) return false;
      const number = numberOf([token]) ?? 0;
      if (number > LARGEST_KEPT && value < number && number < own) return true;
      const isNamed = /log|bits|depth|levels/i.test(tokens[at - 2]?.text ?? "");
      return isNamed && 2 ** number === own;
    }),
  );
}

function ofMacro({ text, start }: Token, halvings: number): Change[] {
  const [, before, name, body] = /^(#\s*define\s+(\w+)[ \t]+)(.+?)\s*$/.exec(text) ?? [];
  if (!body) return [];
  const from = start + before.length;
  return changed(name, tokensOf(body), from, from + body.length, halvings);
}

/** Of `const int n = 1 << 20, m = 5;` and members with values. */
function ofVariables(tokens: Token[], halvings: number): Change[] {
  let isDeclared = false;
  return tokens.flatMap((token, at) => {
    if (/^[;{}(]$/.test(token.text)) isDeclared = false;
    if (TYPES.test(token.text)) isDeclared = true;
    const [opening, first] = [tokens[at + 1]?.text, tokens[at + 2]];
    if (token.kind !== "name" || !isDeclared || !first) return [];
    if (opening !== "=" && opening !== "{" && opening !== "(") return [];
    if (TYPES.test(token.text)) return [];
    let end = at + 2;
    while (end < tokens.length && PLAIN.test(tokens[end].text)) end++;
    if (opening !== "=") end -= Number(tokens[end - 1]?.text === ")");
    const closing = tokens[end]?.text ?? "";
    if (end === at + 2 || !/^[,;})]$/.test(closing)) return [];
    return changed(
      token.text,
      tokens.slice(at + 2, end),
      first.start,
      tokens[end - 1].end,
      halvings,
    );
  });
}

function changed(name: string, tokens: Token[], start: number, end: number, halvings: number) {
  const own = numberOf(tokens);
  if (own === null || own <= LARGEST_KEPT) return [];
  const rest = own % LEAST;
  const halved = Math.max(LEAST, Math.floor(own / 2 ** halvings));
  const value = Math.floor(halved / LEAST) * LEAST + rest;
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
