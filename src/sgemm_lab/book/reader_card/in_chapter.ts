// What a chapter shows of the card that the browser has saved: in its closing boxes, after its
// rooflines and after its plots of speed over size. Always labelled WGSL.

import type { BookCard } from "./compared.ts";
import { rowsOf } from "./compared.ts";
import { addRooflines } from "./rooflines.ts";
import { storedCard } from "./saved_card.ts";
import type { Curves } from "./speeds.ts";
import { addSpeeds } from "./speeds.ts";
import { tellSteps } from "./step_results.ts";

export function showInChapter(book: BookCard, curves: Curves) {
  const measured = storedCard();
  const rows = measured ? rowsOf(measured, book) : [];
  if (!measured || !rows.length) return;
  tellSteps(measured, book, rows);
  addSpeeds(measured, book, rows, curves);
  // Rooflines are drawn by the page's own script, which may come later.
  if (document.readyState === "complete") addRooflines(measured, rows);
  else addEventListener("load", () => addRooflines(measured, rows));
}
