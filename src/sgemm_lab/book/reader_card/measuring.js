// @ts-check
// A button that measures the reader's card, and says how far it is. Pressed again, it stops.

import { LabError } from "../../errors.js";
import { openCard } from "../../wgsl/card.js";
import { climb } from "../../wgsl/climb.js";
import { html } from "../../widgets/shared/dom.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */
/** @typedef {import("../../wgsl/card.js").Card} Card */

const STOPPED = "Stopped. Nothing was kept.";
const HIDDEN =
  "Stopped, because you turned to another tab: browsers slow down pages that nobody sees. " +
  "Measure again, and stay here until it is done.";
const BROKEN = "The card did something that this page does not expect";

export class Measuring {
  /** @type {Card | null} that is being measured */
  #card = null;
  #told;
  #programs;
  #heard;

  /**
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} told where progress and faults are said
   * @param {import("../../wgsl/climb.js").Book} programs to measure
   * @param {(measured: Measured) => void} heard what was measured
   */
  constructor(button, told, programs, heard) {
    this.button = button;
    this.#told = told;
    this.#programs = programs;
    this.#heard = heard;
    button.addEventListener("click", () => this.toggle());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#card?.stop(HIDDEN);
    });
  }

  /** Begin to measure, or stop. */
  async toggle() {
    if (this.#card) return this.#card.stop(STOPPED);
    const button = this.button;
    const words = button.textContent;
    button.disabled = true;
    try {
      this.#card = await openCard();
      button.disabled = false;
      button.textContent = "Stop";
      this.#heard(await this.#climbed(this.#card));
    } catch (fault) {
      if (!(fault instanceof LabError)) console.error(fault);
      this.#told.textContent = fault instanceof LabError ? fault.message : `${BROKEN}: ${fault}`;
    }
    this.#card?.close();
    this.#card = null;
    button.disabled = false;
    button.textContent = words;
  }

  /** @param {Card} card */
  #climbed(card) {
    const bar = html("progress", { max: 1, value: 0, "aria-label": "How much is measured" });
    const text = html("span", {}, "");
    this.#told.replaceChildren(html("p", {}, html("b", {}, card.name), ": ", text), bar);
    return climb(card, this.#programs, (words, share) => {
      text.textContent = `${words} …`;
      bar.value = share;
    });
  }
}
