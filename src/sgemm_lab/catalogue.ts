// Former names of kernels, from catalogue.py.

import { ALIASES } from "./catalogue.py";

/** The current name of a kernel, given a current or former one; constants after a colon stay. */
export function currentName(name: string) {
  const base = name.split(":", 1)[0];
  return (Object.hasOwn(ALIASES, base) ? ALIASES[base] : base) + name.slice(base.length);
}

/** The same object with current names of kernels as keys. */
export function withCurrentNames<T>(byName: Record<string, T>): Record<string, T> {
  const entries = Object.entries(byName);
  return Object.fromEntries(entries.map(([name, value]) => [currentName(name), value]));
}
