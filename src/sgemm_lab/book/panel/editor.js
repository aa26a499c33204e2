// @ts-check
// The place where code is typed: its letters, behind them the marks, and line numbers beside them.

import { differences, drawMarks } from "./marks.js";

/** The editor of a panel or of an exercise. */
export class Editor {
  /**
   * @param {HTMLElement} element has the text area, the marks and the numbers
   * @param {number} above lines of the file that stand before the first one
   * @param {{ edited: () => void, run: () => void }} heard what the reader does
   */
  constructor(element, above, heard) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(name);
    this.area = /** @type {HTMLTextAreaElement} */ (part('[data-lab="editor"]'));
    this.marks = /** @type {HTMLElement} */ (part('[data-lab="marks"]'));
    this.numbers = /** @type {HTMLElement} */ (part(".lab-bench-numbers"));
    this.above = above;
    this.heard = heard;
    this.first = this.area.defaultValue;
    this.area.addEventListener("input", () => heard.edited());
    this.area.addEventListener("keydown", (event) => this.typed(event));
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
  }

  /** Whether nothing has been changed. */
  get untouched() {
    return this.text === this.first;
  }

  /**
   * Draw lines, numbers and marks; gives how many lines there are.
   * @param {Set<number>} named lines of the file that a verdict names
   */
  draw(named) {
    const mine = this.text.split("\n");
    const differing = differences(this.first.split("\n"), mine);
    drawMarks(
      this.marks,
      mine,
      differing,
      new Set([...named].map((line) => line - this.above - 1)),
    );
    this.numbers.textContent = mine.map((_, i) => this.above + 1 + i).join("\n");
    this.area.rows = mine.length;
    return mine.length;
  }

  /** @param {KeyboardEvent} event */
  typed(event) {
    if (event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.heard.run();
      return;
    }
    const [from, to] = [this.area.selectionStart, this.area.selectionEnd];
    const indent = /[^\n]*$/.exec(this.text.slice(0, from))?.[0].match(/^ */)?.[0] ?? "";
    if (!indent || event.isComposing) return;
    event.preventDefault();
    this.area.setRangeText(`\n${indent}`, from, to, "end");
    this.heard.edited();
  }
}
