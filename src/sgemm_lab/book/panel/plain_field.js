// @ts-check
// A text area with marks behind its letters and line numbers beside them.

import { html } from "../../widgets/shared/dom.js";

/**
 * For each line the classes of its mark, "" where it has none.
 * @typedef {string[]} Marks
 *
 * What holds the letters.
 * @typedef {object} Field
 * @property {string} text
 * @property {boolean} readOnly
 * @property {() => void} focus
 * @property {(marks: Marks) => void} draw
 * @property {string} keys those that the reader should know of, in words
 *
 * What the reader does.
 * @typedef {{ edited: () => void, run: () => void }} Heard
 */

export class PlainField {
  /**
   * @param {HTMLElement} element has the text area, the marks and the numbers
   * @param {number} above lines of the file that stand before the first one
   * @param {Heard} heard
   */
  constructor(element, above, heard) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(name);
    this.area = /** @type {HTMLTextAreaElement} */ (part('[data-lab="editor"]'));
    this.marks = /** @type {HTMLElement} */ (part('[data-lab="marks"]'));
    this.numbers = /** @type {HTMLElement} */ (part(".lab-bench-numbers"));
    this.above = above;
    this.heard = heard;
    /** @type {Set<string>} what the reader is in the middle of */
    this.doing = new Set();
    this.area.addEventListener("input", () => heard.edited());
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

  /** @param {Marks} marks */
  draw(marks) {
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
