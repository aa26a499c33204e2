// In the closing box of a step: what the step brought on the card that the browser keeps.

import { number, percent, sizeText } from "../../text.ts";
import type { Measured } from "../../wgsl/form.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { BookCard, Row } from "./compared.ts";
import { helpedWhere, TOO_FAR_APART } from "./compared.ts";

const VERDICTS = {
  both: "It helps on both.",
  here: "It helped here and not there.",
  there: "It helped there and not here.",
  neither: "It helps on neither.",
};

/** Add a line to each closing box on the page whose step was measured on the saved card. */
export function tellSteps(measured: Measured, book: BookCard, all: Row[]) {
  const rows = new Map(all.map((row) => [row.step.name, row]));
  const boxes: NodeListOf<HTMLElement> = document.querySelectorAll(".lab-closing[data-program]");
  for (const box of boxes) {
    const row = rows.get(box.dataset.program ?? "");
    const before = rows.get(row?.step.parent ?? "");
    if (row && before) addLine(box, lineOf(measured, book, row, before));
  }
}

/** A line that looks as those of the box: its last one, said otherwise. */
function addLine(box: HTMLElement, words: (string | HTMLElement)[]) {
  const last = box.querySelector("dl > :last-child");
  const line = last?.cloneNode(true);
  if (!last || !(line instanceof HTMLElement)) return;
  line.classList.add("lab-card-step");
  line.querySelector("dt")?.replaceChildren("On your card");
  line.querySelector("dd")?.replaceChildren(...words);
  last.after(line);
}

/**
 * What a step brought, in words.
 * @param before the step that it builds on
 */
export function lineOf(measured: Measured, book: BookCard, row: Row, before: Row) {
  const [now, old] = [row.mine.gflops, before.mine.gflops];
  const there = row.cuda?.factor;
  const apart = Math.max(row.spread, before.spread);
  const where = helpedWhere(row);
  const verdict =
    apart > TOO_FAR_APART
      ? `The samples here differ by ${percent(apart)}, too much to tell what the step gains.`
      : where && VERDICTS[where];
  return [
    html("strong", {}, `${measured.card}, WGSL`),
    ` at ${sizeText([measured.size])}: ${number(now)} ÷ ${number(old)} GFLOP/s = ` +
      `${(now / old).toFixed(2)} times “${before.step.title}”.`,
    there ? ` On the ${book.name} in CUDA: ${there.toFixed(2)} times.` : "",
    verdict ? ` ${verdict}` : "",
  ];
}
