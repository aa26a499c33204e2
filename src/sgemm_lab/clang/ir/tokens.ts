// A line of LLVM IR as a row of tokens, read from the left.

import { IrError } from "./errors.ts";
import type { IrType } from "./types.ts";

const TOKEN =
  /c?"[^"]*"|[%@!](?:"[^"]*"|[-\w.$]+)|#\d+|-?\d+\.\d+(?:e[+-]?\d+)?|[-\w.$]+|[()[\]{}<>,=*|!]|;.*/g;

/** A place in a row of tokens. */
export class Cursor {
  tokens: string[];
  at = 0;

  /** @param named the types that the module names */
  constructor(
    text: string,
    public named: Map<string, IrType> = new Map(),
  ) {
    this.tokens = text.match(TOKEN) ?? [];
    if (this.tokens.at(-1)?.startsWith(";")) this.tokens.pop();
  }

  /** The next token, or "" at the end. */
  peek() {
    return this.tokens[this.at] ?? "";
  }

  /** Take the next token. */
  next() {
    return this.tokens[this.at++] ?? "";
  }

  /** Take the next token if it is this one. */
  skip(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  /** Take a token that must come now. */
  expect(token: string) {
    if (!this.skip(token)) {
      throw new IrError(`LLVM IR has '${this.peek()}' where '${token}' was awaited.`);
    }
  }

  /** Take tokens as long as they are among some words; return them. */
  takeWords(words: Set<string>): string[] {
    const taken = [];
    while (words.has(this.peek())) taken.push(this.next());
    return taken;
  }

  /** Pass over words, and over what stands in brackets behind one, as in "range(i32 0, 8)". */
  skipAttributes(words: Set<string>) {
    for (;;) {
      // "align 16" has a number instead.
      if (this.skip("align")) this.next();
      else if (!words.has(this.peek())) return;
      else this.next();
      if (this.peek() === "(") this.skipBrackets();
    }
  }

  /** Pass over brackets and what is in them. */
  skipBrackets() {
    let depth = 0;
    do {
      const token = this.next();
      if (token === "(") depth++;
      if (token === ")") depth--;
      if (token === "") throw new IrError("LLVM IR has a bracket that is not closed.");
    } while (depth > 0);
  }

  /** A number after a word further on, such as that of "align 16"; `otherwise` if it has none. */
  numberAfter(word: string, otherwise: number): number {
    const found = this.tokens.indexOf(word, this.at);
    return found < 0 ? otherwise : Number(this.tokens[found + 1]);
  }

  /** The metadata after a mark further on, such as "!12" after "!dbg"; "" if there is none. */
  metadata(mark: string): string {
    const found = this.tokens.indexOf(mark, this.at);
    return found < 0 ? "" : this.tokens[found + 1];
  }
}

/** A name without its mark and quotes: "x" for `%x` and `%"x"`. */
export function nameOf(token: string): string {
  return token.slice(1).replace(/^"|"$/g, "");
}
