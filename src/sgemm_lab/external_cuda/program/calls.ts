// What the calls of CUDA's functions and libraries in a file give them, as written: names for messages.

import type { CudaFile } from "../cuda_file.ts";
import { inside, joined, split, textsOf, tokensOf } from "../tokens.ts";

/** Lines that a call may go on for, where a macro contains it. */
const NEAR = 3;

export class Calls {
  /** by the line that they begin in */
  #found = new Map<number, string[][]>();

  constructor(file: CudaFile) {
    const { text } = file.files[0];
    const tokens = tokensOf(text);
    let [line, place] = [1, 0];
    tokens.forEach(({ kind, text: word, start }, at) => {
      for (; place < start; place++) line += Number(text[place] === "\n");
      if (
        kind !== "name" ||
        !/^(cuda|cublas|curand)[A-Z]/.test(word) ||
        tokens[at + 1]?.text !== "("
      )
        return;
      const given = split(inside(tokens, at + 1)).map((part) => joined(textsOf(part)));
      const others = this.#found.get(line) ?? [];
      this.#found.set(line, [...others, [word, ...given]]);
    });
  }

  /** The name of an argument of the call in a line; `other` where none stands there. */
  argument(line: number, called: RegExp, place: number, other: string) {
    for (let at = line; at < line + NEAR; at++) {
      const found = this.#found.get(at)?.find(([name]) => called.test(name));
      if (found) return plain(found[place + 1] ?? "") || other;
    }
    return other;
  }

  /** The function of CUDA that a line calls. */
  name(line: number, called: RegExp, other: string) {
    for (let at = line; at < line + NEAR; at++) {
      const found = this.#found.get(at)?.find(([name]) => called.test(name));
      if (found) return found[0];
    }
    return other;
  }
}

/** Without casts and the sign of an address: "x" of "(void**)&x". */
const plain = (text: string) =>
  text.replace(/^\((?:const )?(?:void|\w+)\*+\)/, "").replace(/^&(?=[\w.[\]>-]+$)/, "");
