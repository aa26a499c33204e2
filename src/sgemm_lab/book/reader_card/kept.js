// @ts-check
// A measured card, kept: in the browser, as a file that the reader saves and opens, and as a link.

import { currentName, withCurrentNames } from "../../catalogue.js";
import { LabError } from "../../errors.js";
import { isMeasured } from "../../wgsl/form.js";
import { packed, unpacked } from "../packing.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */

/** book.js knows it too: what was kept is shown when the page comes. */
const KEY = "sgemm-lab:card";
/** book.js knows how it begins. A whole measurement takes some 2,000 letters. */
const FRAGMENT = /^#card=([\w-]{0,50000})$/;

/** @returns {Measured | null} what was kept here last */
export function keptCard() {
  try {
    return parsed(localStorage.getItem(KEY) ?? "");
  } catch {
    return null; // a browser that keeps nothing
  }
}

/** @param {Measured} measured */
export function keepCard(measured) {
  try {
    localStorage.setItem(KEY, JSON.stringify(measured));
  } catch {
    // A browser that keeps nothing still shows it.
  }
}

export function forgetCard() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Then there is nothing to forget.
  }
}

/**
 * What a file holds. Throws a LabError where it is no measured card.
 * @param {string} text
 * @returns {Measured}
 */
export function readCard(text) {
  const found = parsed(text);
  if (!found) {
    throw new LabError(
      "This file is no measured card. Open one that this page saved, sgemm-lab-card.json.",
    );
  }
  return found;
}

/**
 * A link to this page that brings the card along.
 * @param {Measured} measured
 */
export async function cardLink(measured) {
  return `${bareAddress()}#card=${await packed(JSON.stringify(measured))}`;
}

/**
 * The card that came with the page's address, null where none did. Throws a LabError where the
 * link holds something else.
 * @returns {Promise<Measured | null>}
 */
export async function linkedCard() {
  if (!location.hash.startsWith("#card=")) return null;
  const letters = FRAGMENT.exec(location.hash)?.[1] ?? "";
  const found = parsed(await unpacked(letters).catch(() => ""));
  if (found) return found;
  throw new LabError(
    "The link holds no measured card. It may have been cut short on its way: copy all of it.",
  );
}

/** Take the card out of the page's address. */
export function leaveLink() {
  if (location.hash.startsWith("#card=")) history.replaceState(null, "", bareAddress());
}

const bareAddress = () => location.href.replace(/#.*$/, "");

/**
 * @param {string} text
 * @returns {Measured | null}
 */
function parsed(text) {
  try {
    const found = JSON.parse(text);
    return isMeasured(found) ? renamed(found) : null;
  } catch {
    return null;
  }
}

/**
 * The card with current names of programs.
 * @param {Measured} found
 * @returns {Measured}
 */
function renamed({ rungs, left_out = [], smaller = [], ...rest }) {
  return {
    ...rest,
    rungs: rungs.map((rung) => ({ ...rung, name: currentName(rung.name) })),
    left_out: left_out.map((one) => ({ ...one, name: currentName(one.name) })),
    smaller: smaller.map((one) => ({ ...one, seconds: withCurrentNames(one.seconds ?? {}) })),
  };
}

/** @param {Measured} measured */
export function saveCard(measured) {
  const file = new Blob([`${JSON.stringify(measured, null, 1)}\n`], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "sgemm-lab-card.json";
  link.click();
  URL.revokeObjectURL(link.href);
}
