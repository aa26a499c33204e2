// The values of constant expressions in a file: numbers, macros, constants, `sizeof`. Nothing is run.

import { orNull } from "../errors.ts";
import { type Names, whole } from "./arguments.ts";
import type { CudaFile } from "./cuda_file.ts";
import { bytesOf, elementOf } from "./elements.ts";
import type { FoundFunction } from "./kernels.ts";
import { inside, joined, matching, split, type Token, textsOf, tokensOf } from "./tokens.ts";

/** Names that stand for each other; tokens of one expression, for macros that double each other. */
const DEEPEST = 20;
const MOST_TOKENS = 2000;
const CAST = /^(int|unsigned|size_t|uint|uint32_t|long|float|double)$/;

/** A message that names an element of a kernel's shared array of words as its code does: `As[2][5]`. */
export function asDeclared(
  message: string,
  array: string | null,
  kernel: FoundFunction | undefined,
  file: CudaFile,
  names: Names = {},
) {
  const text = kernel && array ? joined(textsOf(kernel.declaration.tokens)) : "";
  const word = `__shared__\\b[^;]*\\b(?:float|int|unsigned|u?int32_t) [^;]*?\\b${array}`;
  const found = new RegExp(`${word}((?:\\[[^;\\]]+\\]){2,})`).exec(text)?.[1];
  const sides = (found?.slice(1, -1).split("][") ?? []).map(
    (side) => constantOf(tokensOf(side), file, names) ?? 0,
  );
  if (!sides.length || sides.includes(0)) return message;
  return message.replaceAll(new RegExp(`\\b${array}\\[(\\d+)\\](?!\\[)`, "g"), (_, flat) => {
    const steps = sides.map((_, at) => sides.slice(at + 1).reduce((all, one) => all * one, 1));
    const places = steps.map((step, at) => Math.floor(flat / step) % (at ? sides[at] : Infinity));
    return `${array}[${places.join("][")}]`;
  });
}

/**
 * The value of an expression; null where it is not known.
 * @param names numbers that it may name
 * @param before what stands before it in its function
 */
export function constantOf(
  tokens: Token[],
  file: CudaFile,
  names: Names = {},
  before: Token[] = [],
): number | null {
  return numberOf(new Reader(file, names, before).text(tokens, 0), names);
}

function numberOf(text: string | null, names: Names): number | null {
  if (text === null) return null;
  if (text !== "" && Number.isFinite(Number(text))) return Number(text);
  return orNull(() => whole(text, names, "number"));
}

class Reader {
  #left = MOST_TOKENS;

  constructor(
    public file: CudaFile,
    public names: Names,
    public before: Token[],
  ) {}

  /** An expression with what its names stand for; null where that is not known. */
  text(tokens: Token[], depth: number): string | null {
    this.#left -= tokens.length;
    if (depth > DEEPEST || this.#left < 0) return null;
    const chosen = this.#chosen(tokens, depth);
    if (chosen !== undefined) return chosen;
    let found = "";
    for (let at = 0; at < tokens.length; at++) {
      const { kind, text } = tokens[at];
      const isCall = tokens[at + 1]?.text === "(";
      const end = isCall ? matching(tokens, at + 1) : at;
      const given = isCall ? inside(tokens, at + 1) : [];
      if (kind === "number") found += ` ${plainNumber(text)}`;
      else if (text === "<" && tokens[at + 1]?.text === "<" && tokens[at + 2]?.kind === "number") {
        found += ` * ${2 ** Number(plainNumber(tokens[at + 2].text))}`;
        at += 2;
      } else if (text === "(" && CAST.test(tokens[at + 1]?.text) && tokens[at + 2]?.text === ")") {
        at += 2;
      } else if (text === "(") {
        const part = this.text(inside(tokens, at), depth + 1);
        if (part === null) return null;
        found += ` (${part})`;
        at = matching(tokens, at);
      } else if (kind !== "name" || Object.hasOwn(this.names, text)) found += ` ${text}`;
      else {
        const part = isCall ? this.#called(text, given, depth) : this.#named(text, depth);
        if (part === null) return null;
        found += ` ${part}`;
        at = end;
      }
    }
    return found.trim();
  }

  /** What `a ? b : c` or `a < b` comes to; undefined for other expressions, null if not known. */
  #chosen(tokens: Token[], depth: number): string | null | undefined {
    const tops = topLevel(tokens);
    const mark = tops.find((at) => tokens[at].text === "?");
    if (mark !== undefined) {
      let open = 0;
      const other = tops.find((at) => {
        open += Number(tokens[at].text === "?") - Number(tokens[at].text === ":");
        return at > mark && open === 0;
      });
      const holds = this.#number(tokens.slice(0, mark), depth);
      if (holds === null || other === undefined) return null;
      const [from, to] = holds ? [mark + 1, other] : [other + 1, tokens.length];
      return bracketed(this.text(tokens.slice(from, to), depth + 1));
    }
    const sign = tops.find((at) => {
      const [before, own, after] = [at - 1, at, at + 1].map((one) => tokens[one]?.text);
      return /^[<>=!]$/.test(own) && before !== own && (own !== after || own === "=");
    });
    if (sign === undefined) return undefined;
    const isDouble = tokens[sign + 1]?.text === "=";
    const left = this.#number(tokens.slice(0, sign), depth);
    const right = this.#number(tokens.slice(sign + 1 + Number(isDouble)), depth);
    if (left === null || right === null) return null;
    const { text } = tokens[sign];
    const isEqual = left === right && isDouble && text !== "!";
    const differs =
      text === "<" ? left < right : text === ">" ? left > right : text === "!" && left !== right;
    return `${Number(isEqual || differs)}`;
  }

  #number = (tokens: Token[], depth: number) => numberOf(this.text(tokens, depth + 1), this.names);

  #called(name: string, given: Token[], depth: number): string | null {
    if (name === "sizeof") {
      const element = elementOf(textsOf(given).join(" "));
      return element && `${bytesOf(element) * element.lanes}`;
    }
    const macro = this.file.macros.get(name);
    const parts = split(given);
    if (macro?.takes) {
      const { takes, body } = macro;
      const filled = body.flatMap((one) => parts[takes.indexOf(one.text)] ?? [one]);
      return bracketed(this.text(filled, depth + 1));
    }
    if (!/^(min|max|ceil)$/.test(name)) return null;
    const texts = parts.map((part) => this.text(part, depth + 1));
    return texts.includes(null) ? null : `${name}(${texts.join(", ")})`;
  }

  #named(name: string, depth: number) {
    const { defines, macros, declarations } = this.file;
    if (Object.hasOwn(defines, name)) return defines[name];
    const one = declarations.find(({ kind, names }) => kind === "other" && names.includes(name));
    const meaning = assigned(name, this.before) ?? (one && assigned(name, one.tokens));
    const macro = macros.get(name);
    const tokens = meaning ?? (macro?.takes ? null : macro?.body);
    return tokens?.length ? bracketed(this.text(tokens, depth + 1)) : null;
  }
}

/** The places of tokens that stand in no bracket. */
function topLevel(tokens: Token[]) {
  const places: number[] = [];
  for (let at = 0; at < tokens.length; at++) {
    if (/^[([{]$/.test(tokens[at].text)) at = matching(tokens, at);
    else places.push(at);
  }
  return places;
}

const bracketed = (text: string | null) => text && `(${text})`;

/** What a name is set to last, in `name = …;` or `name{…};`. */
function assigned(name: string, tokens: Token[]): Token[] | null {
  for (let place = tokens.length - 2; place >= 0; place--) {
    if (tokens[place].text === name && tokens[place + 1].text === "{") {
      return inside(tokens, place + 1);
    }
    const isSet = tokens[place + 1].text === "=" && tokens[place + 2]?.text !== "=";
    if (tokens[place].text !== name || !isSet) continue;
    let end = place + 2;
    while (end < tokens.length && !/^[;,]$/.test(tokens[end].text)) {
      end = /^[([{]$/.test(tokens[end].text) ? matching(tokens, end) + 1 : end + 1;
    }
    return tokens.slice(place + 2, end);
  }
  return null;
}

const plainNumber = (text: string) => {
  const digits = text.replaceAll("'", "").replace(/[uUlL]+$/, "");
  return /^0[xXbB]/.test(digits) ? digits : digits.replace(/[fF]$/, "").replace(/^0+(?=\d)/, "");
};
