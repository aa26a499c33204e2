// The place where code is typed. At first it is a text area; when the reader turns to it, or a line
// has to be marked, CodeMirror takes its place.

import { part } from "../page_elements.ts";
import type { Callbacks, Field } from "./codemirror.ts";
import { differences, lineKinds } from "./marks.ts";
import { script } from "./worker.ts";

/** The editor of a panel or of an exercise. */
export class Editor {
  #named: Set<number> = new Set();
  #loading = false;
  /** what the reader is in the middle of: a press of a button, a letter of several keys */
  doing: Set<string> = new Set();

  code = this.element.querySelector(".lab-bench-code") as HTMLElement;
  keys = part(this.element, "keys");
  area = this.code.querySelector("textarea") as HTMLTextAreaElement;
  first = this.area.defaultValue;
  field: Pick<Field, "value" | "readOnly" | "focus"> & Partial<Field> = this.area;

  /**
   * @param element has the text area and the line numbers
   * @param above lines of the file that stand before the first one
   */
  constructor(
    public element: HTMLElement,
    public above: number,
    public callbacks: Callbacks,
  ) {
    const on = (name: string, react: (event: Event) => void) =>
      this.area.addEventListener(name, react);
    on("input", () => callbacks.edited());
    on("keydown", (event) => {
      const { key, ctrlKey, metaKey } = event as KeyboardEvent;
      if (key !== "Enter" || !(ctrlKey || metaKey)) return;
      event.preventDefault();
      callbacks.run();
    });
    on("pointerdown", () => this.doing.add("press"));
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => this.doing.delete("press"));
    }
    on("compositionstart", () => this.doing.add("composition"));
    on("compositionend", () => this.doing.delete("composition"));
    for (const event of ["focusin", "pointerenter"]) {
      this.code.addEventListener(event, () => this.load());
    }
    if (this.code.matches(":focus-within, :hover")) this.load();
  }

  get text() {
    return this.field.value;
  }

  set text(text) {
    this.field.value = text;
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
   * Mark lines.
   * @param named lines of the file that a verdict names
   */
  draw(named: Set<number>) {
    this.#named = named;
    const mine = this.text.split("\n");
    const differing = differences(this.first.split("\n"), mine);
    const here = new Set([...named].map((line) => line - this.above - 1));
    const kinds = lineKinds(mine.length, differing, here);
    if (kinds.some(Boolean)) this.load();
    this.field.draw?.(kinds);
    if (here.size) this.field.reveal?.(Math.min(...here));
  }

  /** Let CodeMirror take the place of the text area. */
  async load() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      await script("panel-code.js");
    } catch {
      this.#loading = false; // the network is gone: what is there goes on, and is asked again
      return;
    }
    while (this.doing.size) await new Promise(requestAnimationFrame);
    this.field = window.labCodeField(this.code, this.area, this.above, this.callbacks);
    this.draw(this.#named);
    this.keys.textContent = this.field.keys ?? "";
  }
}
