// @ts-check
// One step of a chapter on the reader's card: the program before it and its own, measured in turns.

import { html } from "../../widgets/shared/dom.js";
import { rowsOf } from "./compared.js";
import { Measuring } from "./measuring.js";
import { lineOf } from "./steps_told.js";

/** @typedef {import("./compared.js").BookCard} BookCard */

export class StepOnCard {
  /**
   * @param {HTMLElement} element
   * @param {string} name of the step
   * @param {import("../../wgsl/climb.js").Book} all
   * @param {BookCard} book
   */
  constructor(element, name, all, book) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(`[data-lab="${name}"]`);
    const button = /** @type {HTMLButtonElement} */ (part("measure"));
    const told = /** @type {HTMLElement} */ (part("told"));
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
