// @ts-check
// What an exercise of lines asks of a kernel that multiplies rightly: asks.py in JavaScript, held
// equal to it by a test. The data come from there, the figures are counted here.

import { LabError } from "../errors.js";
import { launchShape, valuesOf } from "../kernel.js";
import { filled } from "../text.js";
import { declaredBytes } from "./checked.js";
import { countsOf } from "./quantities.js";
import { sentence } from "./sentences.js";

/** @typedef {import("../kernel.js").Size} Size */

/**
 * What the compiler gives to a thread, where it says so.
 * @typedef {{ registers?: number, spill_bytes?: number }} OfThread
 *
 * A kernel, and what a compiler made of it.
 * @typedef {{ kernel: import("../kernel.js").Kernel, ptx: string, ofThread?: OfThread }} Subject
 *
 * @typedef {{ kind: "counted", count: string, size: Size, per: string, times: number, of: string }
 *   } Counted
 * @typedef {{ kind: "compiled", what: "shared_bytes" | keyof OfThread, each: number, plus: number,
 *   of: string }} Compiled
 * @typedef {{ kind: "least in PTX", pattern: string, of?: undefined }} LeastInPtx
 * @typedef {{ kind: "constant", name: string, plus: number, of?: undefined }} Constant
 * @typedef {Counted | Compiled | LeastInPtx | Constant} Figure
 *
 * @typedef {{ right: boolean, says: string, figure: string, above: number | string | null,
 *   below: number | string | null }} Case
 *
 * @typedef {{ figures: Record<string, Figure>, cases: Case[] }} Asks
 */

const BLOCK = "block";
const TIME_LIMIT = 60;
const NAMED = /\{(\w+)/g;

/**
 * What is said of a kernel: the sentence of the case that fits. Throws a LabError where a figure
 * cannot be had.
 * @param {Asks} asks
 * @param {Subject} reader the reader's kernel
 * @param {Record<string, Subject>} books those that it is compared with
 */
export function said(asks, reader, books) {
  /** @type {Map<string, number | null>} */
  const known = new Map();
  /** @type {(name: string) => number | null} */
  function figure(name) {
    if (!known.has(name)) {
      const asked = asks.figures[name];
      known.set(name, measured(asked, asked.of ? books[asked.of] : reader));
    }
    return known.get(name) ?? null;
  }
  /** @param {Case} one */
  function fits(one) {
    const value = one.figure ? figure(one.figure) : 0;
    if (value === null) return false;
    /** @type {(given: number | string) => number | null} */
    const bound = (given) => (typeof given === "string" ? figure(given) : given);
    if (one.above !== null && !(value > (bound(one.above) ?? Number.NaN))) return false;
    return one.below === null || value < (bound(one.below) ?? Number.NaN);
  }
  const found = asks.cases.find(fits);
  if (!found) throw new Error("No case fits, though the last one must.");
  const names = [...found.says.matchAll(NAMED)].map(([, name]) => name);
  const values = Object.fromEntries(names.map((name) => [name, figure(name)]));
  return { right: found.right, says: filled(found.says, values) };
}

/**
 * A figure of a kernel; null where it is not known here.
 * @param {Figure} figure
 * @param {Subject} subject
 * @returns {number | null}
 */
function measured(figure, subject) {
  if (figure.kind === "counted") return counted(figure, subject);
  if (figure.kind === "compiled") return compiled(figure, subject);
  if (figure.kind === "constant") {
    const value = valuesOf(subject.kernel)[figure.name];
    if (value === undefined) {
      throw new LabError(sentence("asks.no constant", { name: figure.name }));
    }
    return value + figure.plus;
  }
  const found = [...subject.ptx.matchAll(new RegExp(figure.pattern, "g"))];
  return found.length ? Math.min(...found.map((match) => Number(match[1]))) : -1;
}

/** @type {(figure: Counted, subject: Subject) => number} */
function counted({ count, size, per, times }, { kernel, ptx }) {
  const { total } = countsOf(kernel, ptx, size, TIME_LIMIT);
  const value = times * total[count];
  if (!per) return value;
  if (per === BLOCK) {
    const [x, y] = launchShape(kernel, size).grid;
    return value / (x * y);
  }
  if (!total[per]) {
    const [words, unit] = [count, per].map((name) => name.replaceAll("_", " "));
    throw new LabError(sentence("asks.no share", { count: words, per: unit }));
  }
  return value / total[per];
}

/** @type {(figure: Compiled, subject: Subject) => number | null} */
function compiled({ what, each, plus }, { ptx, ofThread }) {
  const value = what === "shared_bytes" ? declaredBytes(ptx) : ofThread?.[what];
  return value === undefined ? null : Math.floor(value / each) + plus;
}
