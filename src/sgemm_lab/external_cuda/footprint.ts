// How much of its arrays a launch uses. At the usual sizes that often is a product of some of them; at
// sizes that no block divides it is the same product, unless a guard lets too much or too little through.

import { OUT_OF_BOUNDS } from "../simulator/hazard_log.ts";
import { LOADED, STORED } from "../simulator/watches/written.ts";
import { comma } from "../text.ts";
import { isArray, textsOf } from "./arguments.ts";
import { sizesOf } from "./assumed_launch_search.ts";
import { bytesOf } from "./elements.ts";
import { elementIn, multiplies, product, shapeAt } from "./launch.ts";
import type { Done, OtherSizes } from "./one_launch.ts";
import { type Finding, ofKernel, WRONG_RESULT } from "./severity.ts";
import { isStride } from "./usual_numbers.ts";

/** Elements for each one that sizes count, such as those of a pixel. */
const FACTORS = [1, 2, 3, 4];
/** Most elements more than the sizes come to, as at the edges of a stencil: in several launches, in one. */
const [MOST_MORE, MOST_ALONE] = [8, 2];

/** Warnings about elements that a launch leaves out at `odd` sizes, or uses behind the last. */
export function atEdges(done: Done, { done: odd, launched }: OtherSizes, more: Done[]): Finding[] {
  if (multiplies(done.prepared) || odd.result.hazards.length) return [];
  // Rows or matrices that lie a stride apart have elements that sizes do not count.
  const { fields } = done.prepared;
  if (fields.some((one) => isStride(one, fields))) return [];
  return done.prepared.given.flatMap((one, place): Finding[] => {
    if (!isArray(one) || one.start || one.modes) return [];
    for (const mark of [STORED, LOADED]) {
      const known = [done, ...more].map((run) => ({ run, ...usedIn(run, place, mark) }));
      const { count, end } = usedIn(odd, place, mark);
      const all = wholesOf(known, odd);
      const isFull = mark === STORED && known.every((used) => used.count === used.end);
      // A grid with too few threads is for withMoreBlocks.
      const each = Math.ceil(known[0].count / threadsIn(done));
      const isShort =
        isFull && count < Math.min(...all) && each * threadsIn(odd) >= Math.min(...all);
      const off = isShort ? Math.min(...all) - count : end - Math.max(...all);
      // A grid that is assumed may be blocks too small or too large.
      if (!all.length || off <= 0 || (!launched && off > MOST_MORE)) continue;
      const verb = mark === STORED ? "writes" : "reads";
      const what = isShort
        ? `leaves out elements of ${one.name}: it writes ${comma(count)} of ${comma(count + off)}`
        : `${verb} element ${comma(end - 1)} of ${one.name}, which by the sizes has ${comma(end - off)}`;
      const message = `The launch ${what}, with ${textsOf(odd.prepared.given)}. It does not where a block divides them.`;
      const kind = isShort ? WRONG_RESULT : OUT_OF_BOUNDS;
      return [ofKernel(done.prepared, "warning", kind, message, one.name)];
    }
    return [];
  });
}

const threadsIn = ({ prepared, size }: Done) => {
  const { grid, block } = shapeAt(prepared, size);
  return product([...grid, ...block]);
};

/** How many elements of an array a launch uses, and where those end. */
function usedIn({ prepared, result }: Done, place: number, mark: number) {
  const one = prepared.given[place];
  const marks = result.watched.written?.[one.name] ?? new Uint8Array(0);
  const count = marks.reduce((sum, own) => sum + Number((own & mark) > 0), 0);
  const end = marks.findLastIndex((own) => (own & mark) > 0) + 1;
  const bytes = bytesOf(elementIn(prepared, one));
  return { count: Math.ceil(count / bytes), end: Math.ceil(end / bytes) };
}

/** What the sizes of `odd` come to in each product that, with some elements more, is what others use. */
function wholesOf(known: { run: Done; end: number }[], odd: Done): number[] {
  const own = sizesOf(odd);
  const productOf = (run: Done, set: number) =>
    product(sizesOf(run).map(([, size], at) => ((set >> at) & 1 ? size : 1)));
  const most = known.length > 1 ? MOST_MORE : MOST_ALONE;
  if (known[0].end <= MOST_MORE) return [];
  const sets = Array.from({ length: 2 ** own.length - 1 }, (_, at) => at + 1);
  return sets.flatMap((set) =>
    FACTORS.flatMap((factor) => {
      const [more, ...same] = known.map(({ run, end }) => end - factor * productOf(run, set));
      const isKnown = Math.abs(more) <= most && same.every((one) => one === more);
      return isKnown ? factor * productOf(odd, set) + more : [];
    }),
  );
}
