// @ts-check
// A measured card, kept: in the browser, and as a file that the reader saves and opens.

import { LabError } from "../../errors.js";
import { isMeasured } from "../../wgsl/form.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */

/** book.js knows it too: what was kept is shown when the page comes. */
const KEY = "sgemm-lab:card";

/** @returns {Measured | null} what was kept here last */
export function keptCard() {
  try {
    return readCard(localStorage.getItem(KEY) ?? "");
  } catch {
    return null; // kept by nobody, or not by us
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
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = null;
  }
  if (!isMeasured(found)) {
    throw new LabError(
      "This file is no measured card. Open one that this page saved, sgemm-lab-card.json.",
    );
  }
  return found;
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
