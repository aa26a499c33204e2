// A button that measures the reader's card, and says how far it is. Pressed again, it stops.

import { LabError } from "../../errors.ts";
import type { Card } from "../../wgsl/card.ts";
import { openCard } from "../../wgsl/card.ts";
import type { Book } from "../../wgsl/climb.ts";
import { climb } from "../../wgsl/climb.ts";
import type { Measured } from "../../wgsl/form.ts";
import { html } from "../../widgets/shared/dom.ts";

const STOPPED = "Stopped. Nothing was saved.";
const HIDDEN =
  "Stopped, because you turned to another tab: browsers slow down pages in the background. " +
  "Measure again, and stay here until it is done.";
const BROKEN = "The card did something that this page does not expect";

export class Measuring {
  /** that is being measured */
  #card: Card | null = null;
  #told;
  #programs;
  #heard;

  /**
   * @param told where progress and faults are said
   * @param programs to measure
   * @param heard what was measured
   */
  constructor(
    public button: HTMLButtonElement,
    told: HTMLElement,
    programs: Book,
    heard: (measured: Measured) => void,
  ) {
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

  #climbed(card: Card) {
    const bar = html("progress", { max: 1, value: 0, "aria-label": "How much is measured" });
    const text = html("span", {}, "");
    this.#told.replaceChildren(html("p", {}, html("b", {}, card.name), ": ", text), bar);
    return climb(card, this.#programs, (words, share) => {
      text.textContent = `${words} …`;
      bar.value = share;
    });
  }
}
