// @ts-check
// The sentences of rules and widgets that Python and JavaScript both print: sentences.json.

import { filled } from "../text.js";
import templates from "./sentences.json";

/**
 * The sentence called `key`, with `values` where it names them.
 * @param {keyof typeof templates} key
 * @param {Record<string, number | string>} [values]
 */
export function sentence(key, values = {}) {
  return filled(templates[key], values);
}
