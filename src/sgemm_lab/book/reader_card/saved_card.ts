// Storage of a measured card: in the browser, as a file, and as a link.

import { currentName, withCurrentNames } from "../../catalogue.ts";
import { LabError } from "../../errors.ts";
import type { Measured } from "../../wgsl/form.ts";
import { isMeasured } from "../../wgsl/form.ts";
import { packed, unpacked } from "../packing.ts";
import { storedText, storeText } from "../storage.ts";

/** book.ts has it, too: it shows a stored card when a page loads. */
const KEY = "sgemm-lab:card";
/** book.ts knows how it begins. A whole measurement takes some 2,000 letters. */
const FRAGMENT = /^#card=([\w-]{0,50000})$/;

/** The card stored last. */
export const storedCard = () => parsed(storedText(KEY));

export const storeCard = (measured: Measured) => storeText(KEY, JSON.stringify(measured));

export const deleteCard = () => storeText(KEY, "");

/** What a file holds. Throws a LabError where it is no measured card. */
export function readCard(text: string): Measured {
  const found = parsed(text);
  if (!found) {
    throw new LabError(
      "This file is no measured card. Open one that this page saved, sgemm-lab-card.json.",
    );
  }
  return found;
}

/** A link to this page that brings the card along. */
export async function cardLink(measured: Measured) {
  return `${bareAddress()}#card=${await packed(JSON.stringify(measured))}`;
}

/**
 * The card that came with the page's address, null where none did. Throws a LabError where the
 * link holds something else.
 */
export async function linkedCard(): Promise<Measured | null> {
  if (!location.hash.startsWith("#card=")) return null;
  const letters = FRAGMENT.exec(location.hash)?.[1] ?? "";
  const found = parsed(await unpacked(letters).catch(() => ""));
  if (found) return found;
  throw new LabError(
    "The link holds no measured card. It may have been cut short on its way: copy all of it.",
  );
}

/** Take the card out of the page's address. */
export function clearLink() {
  if (location.hash.startsWith("#card=")) history.replaceState(null, "", bareAddress());
}

const bareAddress = () => location.href.replace(/#.*$/, "");

function parsed(text: string): Measured | null {
  try {
    const found = JSON.parse(text);
    return isMeasured(found) ? renamed(found) : null;
  } catch {
    return null;
  }
}

/** The card with current names of programs. */
function renamed({ rungs, left_out, smaller, ...rest }: Measured): Measured {
  const found: Measured = {
    ...rest,
    rungs: rungs.map((step) => ({ ...step, name: currentName(step.name) })),
  };
  if (left_out) {
    found.left_out = left_out.map((one) => ({ ...one, name: currentName(one.name) }));
  }
  if (smaller) {
    found.smaller = smaller.map((one) => ({
      ...one,
      seconds: withCurrentNames(one.seconds ?? {}),
    }));
  }
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
