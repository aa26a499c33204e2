// @ts-check
// Behind the editor's letters: its lines, with marks on those that differ from the book's and on
// those that a verdict names.

import { matchingRuns } from "../../difference.js";
import { html } from "../../widgets/shared/dom.js";

/**
 * How a text differs from the book's: which of its lines are new, and before which lines of it
 * others are gone. All are indices from 0.
 * @param {string[]} book
 * @param {string[]} mine
 */
export function differences(book, mine) {
  const words = (/** @type {string} */ line) => line.trim().split(/\s+/).join(" ");
  const runs = matchingRuns(book.map(words), mine.map(words));
  /** @type {Map<number, number>} the line of the book that each of mine equals */
  const twins = new Map();
  const gone = new Set();
  let [a, b] = [0, 0];
  for (const run of [...runs, { a: book.length, b: mine.length, size: 0 }]) {
    if (run.a - a > run.b - b && book.slice(a, run.a).some((line) => line.trim())) gone.add(run.b);
    for (let i = 0; i < run.size; i += 1) twins.set(run.b + i, run.a + i);
    [a, b] = [run.a + run.size, run.b + run.size];
  }
  const changed = new Set(mine.flatMap((line, i) => (line.trim() && !twins.has(i) ? [i] : [])));
  return { changed, gone, twins };
}

/**
 * Draw the lines.
 * @param {HTMLElement} into
 * @param {string[]} mine
 * @param {ReturnType<typeof differences>} differing
 * @param {Set<number>} named by a verdict
 */
export function drawMarks(into, mine, { changed, gone }, named) {
  const lines = mine.map((line, i) => {
    const kinds = [
      named.has(i) && "is-named",
      changed.has(i) && "is-changed",
      gone.has(i) && "is-below-gone",
      gone.has(i + 1) && i === mine.length - 1 && "is-above-gone",
    ];
    const comment = line.indexOf("//");
    const [code, words] = comment < 0 ? [line, ""] : [line.slice(0, comment), line.slice(comment)];
    const parts = [code, words && html("i", {}, words), "\n"];
    return html("span", { class: kinds.filter(Boolean).join(" ") || null }, ...parts);
  });
  into.replaceChildren(...lines);
}
