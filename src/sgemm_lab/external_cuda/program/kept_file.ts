// What takes long to make, in a file that outlives the process, behind the text that it was made from.

import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** What is in a file, if it was made from this text; else it is made. A file that cannot be used does no harm. */
export function kept(path: string, key: string, make: () => Uint8Array | null) {
  const head = new TextEncoder().encode(`${key}\0`);
  try {
    const held = readFileSync(path);
    if (head.every((byte, at) => byte === held[at])) return held.slice(head.length);
  } catch {}
  const made = make();
  if (!made) return null;
  const whole = new Uint8Array(head.length + made.length);
  whole.set(head);
  whole.set(made, head.length);
  try {
    // Another process may read it meanwhile.
    writeFileSync(`${path}.${process.pid}`, whole);
    renameSync(`${path}.${process.pid}`, path);
  } catch {}
  return made;
}
