// The sentences of rules and widgets that Python and JavaScript both print: sentences.json.

import { filled } from "../text.ts";
import templates from "./sentences.json";

/** The sentence called `key`, with `values` where it names them. */
export function sentence(
  key: keyof typeof templates,
  values: Record<string, number | string> = {},
) {
  return filled(templates[key], values);
}
