// The place where code is typed. At first it is a text area; when the reader turns to it, CodeMirror
// takes its place, where the site has it.

import { differences, lineKinds } from "./marks.ts";
import type { Callbacks, Field } from "./plain_field.ts";
import { PlainField } from "./plain_field.ts";
import { script } from "./worker.ts";

/** The editor of a panel or of an exercise. */
export class Editor {
  #named: Set<number> = new Set();
  #loading = false;

  code: HTMLElement;
  keys;
  first;
  field: Pick<Field, "text" | "readOnly" | "focus" | "draw">;

  /**
   * @param element has the text area, the marks and the numbers
   * @param above lines of the file that stand before the first one
   */
  constructor(
    element: HTMLElement,
    public above: number,
    public callbacks: Callbacks,
  ) {
    this.code = element.querySelector(".lab-bench-code") as HTMLElement;
    this.keys = element.querySelector('[data-lab="keys"]') as HTMLElement;
    const plain = new PlainField(this.code, above, callbacks);
    this.first = plain.area.defaultValue;
    this.field = plain;
    const load = () => this.load(plain);
    for (const event of ["focusin", "pointerenter"]) this.code.addEventListener(event, load);
    if (this.code.matches(":focus-within, :hover")) load();
  }

  get text() {
    return this.field.text;
  }

  set text(text) {
    this.field.text = text;
  }

  set readOnly(readOnly: boolean) {
    this.field.readOnly = readOnly;
  }

  focus() {
    this.field.focus();
  }

  /** Whether nothing has been changed. */
  get untouched() {
    return this.text === this.first;
  }

  /**
   * Draw lines, numbers and marks; gives how many lines there are.
   * @param named lines of the file that a verdict names
   */
  draw(named: Set<number>) {
    this.#named = named;
    const mine = this.text.split("\n");
    const differing = differences(this.first.split("\n"), mine);
    const here = new Set([...named].map((line) => line - this.above - 1));
    this.field.draw(lineKinds(mine.length, differing, here));
    return mine.length;
  }

  /** Let CodeMirror take the place of the text area. */
  async load(plain: PlainField) {
    if (this.#loading) return;
    this.#loading = true;
    try {
      await script("panel-code.js");
    } catch {
      this.#loading = false; // the network is gone: what is there goes on, and is asked again
      return;
    }
    if (!window.labCodeField) return;
    await plain.atRest();
    const field = window.labCodeField(this.code, plain.area, this.above, this.callbacks);
    this.field = field;
    this.draw(this.#named);
    this.keys.textContent = field.keys;
  }
}
