// A CUDA file with the headers of its project, split into declarations.

import { LabError } from "../errors.ts";
import { type Declaration, declarationsOf } from "./declarations.ts";
import { inside, matching, type Token, tokensOf } from "./tokens.ts";

/** A file or a header, by the name in its `#include`. */
export interface SourceText {
  name: string;
  text: string;
}

/** The parameters of a macro, null of an object-like one, and what it stands for. */
export interface Macro {
  takes: string[] | null;
  body: Token[];
}

const CONDITION = /^#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*)/s;

export class CudaFile {
  /** the file, then its headers */
  files: (SourceText & { declarations: Declaration[] })[];
  declarations: Declaration[];
  macros: Map<string, Macro>;
  /** names of macros and of declarations outside functions */
  constants: Set<string>;

  /**
   * Throws a LabError if brackets are uneven.
   * @param defines macros that the caller sets, name to value
   */
  constructor(
    texts: SourceText[],
    public defines: Record<string, string> = {},
  ) {
    try {
      this.files = texts.map((one) => ({ ...one, declarations: declarationsOf(one.text) }));
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      throw new LabError(`${texts[0].name} cannot be read. ${error.message}`);
    }
    this.declarations = this.files.flatMap(({ declarations }) => declarations);
    this.macros = macrosOf(this.declarations);
    const others = this.declarations.filter(({ kind }) => kind === "other");
    this.constants = new Set([...this.macros.keys(), ...others.flatMap(({ names }) => names)]);
  }

  /** What `#if` leaves of items where it asks for one name; of other conditions the first is kept. */
  compiled<T>(items: T[], textOf: (one: T) => string) {
    const branches: { isNow: boolean; isDone: boolean }[] = [];
    return items.filter((one, at) => {
      const [, word, asked] = CONDITION.exec(textOf(one)) ?? [];
      if (!word) return branches.every(({ isNow }) => isNow);
      const isDone = !word.startsWith("if") && branches.pop()?.isDone === true;
      if (word === "endif") return false;
      const [, defined, name] = /^(defined\b[\s(]*)?(\w+)[\s)]*$/.exec(asked) ?? [];
      // A header defines its own guard.
      const isGuard = textOf(items[at + 1] ?? one).includes(`define ${name}`);
      const isSet =
        /^__(CUDA|NVCC|cpl)/.test(name) || this.macros.has(name) || name in this.defines;
      const holds = defined || word.endsWith("def") ? isSet && !isGuard : asked !== "0";
      const isNow = !isDone && holds === (word !== "ifndef");
      branches.push({ isNow, isDone: isDone || isNow });
      return false;
    });
  }

  fileOf(declaration: Declaration) {
    return (
      this.files.find(({ declarations }) => declarations.includes(declaration)) ?? this.files[0]
    );
  }

  /** The 1-based line of a token of a declaration in its file. */
  lineOf(declaration: Declaration, token: Token = declaration.tokens[0]) {
    return this.fileOf(declaration).text.slice(0, token.start).split("\n").length;
  }

  #aliases: Map<string, string> | null = null;
  /** What names of types stand for, by `typedef`, `using` and macros. */
  get aliases() {
    this.#aliases ??= this.#readAliases();
    return this.#aliases;
  }

  #readAliases() {
    const found = new Map<string, string>();
    const compiled = this.compiled(this.declarations, ({ tokens }) => tokens[0].text);
    for (const { tokens, kind } of [...this.declarations, ...compiled]) {
      const words = tokens.map(({ text }) => text).filter((one) => !/^(const|volatile)$/.test(one));
      if (words[0] === "typedef" && words.length >= 4 && !words.includes("{")) {
        found.set(words[words.length - 2], words.slice(1, -2).join(" "));
      } else if (words[0] === "using" && words.length > 4 && words[2] === "=") {
        found.set(words[1], words.slice(3, -1).join(" "));
      } else if (kind === "directive") {
        const macro = /^#\s*define\s+(\w+)\s+([\w ]+?)\s*$/.exec(tokens[0].text);
        if (macro) found.set(macro[1], macro[2]);
      }
    }
    return found;
  }
}

function macrosOf(declarations: Declaration[]) {
  const found = new Map<string, Macro>();
  const directives = declarations.flatMap(({ tokens }) =>
    tokens.filter(({ kind }) => kind === "directive"),
  );
  for (const { text } of directives) {
    const define = /^#\s*define\b([\s\S]*)/.exec(text);
    if (!define) continue;
    const body = tokensOf(define[1].replaceAll("\\\n", " ").trim());
    const [name, next] = body;
    if (next?.text === "(" && next.start === name.end) {
      const names = inside(body, 1).filter((one) => one.kind === "name");
      const takes = names.map(({ text }) => text);
      found.set(name.text, { takes, body: body.slice(matching(body, 1) + 1) });
    } else if (name) found.set(name.text, { takes: null, body: body.slice(1) });
  }
  return found;
}
