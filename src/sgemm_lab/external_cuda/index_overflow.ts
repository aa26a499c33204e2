// Index overflow: the size at which a kernel's indices overflow their type, or its grid a limit.
//
// Matrices of 46,341 rows are too large to simulate, but an index such as row · N + col is quadratic in
// the size. The kernel runs at three small sizes, in the blocks at the corners of its grid; three values
// of each narrow number in an address determine its quadratic.

import { orNull } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { MOST_BLOCKS_YZ } from "../simulator/limits.py";
import type { WatchName } from "../simulator/watches/watches.ts";
import { comma } from "../text.ts";
import { arraysAt } from "./initial_values.ts";
import type { Prepared, Ran, Settings } from "./launch.ts";
import { brief, multiplies, rawShape, run } from "./launch.ts";

/** Square sizes, evenly apart, that the tiles in use divide. */
const SIDES = [128, 256, 384];
/** The largest size looked at: its three square matrices of floats take 206 GB. */
const LARGEST = 131_072;
/** Seconds that one of the small runs may take; a kernel that needs more is not looked at. */
const SECONDS = 5;

/** An index or a grid that overflows for large matrices. */
export interface IndexOverflow {
  kind: "index" | "grid";
  /** the smallest M = N = K at which it overflows */
  side: number;
  /** the access whose address has the narrow index */
  file: string | null;
  line: number | null;
  message: string;
}

/** The overflows of a product at large sizes, the smallest size first. */
export function indexOverflow(prepared: Prepared, settings: Settings): IndexOverflow[] {
  if (!multiplies(prepared)) return [];
  const found = [...ofGrid(prepared), ...ofIndices(prepared, settings)];
  return found.sort((one, other) => one.side - other.side);
}

/** The first size at which the grid has too many blocks along y or z. */
function ofGrid(prepared: Prepared): IndexOverflow[] {
  const isTooMany = (side: number) => {
    const [, ...more] = orNull(() => rawShape(prepared, [side, side, side]).grid) ?? [];
    return Math.max(...more) > MOST_BLOCKS_YZ;
  };
  if (!isTooMany(LARGEST)) return [];
  const side = firstAbove(0, LARGEST, isTooMany);
  const message =
    `From M = N = K = ${comma(side)} on the grid has more than ${comma(MOST_BLOCKS_YZ)} blocks along ` +
    "y or z, which no GPU takes. Put the larger number of blocks along x.";
  return [{ kind: "grid", side, file: null, line: null, message }];
}

/** The first number above `low` for which something holds; it holds for `high`. */
function firstAbove(low: number, high: number, holds: (one: number) => boolean) {
  let [below, above] = [low, high];
  while (below + 1 < above) {
    const half = Math.floor((below + above) / 2);
    if (holds(half)) above = half;
    else below = half;
  }
  return above;
}

type Narrow = NonNullable<Ran["result"]["watched"]["widest_indices"]>;

/** The narrow numbers in addresses at some sizes; none where one cannot be run. */
function narrowIn(prepared: Prepared, settings: Settings): Narrow[] {
  const watch: WatchName[] = ["widest_indices"];
  const quiet = { ...brief(settings, SECONDS), checkHazards: false, watch };
  const found = orNull(() =>
    SIDES.map((side) => {
      const size: Size = [side, side, side];
      const only = cornersOf(rawShape(prepared, size).grid);
      const ran = run(prepared, size, arraysAt(prepared, size), { ...quiet, only });
      return ran.result.watched.widest_indices ?? [];
    }),
  );
  return found ?? [];
}

/** Where each narrow number leaves what its type holds. */
const leavingIn = (runs: Narrow[]) =>
  (runs[0] ?? []).flatMap((narrow) => {
    const { location, bits, most, readAs } = narrow;
    const values = runs.map((all) => {
      const same = all.find(
        (one) =>
          `${one.location}` === `${location}` &&
          one.bits === bits &&
          one.most === most &&
          one.readAs === readAs,
      );
      return same?.largest ?? 0;
    });
    const side = leaving(values, most);
    return side === null ? [] : { location, bits, side };
  });

/** The narrow numbers in addresses, and where the first leaves what its type holds. */
function ofIndices(prepared: Prepared, settings: Settings): IndexOverflow[] {
  const found = leavingIn(narrowIn(prepared, settings));
  if (!found.length) return [];
  const first = found.reduce((one, other) => (other.side < one.side ? other : one));
  const { file, line } = first.location;
  const others = [...new Set(found.map(({ location }) => location.line))]
    .filter((one) => one !== line)
    .sort((one, other) => one - other);
  const last = others.pop();
  const before = others.length ? `lines ${others.join(", ")} and` : "line";
  const message =
    `${first.location}: an index has ${first.bits} bits here, which are too few from M = N = K = ` +
    `${comma(first.side)} on. Count it in size_t` +
    (last === undefined ? "." : `, and look at ${before} ${last} too.`);
  return [{ kind: "index", side: first.side, file, line, message }];
}

/** The numbers of the blocks at the corners of a grid, in order. */
export function cornersOf([x, y = 1, z = 1]: number[]) {
  const ends = (side: number) => [...new Set([0, side - 1])];
  const found = ends(z).flatMap((c) =>
    ends(y).flatMap((b) => ends(x).map((a) => (c * y + b) * x + a)),
  );
  return found.sort((one, other) => one - other);
}

/**
 * The size from which a square function through three values is above `most`; null if it is not up to
 * LARGEST, or if the values do not grow like that.
 */
function leaving([low, middle, high]: number[], most: number) {
  const step = SIDES[1] - SIDES[0];
  const bend = high - 2 * middle + low;
  if (!(low < middle && middle < high) || bend < 0) return null;
  // Twice the function, times the square of the step: whole numbers below 2⁵³ at all sizes.
  const isAbove = (side: number) => {
    const turns = BigInt(side - SIDES[0]);
    const [slope, square] = [BigInt(middle - low), BigInt(step)];
    const grown = 2n * slope * turns * square + BigInt(bend) * turns * (turns - square);
    return grown > 2n * square * square * BigInt(most - low);
  };
  return isAbove(LARGEST) ? firstAbove(SIDES[2], LARGEST, isAbove) : null;
}
