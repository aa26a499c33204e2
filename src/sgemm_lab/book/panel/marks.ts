// Which lines of the editor are marked: those that differ from the book's, and those that a verdict
// names.

import { matchingRuns } from "../../difference.ts";

/**
 * How a text differs from the book's: which of its lines are new, and before which lines of it
 * others are gone. All are indices from 0.
 */
export function differences(book: string[], mine: string[]) {
  const words = (line: string) => line.trim().split(/\s+/).join(" ");
  const runs = matchingRuns(book.map(words), mine.map(words));
  /** the line of the book that each of mine equals, or replaces where as many lines are new as gone */
  const twins: Map<number, number> = new Map();
  const changed: Set<number> = new Set();
  const gone = new Set();
  let [a, b] = [0, 0];
  for (const run of [...runs, { a: book.length, b: mine.length, size: 0 }]) {
    if (run.a - a > run.b - b && book.slice(a, run.a).some((line) => line.trim())) gone.add(run.b);
    for (let i = b; i < run.b; i += 1) {
      if (mine[i].trim()) changed.add(i);
      if (run.a - a === run.b - b) twins.set(i, a + i - b);
    }
    for (let i = 0; i < run.size; i += 1) twins.set(run.b + i, run.a + i);
    [a, b] = [run.a + run.size, run.b + run.size];
  }
  return { changed, gone, twins };
}

/**
 * The classes of each line's mark, "" where it has none.
 * @param named by a verdict
 */
export function lineKinds(
  lines: number,
  { changed, gone }: Pick<ReturnType<typeof differences>, "changed" | "gone">,
  named: Set<number>,
) {
  return Array.from({ length: lines }, (_, i) =>
    [
      named.has(i) && "is-named",
      changed.has(i) && "is-changed",
      gone.has(i) && "is-below-gone",
      gone.has(i + 1) && i === lines - 1 && "is-above-gone",
    ]
      .filter(Boolean)
      .join(" "),
  );
}
