// The words of host code after its preprocessor: operators are whole, macros stand for their text,
// and of `#if` one branch is left.

import type { CudaFile } from "../cuda_file.ts";
import type { Declaration } from "../declarations.ts";
import type { Token } from "../tokens.ts";
import { matching, split } from "../tokens.ts";

export interface Word {
  kind: Token["kind"];
  text: string;
  /** 1-based, in the file of its declaration */
  line: number;
  /** it stands right after the word before */
  joined: boolean;
}

const OPERATORS = new Set([
  ...["<<=", "...", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/="],
  ...["%=", "&=", "|=", "^="],
]);
const DEEPEST = 20;

/** Whether a directive such as `#ifdef NAME` holds; what cannot be read holds. */
function holds(word: string, rest: string, { macros, defines }: CudaFile) {
  const isKnown = (name: string) => macros.has(name) || Object.hasOwn(defines, name);
  const [name] = /\w+/.exec(rest) ?? [""];
  if (word !== "if") return isKnown(name) === (word === "ifdef");
  const asked = /^\s*(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\s*$/.exec(rest);
  if (asked) return isKnown(asked[2]) !== (asked[1] === "!");
  const number = /^\s*(\w+)\s*$/.exec(rest)?.[1] ?? "1";
  const value = macros.get(number)?.body[0]?.text ?? number;
  return value !== "0" && (/^\d/.test(value) || macros.has(value) || !/^[A-Z_]+$/.test(value));
}

/** Which directives have left out what follows. */
export class Conditions {
  #open: { now: boolean; was: boolean }[] = [];

  constructor(public file: CudaFile) {}

  get hold() {
    return this.#open.every(({ now }) => now);
  }

  read(directive: string) {
    const [, word, rest] = /^#\s*(if|ifdef|ifndef|else|elif|endif)\b(.*)/.exec(directive) ?? [];
    if (!word) return;
    if (word.startsWith("if")) {
      const now = holds(word, rest, this.file);
      this.#open.push({ now, was: now });
    } else if (word === "endif") this.#open.pop();
    else {
      const top = this.#open.at(-1);
      if (!top) return;
      top.now = !top.was && (word === "else" || holds("if", rest, this.file));
      top.was ||= top.now;
    }
  }
}

/** The words of a declaration. */
export function wordsOf(declaration: Declaration, file: CudaFile): Word[] {
  const { text } = file.fileOf(declaration);
  let [at, line] = [0, 1];
  const lineOf = (start: number) => {
    for (; at < start; at++) if (text[at] === "\n") line++;
    return line;
  };
  const conditions = new Conditions(file);
  const kept = declaration.tokens.filter((token) => {
    if (token.kind === "directive") conditions.read(token.text);
    return token.kind !== "directive" && conditions.hold;
  });
  return expanded(combined(kept, lineOf), file, new Set());
}

/** Tokens with whole operators; of those that end in ">" only ">=", as "> >" closes templates. */
function combined(tokens: Token[], lineOf: (start: number) => number): Word[] {
  const found: Word[] = [];
  let end = -1;
  for (const { kind, text, start, end: after } of tokens) {
    const last = found.at(-1);
    const joined = start === end;
    if (last && joined && kind === "sign" && OPERATORS.has(last.text + text)) last.text += text;
    else found.push({ kind, text, line: lineOf(start), joined });
    end = after;
  }
  return found;
}

function expanded(words: Word[], file: CudaFile, inside: Set<string>): Word[] {
  if (inside.size > DEEPEST) return words;
  const found: Word[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    const macro =
      word.kind === "name" && !inside.has(word.text) ? file.macros.get(word.text) : null;
    const { line } = word;
    if (word.text === "__LINE__") found.push({ ...word, kind: "number", text: `${line}` });
    else if (word.text === "__FILE__" || word.text === "__func__") {
      found.push({ ...word, kind: "text", text: `"${file.files[0].name}"` });
    } else if (!macro || (macro.takes && words[at + 1]?.text !== "(")) found.push(word);
    else {
      const body = combined(macro.body, () => line);
      const within = new Set([...inside, word.text]);
      if (macro.takes) {
        const end = matching(words as unknown as Token[], at + 1);
        const given = split(words.slice(at + 2, end) as unknown as Token[]) as unknown as Word[][];
        const filled = substituted(
          body,
          macro.takes,
          given.map((one) => expanded(one, file, inside)),
          given,
        );
        found.push(...expanded(filled, file, within));
        at = end;
      } else found.push(...expanded(body, file, within));
    }
  }
  return found;
}

/** The body of a macro with its arguments; `#x` is the text of one. */
function substituted(body: Word[], takes: string[], given: Word[][], plain: Word[][]) {
  return body.flatMap((word, at) => {
    const place = takes.indexOf(word.text);
    if (word.text === "#" && takes.includes(body[at + 1]?.text)) return [];
    if (place < 0 || word.kind !== "name") {
      if (word.text !== "__VA_ARGS__") return [word];
      const rest = given.slice(takes.length);
      return rest.flatMap((one, number) =>
        number ? [{ ...word, kind: "sign" as const, text: "," }, ...one] : one,
      );
    }
    if (body[at - 1]?.text !== "#") return given[place] ?? [];
    const text = (plain[place] ?? []).map((one) => one.text).join(" ");
    return [{ ...word, kind: "text" as const, text: JSON.stringify(text) }];
  });
}
