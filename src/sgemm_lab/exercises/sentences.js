// @ts-check
// What exercises of lines say, in Python and in JavaScript: sentences.json.

import { filled } from "../text.js";
import templates from "./sentences.json";

/**
 * The sentence called `key`, with `values` where it names them.
 * @param {keyof typeof templates} key
 * @param {Record<string, unknown>} [values]
 */
export function sentence(key, values = {}) {
  return filled(templates[key], values);
}
