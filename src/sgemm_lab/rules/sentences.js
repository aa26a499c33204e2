// @ts-check
// The sentences that Python and JavaScript both print: sentences.json, filled in. sentences.py says
// what a template may hold, and a test that both fill it alike.

import { comma, number, percent, plural, ratio, tenths, tenthsPercent } from "../text.js";
import templates from "./sentences.json";

/** @type {Record<string, (value: number, words: string) => string>} */
const FORMATS = {
  comma,
  number,
  percent,
  share: tenthsPercent,
  ratio,
  tenths: (value) => `${tenths(value)}`,
  plural,
  one: (value, words) => words.split("|")[value === 1 ? 0 : 1],
};

/**
 * A template with `values` where it names them.
 * @param {string} template
 * @param {Record<string, unknown>} values
 */
export function filled(template, values) {
  return template.replace(/\{(\w+)(?::(\w+)(?: ([^}]*))?)?\}/g, (_, name, format, words) =>
    format ? FORMATS[format](Number(values[name]), words) : `${values[name]}`,
  );
}

/**
 * The sentence called `key`, with `values` where it names them.
 * @param {keyof typeof templates} key
 * @param {Record<string, number | string>} [values]
 */
export function sentence(key, values = {}) {
  return filled(templates[key], values);
}
