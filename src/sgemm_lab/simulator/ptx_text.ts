// PTX as text: where a block of it ends, and the error of a text that cannot be read or run.

import { LabError } from "../errors.ts";
import { sentence } from "./sentences.ts";

/** The PTX text cannot be read, or uses something the simulator does not know. */
export class PtxError extends LabError {}

/** Where the block ends whose brace stands right before `start`. Throws a PtxError if nowhere. */
export function closingBrace(text: string, start: number) {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    else if (text[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  throw new PtxError(sentence("ptx.cut"));
}

const WHOLE_NUMBER = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0+|[1-9]\d*)U*$/;

/** An integer constant, or the bit pattern of a float written `0f3F800000`; null where it is none. */
export function constantIn(text: string) {
  const [, sign, size] = WHOLE_NUMBER.exec(text.replace(/^0[fFdD]/, "0x")) ?? [];
  if (!size) return null;
  return sign === "-" ? -BigInt(size) : BigInt(size);
}
