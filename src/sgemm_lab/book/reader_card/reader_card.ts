// "Measure my card": runs the ladder in WGSL on the reader's card, and compares it with the book's GPU.

import { LabError } from "../../errors.ts";
import type { Book } from "../../wgsl/climb.ts";
import type { Measured } from "../../wgsl/form.ts";
import { button, html } from "../../widgets/shared/dom.ts";
import type { BookCard } from "./compared.ts";
import { Measuring } from "./measuring.ts";
import {
  cardLink,
  clearLink,
  deleteCard,
  downloadCard,
  linkedCard,
  readCard,
  storeCard,
  storedCard,
} from "./saved_card.ts";
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
    else new ReaderCard(place, programs, book).start();
  }
}

class ReaderCard {
  measure;
  open;
  status;
  result;

  constructor(
    public element: HTMLElement,
    programs: Book,
    public book: BookCard,
  ) {
    const part = (name: string) => element.querySelector(`[data-lab="${name}"]`) as HTMLElement;
    this.measure = part("measure") as HTMLButtonElement;
    this.open = part("open") as HTMLButtonElement;
    this.status = part("told");
    this.result = part("result");
    new Measuring(this.measure, this.status, programs, (measured) => this.#keep(measured));
  }

  start() {
    this.open.addEventListener("click", () => this.#openFile());
    addEventListener("hashchange", () => this.#followLink());
    this.#showStored();
    this.#followLink();
    this.element.dataset.ready = "true";
    // What was pressed while the script came.
    const { pressed } = this.element.dataset;
    if (pressed === "measure") this.measure.click();
    if (pressed === "open") this.open.click();
  }

  #openFile() {
    const field = html("input", { type: "file", accept: "application/json,.json" });
    field.addEventListener("change", async () => {
      this.#offer("This file", async () => readCard((await field.files?.[0]?.text()) ?? ""));
    });
    field.click();
  }

  #followLink() {
    return this.#offer("This link", linkedCard);
  }

  /**
   * Show a card that came from elsewhere, and ask before it is saved.
   * @param from what brings it
   */
  async #offer(from: string, read: () => Promise<Measured | null>) {
    try {
      const measured = await read();
      if (!measured) return;
      const stored = storedCard();
      if (JSON.stringify(stored) === JSON.stringify(measured)) return this.#keep(measured);
      const instead = stored ? `, in place of ${stored.card} of ${day(stored)}` : "";
      this.status.replaceChildren(
        html("p", {}, `${from} brings a card: ${measured.card}, measured on ${day(measured)}. `),
        html("p", {}, `Shall this browser keep it${instead}? Until you say so, nothing is kept.`),
        buttonRow(
          button("Keep it", () => this.#keep(measured)),
          button("Do not keep it", () => this.#leave()),
        ),
      );
      this.#show(measured, false);
      this.element.scrollIntoView();
    } catch (fault) {
      if (!(fault instanceof LabError)) throw fault;
      this.status.textContent = fault.message;
    }
  }

  #keep(measured: Measured) {
    clearLink();
    storeCard(measured);
    this.status.replaceChildren();
    this.#show(measured, true);
  }

  /** Turn away from a card that came from elsewhere. */
  #leave() {
    clearLink();
    this.status.replaceChildren();
    this.#showStored();
    this.measure.focus();
  }

  #showStored() {
    const stored = storedCard();
    if (stored) this.#show(stored, true);
    else this.result.replaceChildren();
  }

  #forget() {
    deleteCard();
    this.result.replaceChildren();
    this.measure.focus();
  }

  /** @param isStored in this browser, where it can be forgotten */
  #show(measured: Measured, isStored: boolean) {
    const linked = html("div", { role: "status" });
    const buttons = buttonRow(
      button("Save as a file", () => downloadCard(measured)),
      button("Make a link", async () => linked.replaceChildren(...(await shownLink(measured)))),
      isStored && button("Forget", () => this.#forget()),
    );
    const shown = shownCard(measured, this.book, this.result.clientWidth);
    this.result.replaceChildren(...shown, buttons, linked);
  }
}

/** A link to a card, copied where the browser lets a page do so. */
async function shownLink(measured: Measured) {
  const link = await cardLink(measured);
  const copied = await navigator.clipboard?.writeText(link).then(
    () => true,
    () => false,
  );
  const field = html("input", { readonly: "", value: link, "aria-label": "Link to this card" });
  field.addEventListener("focus", () => field.select());
  const words = "The link holds the whole result. Who opens it is asked before it is kept.";
  return [html("p", {}, `${copied ? "Copied." : "Copy this."} ${words}`), field];
}

const buttonRow = (...buttons: (HTMLElement | false)[]) =>
  html("p", { class: "lab-card-buttons" }, ...buttons);

const day = ({ date }: Measured) => date.slice(0, 10);
