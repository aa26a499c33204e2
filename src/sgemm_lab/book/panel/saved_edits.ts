// A reader's edits: saved in the browser, and in the page's address, so that one can be sent as a link.

import { packed, unpacked } from "../packing.ts";
import { storedEntries, storeText } from "../storage.ts";

const KEY = "sgemm-lab:edits";
const FRAGMENT = /^#edit=([\w-]+):([\w-]*)$/;

/** The text that was saved for a kernel. */
export function savedEdit(name: string): string | null {
  const text = storedEntries<string>(KEY)[name];
  return typeof text === "string" ? text : null;
}

/** Keep a text, or with null forget it, here and in the address. */
export async function keepEdit(name: string, text: string | null) {
  const edits = storedEntries<string>(KEY);
  if (text === null) delete edits[name];
  else edits[name] = text;
  storeText(KEY, JSON.stringify(edits));
  const bare = location.href.replace(/#.*$/, "");
  const fragment = text === null ? "" : `#edit=${name}:${await packed(text)}`;
  if (fragment || FRAGMENT.test(location.hash)) history.replaceState(null, "", bare + fragment);
}

/** The text that the page's address holds for a kernel. */
export async function linkedEdit(name: string): Promise<string | null> {
  const match = FRAGMENT.exec(location.hash);
  if (!match || match[1] !== name) return null;
  try {
    return await unpacked(match[2]);
  } catch {
    return null; // cut short on its way
  }
}
