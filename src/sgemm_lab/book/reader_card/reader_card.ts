// "Measure my card": runs the ladder in WGSL on the reader's card, and compares it with the book's GPU.

import type { Book } from "../../wgsl/climb.ts";
import type { Measured } from "../../wgsl/form.ts";
import { button, html } from "../../widgets/shared/dom.ts";
import type { BookCard } from "./compared.ts";
import { Measuring } from "./measuring.ts";
import { deleteCard, downloadCard, storeCard, storedCard } from "./saved_card.ts";
import { shownCard } from "./shown.ts";
import { StepOnCard } from "./step_on_card.ts";

/**
 * Bring the places on the page to life: the whole ladder on the start page, a step in a chapter.
 */
export function setUp(programs: Book, book: BookCard) {
  const places: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="reader-card"]');
  for (const place of places) {
    const { program } = place.dataset;
    if (program) new StepOnCard(place, program, programs, book);
    else wholeLadder(place, programs, book);
  }
}

function wholeLadder(element: HTMLElement, programs: Book, book: BookCard) {
  const part = (name: string) => element.querySelector(`[data-lab="${name}"]`) as HTMLElement;
  const [measure, status, result] = [part("measure"), part("told"), part("result")];
  const show = (measured: Measured) => {
    const forget = button("Forget", () => {
      deleteCard();
      result.replaceChildren();
      measure.focus();
    });
    const save = button("Save as a file", () => downloadCard(measured));
    const buttons = html("p", { class: "lab-card-buttons" }, save, forget);
    result.replaceChildren(...shownCard(measured, book), buttons);
  };
  new Measuring(measure as HTMLButtonElement, status, programs, (measured) => {
    storeCard(measured);
    status.replaceChildren();
    show(measured);
  });
  const stored = storedCard();
  if (stored) show(stored);
  element.dataset.ready = "true";
  // It was pressed while the script came.
  if (element.dataset.pressed === "measure") measure.click();
}
