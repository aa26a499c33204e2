// What two texts have in common, line by line: Python's difflib.SequenceMatcher (autojunk off), held
// equal to it by a test. So a page marks the same lines as changed as the book does.

/** A run of equal items: where it begins in either list, and how long it is. */
interface Match {
  a: number;
  b: number;
  size: number;
}

/**
 * The runs that two lists have in common, in order: the longest first found, then those on either
 * side of it.
 */
export function matchingRuns(a: string[], b: string[]) {
  const places: Map<string, number[]> = new Map();
  for (const [index, item] of b.entries()) places.set(item, [...(places.get(item) ?? []), index]);
  const waiting = [{ fromA: 0, toA: a.length, fromB: 0, toB: b.length }];
  const found: Match[] = [];
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
 * @param places of each item in the other list
 */
function longest(
  a: string[],
  places: Map<string, number[]>,
  { fromA, toA, fromB, toB }: { fromA: number; toA: number; fromB: number; toB: number },
) {
  let best = { a: fromA, b: fromB, size: 0 };
  let lengths: Map<number, number> = new Map(); // of the runs that end at an item of b and at the last item of a
  for (let i = fromA; i < toA; i += 1) {
    const now: Map<number, number> = new Map();
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
