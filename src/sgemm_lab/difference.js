// @ts-check
// What two texts have in common, line by line: Python's difflib.SequenceMatcher (autojunk off), held
// equal to it by a test. So a page marks the same lines as changed as the book does.

/**
 * A run of equal items: where it begins in either list, and how long it is.
 * @typedef {{ a: number, b: number, size: number }} Match
 */

/**
 * The runs that two lists have in common, in order: the longest first found, then those on either
 * side of it.
 * @param {string[]} a
 * @param {string[]} b
 */
export function matchingRuns(a, b) {
  /** @type {Map<string, number[]>} */
  const places = new Map();
  for (const [index, item] of b.entries()) places.set(item, [...(places.get(item) ?? []), index]);
  const waiting = [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }];
  /** @type {Match[]} */
  const found = [];
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    const { fromA, toA, fromB, toB } = part;
    const match = longest(a, places, part);
    if (!match.size) continue;
    found.push(match);
    waiting.push({ fromA, toA: match.a, fromB, toB: match.b });
    waiting.push({ fromA: match.a + match.size, toA, fromB: match.b + match.size, toB });
  }
  return found.sort((one, other) => one.a - other.a);
}

/**
 * The longest run within bounds; of several the one that begins first in `a`, then in `b`.
 * @param {string[]} a
 * @param {Map<string, number[]>} places of each item in the other list
 * @param {{ fromA: number, toA: number, fromB: number, toB: number }} bounds
 */
function longest(a, places, { fromA, toA, fromB, toB }) {
  let best = { a: fromA, b: fromB, size: 0 };
  /** @type {Map<number, number>} */
  let lengths = new Map(); // of the runs that end at an item of b and at the last item of a
  for (let i = fromA; i < toA; i += 1) {
    /** @type {Map<number, number>} */
    const now = new Map();
    for (const j of places.get(a[i]) ?? []) {
      if (j < fromB || j >= toB) continue;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      now.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = now;
  }
  return best;
}
