// What a chapter shows of the card that the browser has saved: in its closing boxes, labelled WGSL.

import type { BookCard } from "./compared.ts";
import { rowsOf } from "./compared.ts";
import { storedCard } from "./saved_card.ts";
import { tellSteps } from "./step_results.ts";

export function showInChapter(book: BookCard) {
  const measured = storedCard();
  if (measured) tellSteps(measured, book, rowsOf(measured, book));
}
