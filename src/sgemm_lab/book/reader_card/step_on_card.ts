// One step of a chapter on the reader's card: the program before it and its own, measured in turns.

import type { Book } from "../../wgsl/climb.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { BookCard } from "./compared.ts";
import { rowsOf } from "./compared.ts";
import { Measuring } from "./measuring.ts";
import { lineOf } from "./step_results.ts";

export class StepOnCard {
  /** @param name of the step */
  constructor(element: HTMLElement, name: string, all: Book, book: BookCard) {
    const part = (name: string) => element.querySelector(`[data-lab="${name}"]`) as HTMLElement;
    const button = part("measure") as HTMLButtonElement;
    const told = part("told");
    const parent = book.steps.find((step) => step.name === name)?.parent ?? "";
    const bases = [parent, name].map((one) => one.split(":")[0]);
    const programs = all.programs.filter((one) => bases.includes(one.name));
    new Measuring(button, told, { ...all, programs }, (measured) => {
      const rows = new Map(rowsOf(measured, book).map((row) => [row.step.name, row]));
      const [now, before] = [rows.get(name), rows.get(parent)];
      if (now && before)
        told.replaceChildren(html("p", {}, ...lineOf(measured, book, now, before)));
    });
    element.dataset.ready = "true";
    if (element.dataset.pressed === "measure") button.click();
  }
}
