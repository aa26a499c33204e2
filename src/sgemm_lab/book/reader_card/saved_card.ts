// Storage of a measured card: in the browser, and as a file.

import { currentName } from "../../catalogue.ts";
import type { Measured } from "../../wgsl/form.ts";
import { isMeasured } from "../../wgsl/form.ts";
import { storedText, storeText } from "../storage.ts";

/** book.ts has it, too: it shows a stored card when a page loads. */
const KEY = "sgemm-lab:card";

/** The card stored last, with current names of programs. */
export function storedCard(): Measured | null {
  try {
    const found = JSON.parse(storedText(KEY));
    return isMeasured(found) ? renamed(found) : null;
  } catch {
    return null;
  }
}

export const storeCard = (measured: Measured) => storeText(KEY, JSON.stringify(measured));

export const deleteCard = () => storeText(KEY, "");

function renamed({ rungs, left_out, ...rest }: Measured): Measured {
  const current = <T extends { name: string }>(one: T) => ({ ...one, name: currentName(one.name) });
  const found: Measured = { ...rest, rungs: rungs.map(current) };
  if (left_out) found.left_out = left_out.map(current);
  return found;
}

export function downloadCard(measured: Measured) {
  const file = new Blob([`${JSON.stringify(measured, null, 1)}\n`], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "sgemm-lab-card.json";
  link.click();
  URL.revokeObjectURL(link.href);
}
