// A text area with marks behind its letters and line numbers beside them.

import { html } from "../../widgets/shared/dom.ts";

/** For each line the classes of its mark, "" where it has none. */
export type Marks = string[];

/** What holds the letters. */
export interface Field {
  text: string;
  readOnly: boolean;
  focus: () => void;
  draw: (marks: Marks) => void;
  /** those that the reader should know of, in words */
  keys: string;
}

/** Called when the reader edits or runs. */
export interface Callbacks {
  edited: () => void;
  run: () => void;
}

export class PlainField {
  area;
  marks;
  numbers;
  /** what the reader is in the middle of */
  doing: Set<string> = new Set();

  /**
   * @param element has the text area, the marks and the numbers
   * @param above lines of the file that stand before the first one
   */
  constructor(
    element: HTMLElement,
    public above: number,
    public callbacks: Callbacks,
  ) {
    const part = (name: string) => element.querySelector(name) as HTMLElement;
    this.area = part('[data-lab="editor"]') as HTMLTextAreaElement;
    this.marks = part('[data-lab="marks"]');
    this.numbers = part(".lab-bench-numbers");
    this.area.addEventListener("input", () => callbacks.edited());
    this.area.addEventListener("keydown", (event) => this.typed(event));
    this.area.addEventListener("pointerdown", () => this.doing.add("press"));
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => this.doing.delete("press"));
    }
    this.area.addEventListener("compositionstart", () => this.doing.add("composition"));
    this.area.addEventListener("compositionend", () => this.doing.delete("composition"));
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
  }

  get readOnly() {
    return this.area.readOnly;
  }

  set readOnly(readOnly) {
    this.area.readOnly = readOnly;
  }

  focus() {
    this.area.focus();
  }

  /** Wait until the reader neither holds a button in it nor is in the middle of a letter. */
  async atRest() {
    while (this.doing.size) await new Promise(requestAnimationFrame);
  }

  draw(marks: Marks) {
    const mine = this.text.split("\n");
    const lines = mine.map((line, i) => {
      const comment = line.indexOf("//");
      const [code, words] =
        comment < 0 ? [line, ""] : [line.slice(0, comment), line.slice(comment)];
      const parts = [code, words && html("i", {}, words), "\n"];
      return html("span", { class: marks[i] || null }, ...parts);
    });
    this.marks.replaceChildren(...lines);
    this.numbers.textContent = mine.map((_, i) => this.above + 1 + i).join("\n");
    this.area.rows = mine.length;
  }

  typed(event: KeyboardEvent) {
    if (event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.callbacks.run();
      return;
    }
    const [from, to] = [this.area.selectionStart, this.area.selectionEnd];
    const indent = /[^\n]*$/.exec(this.text.slice(0, from))?.[0].match(/^ */)?.[0] ?? "";
    if (!indent || event.isComposing) return;
    event.preventDefault();
    this.area.setRangeText(`\n${indent}`, from, to, "end");
    this.callbacks.edited();
  }
}
