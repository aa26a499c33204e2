// The sentences of the simulator: sentences.json, filled in.

import { filled } from "../text.ts";
import templates from "./sentences.json";

/** The sentence called `key`, with `values` where it names them. */
export function sentence(key: keyof typeof templates, values: Record<string, unknown> = {}) {
  return filled(templates[key], values);
}
