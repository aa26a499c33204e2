// @ts-check
// The arrays that a kernel places in its dynamic shared memory, read from its source:
// shared_arrays.py in JavaScript, held equal to it by a test.

import { LabError } from "../errors.js";
import { UnreadableError, wholeNumber } from "../expression.js";
import { sentence } from "./sentences.js";

/**
 * An array inside dynamic shared memory: its name, its first byte there, and its bytes.
 * @typedef {[string, number, number]} SharedPart
 */

const PLACED =
  /auto& (\w+) = \*reinterpret_cast<float\(\*\)((?:\[[^\]]+\])+)>\(shared(?: \+ (.+))?\);/g;
const NUMBERED = /^constexpr int (\w+) = ([^;]+);/gm;
const FLOAT = 4;

/**
 * The arrays that stand in the source as
 * `auto& As = *reinterpret_cast<float(*)[BK][BM]>(shared + …);`. Throws a LabError where a side or a
 * place is no arithmetic over the kernel's constants.
 * @param {import("../kernel.js").Kernel} kernel
 * @returns {SharedPart[]}
 */
export function sharedParts(kernel) {
  const constants = allConstants(kernel.source);
  /** @type {(text: string, where: string) => number} */
  const value = (text, where) => {
    const found = valueOrNull(text, constants);
    if (found === null)
      throw new LabError(sentence("shared.shape", { where, kernel: kernel.name }));
    return found;
  };
  return [...kernel.source.matchAll(PLACED)].map(([, name, sides, offset]) => {
    const first = FLOAT * value(offset ?? "0", `shared + ${offset}`);
    const shape = [...sides.matchAll(/\[([^\]]+)\]/g)].map(([, side]) => value(side, name + sides));
    return [name, first, FLOAT * shape.reduce((one, other) => one * other, 1)];
  });
}

/**
 * All whole-number constants of a kernel, those computed from others too.
 * @param {string} source
 */
function allConstants(source) {
  /** @type {Record<string, number>} */
  const names = {};
  for (const [, name, text] of source.matchAll(NUMBERED)) {
    const value = valueOrNull(text, names);
    if (value !== null) names[name] = value;
  }
  return names;
}

/**
 * @param {string} text
 * @param {Record<string, number>} names
 */
function valueOrNull(text, names) {
  try {
    return wholeNumber(text, names, true);
  } catch (error) {
    if (error instanceof UnreadableError) return null;
    throw error;
  }
}
