// @ts-check
// What a chapter shows of the card that the browser keeps: in its closing boxes, beside its
// rooflines and beside its plots of speed over size. Always labelled WGSL.

import { rowsOf } from "./compared.js";
import { keptCard } from "./kept.js";
import { addRooflines } from "./rooflines.js";
import { addSpeeds } from "./speeds.js";
import { tellSteps } from "./steps_told.js";

/**
 * @param {import("./compared.js").BookCard} book
 * @param {import("./speeds.js").Curves} curves
 */
export function showInChapter(book, curves) {
  const measured = keptCard();
  const rows = measured ? rowsOf(measured, book) : [];
  if (!measured || !rows.length) return;
  tellSteps(measured, book, rows);
  addSpeeds(measured, book, rows, curves);
  // Rooflines are drawn by the page's own script, which may come later.
  if (document.readyState === "complete") addRooflines(measured, rows);
  else addEventListener("load", () => addRooflines(measured, rows));
}
