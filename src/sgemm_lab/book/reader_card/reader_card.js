// @ts-check
// "Measure my card": runs the ladder in WGSL on the reader's card, and sets it beside the book's GPU.

import { LabError } from "../../errors.js";
import { openCard } from "../../wgsl/card.js";
import { climb } from "../../wgsl/climb.js";
import { html } from "../../widgets/shared/dom.js";
import { forgetCard, keepCard, keptCard, readCard, saveCard } from "./kept.js";
import { shownCard } from "./shown.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */
/** @typedef {import("../../wgsl/card.js").Card} Card */

const STOPPED = "Stopped. Nothing was kept.";
const HIDDEN =
  "Stopped, because you turned to another tab: browsers slow down pages that nobody sees. " +
  "Measure again, and stay here until it is done.";
const BROKEN = "The card did something that this page does not expect";

/**
 * Bring the place on the page to life.
 * @param {import("../../wgsl/climb.js").Book} programs
 * @param {import("./compared.js").BookCard} book
 */
export function setUp(programs, book) {
  /** @type {HTMLElement | null} */
  const element = document.querySelector('[data-lab="reader-card"]');
  if (element) new ReaderCard(element, programs, book).start();
}

class ReaderCard {
  /** @type {Card | null} that is being measured */
  #card = null;

  /**
   * @param {HTMLElement} element
   * @param {import("../../wgsl/climb.js").Book} programs
   * @param {import("./compared.js").BookCard} book
   */
  constructor(element, programs, book) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(`[data-lab="${name}"]`);
    this.element = element;
    this.programs = programs;
    this.book = book;
    this.measure = /** @type {HTMLButtonElement} */ (part("measure"));
    this.open = /** @type {HTMLButtonElement} */ (part("open"));
    this.told = /** @type {HTMLElement} */ (part("told"));
    this.result = /** @type {HTMLElement} */ (part("result"));
  }

  start() {
    this.measure.addEventListener("click", () => this.#clicked());
    this.open.addEventListener("click", () => this.#openFile());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#card?.stop(HIDDEN);
    });
    const kept = keptCard();
    if (kept) this.#show(kept, true);
    this.element.dataset.ready = "true";
    // What was pressed while the script came.
    const { pressed } = this.element.dataset;
    if (pressed === "measure") this.measure.click();
    if (pressed === "open") this.open.click();
  }

  async #clicked() {
    if (this.#card) return this.#card.stop(STOPPED);
    this.measure.disabled = true;
    try {
      this.#card = await openCard();
      this.measure.disabled = false;
      this.measure.textContent = "Stop";
      const measured = await this.#climbed(this.#card);
      keepCard(measured);
      this.told.replaceChildren();
      this.#show(measured, true);
    } catch (fault) {
      if (!(fault instanceof LabError)) console.error(fault);
      this.told.textContent = fault instanceof LabError ? fault.message : `${BROKEN}: ${fault}`;
    }
    this.#card?.close();
    this.#card = null;
    this.measure.disabled = false;
    this.measure.textContent = "Measure my card";
  }

  /** @param {Card} card */
  #climbed(card) {
    const bar = html("progress", { max: 1, value: 0, "aria-label": "How much is measured" });
    const text = html("span", {}, "");
    this.told.replaceChildren(html("p", {}, html("b", {}, card.name), ": ", text), bar);
    return climb(card, this.programs, (words, share) => {
      text.textContent = `${words} …`;
      bar.value = share;
    });
  }

  #openFile() {
    const field = html("input", { type: "file", accept: "application/json,.json" });
    field.addEventListener("change", async () => {
      try {
        const measured = readCard((await field.files?.[0]?.text()) ?? "");
        this.told.replaceChildren();
        this.#show(measured, false);
      } catch (fault) {
        if (!(fault instanceof LabError)) throw fault;
        this.told.textContent = fault.message;
      }
    });
    field.click();
  }

  /**
   * @param {Measured} measured
   * @param {boolean} isKept in this browser, where it can be forgotten
   */
  #show(measured, isKept) {
    const save = html("button", { type: "button" }, "Save as a file");
    save.addEventListener("click", () => saveCard(measured));
    const forget = html("button", { type: "button" }, "Forget");
    forget.addEventListener("click", () => {
      forgetCard();
      this.result.replaceChildren();
      this.measure.focus();
    });
    const buttons = html("p", { class: "lab-card-buttons" }, save, isKept && forget);
    this.result.replaceChildren(...shownCard(measured, this.book), buttons);
  }
}
