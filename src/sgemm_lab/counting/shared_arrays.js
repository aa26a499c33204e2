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

const DECLARED = /__shared__ (?:__align__\(\d+\) )?float (\w+)((?:\[[^\]]+\])+)/g;
const PLACED =
  /auto& (\w+) = \*reinterpret_cast<float\(\*\)((?:\[[^\]]+\])+)>\(shared(?: \+ (.+))?\);/g;
const NUMBERED = /^constexpr int (\w+) = ([^;]+);/gm;
const FLOAT = 4;

/**
 * The shape of each array in shared memory, such as [8, 132] for `As[BK][BM + PAD]`. An array whose
 * size the launch decides is left out. Throws a LabError where a side is no arithmetic over the
 * kernel's constants.
 * @param {import("../kernel.js").Kernel} kernel
 * @returns {Record<string, number[]>}
 */
export function sharedShapes(kernel) {
  const { source } = kernel;
  const found = [...source.matchAll(DECLARED), ...source.matchAll(PLACED)];
  const value = evaluator(kernel);
  return Object.fromEntries(found.map(([, name, sides]) => [name, shapeOf(name, sides, value)]));
}

/**
 * The arrays that stand in the source as
 * `auto& As = *reinterpret_cast<float(*)[BK][BM]>(shared + …);`. Throws a LabError where a side or a
 * place is no arithmetic over the kernel's constants.
 * @param {import("../kernel.js").Kernel} kernel
 * @returns {SharedPart[]}
 */
export function sharedParts(kernel) {
  const value = evaluator(kernel);
  return [...kernel.source.matchAll(PLACED)].map(([, name, sides, offset]) => {
    const first = FLOAT * value(offset ?? "0", `shared + ${offset}`);
    const shape = shapeOf(name, sides, value);
    return [name, first, FLOAT * shape.reduce((one, other) => one * other, 1)];
  });
}

/**
 * What an expression of a kernel comes to; `where` it stands is said where that is no number.
 * @param {import("../kernel.js").Kernel} kernel
 */
function evaluator({ name, source }) {
  const constants = allConstants(source);
  return (/** @type {string} */ text, /** @type {string} */ where) => {
    const found = valueOrNull(text, constants);
    if (found === null) throw new LabError(sentence("shared.shape", { where, kernel: name }));
    return found;
  };
}

/**
 * @param {string} name
 * @param {string} sides such as "[BK][BM + PAD]"
 * @param {(text: string, where: string) => number} value
 */
const shapeOf = (name, sides, value) =>
  [...sides.matchAll(/\[([^\]]+)\]/g)].map(([, side]) => value(side, name + sides));

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
