// @ts-check
// Former names of kernels, from catalogue.py.

import { ALIASES } from "./catalogue.py";

/**
 * The current name of a kernel, given a current or former one; constants after a colon stay.
 * @param {string} name
 */
export function currentName(name) {
  const base = name.split(":", 1)[0];
  return (Object.hasOwn(ALIASES, base) ? ALIASES[base] : base) + name.slice(base.length);
}

/**
 * The same object with current names of kernels as keys.
 * @template T
 * @param {Record<string, T>} byName
 * @returns {Record<string, T>}
 */
export function withCurrentNames(byName) {
  const entries = Object.entries(byName);
  return Object.fromEntries(entries.map(([name, value]) => [currentName(name), value]));
}
