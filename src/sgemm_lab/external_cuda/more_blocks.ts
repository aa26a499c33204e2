// Run blocks behind those that a launch has. A guard stops them: all, or else the first just as the
// others.

import { LabError } from "../errors.ts";
import type { Hazard } from "../simulator/hazard.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazards.ts";
import { arraysAt } from "./contents.ts";
import type { Prepared, Settings } from "./launch.ts";
import { multiplies, numbersOf, product, shapeAt, writtenBy } from "./launch.ts";
import type { Done } from "./one_launch.ts";
import { numbersIn, runAndWeigh } from "./one_launch.ts";
import { isApart } from "./orders.ts";
import type { Finding } from "./severity.ts";
import { findingOf } from "./severity.ts";

const SECONDS = 2;
const MOST_THREADS = 2 ** 18;

/** A warning about a guard that lets more through than its arrays hold. */
export function withMoreBlocks(done: Done, settings: Settings): Finding[] {
  const { prepared, size, result } = done;
  const isOther = multiplies(prepared) || prepared.clipped;
  const waits = prepared.compiled.specials.has("%envreg1");
  if (result.hazards.length || isOther || waits) return [];
  const { grid, block, sharedBytes } = shapeAt(prepared, size);
  const quick = {
    ...{ ...settings, countRequests: false, progress: null },
    timeLimit: Math.min(SECONDS, settings.timeLimit),
  };
  const axes = grid.flatMap((side, axis) => (side > 1 || !axis ? axis : []));
  for (const axis of axes) {
    const larger = grid.with(axis, grid[axis] + Math.max(2, grid[axis]));
    if (product([...larger, ...block]) > MOST_THREADS) continue;
    const texts = { grid: larger.map(String), block: block.map(String), host: null };
    const more = { ...prepared, ...texts, sharedBytes: `${sharedBytes}` };
    try {
      const found = compareAlong(done, more, { grid, larger, axis }, quick);
      if (found.length) return found;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
    }
  }
  return [];
}

interface Larger {
  grid: number[];
  larger: number[];
  axis: number;
}

function compareAlong(
  done: Done,
  more: Prepared,
  { grid, larger, axis }: Larger,
  settings: Settings,
): Finding[] {
  const { prepared, size } = done;
  const ran = (at: number) =>
    runAndWeigh(more, size, arraysAt(prepared, size), {
      ...settings,
      only: slice(larger, axis, at),
    });
  const outside = ({ result }: { result: { hazards: Hazard[] } }) =>
    result.hazards.filter(({ kind }) => kind === OUT_OF_BOUNDS);
  const [first, last] = [ran(grid[axis]), ran(larger[axis] - 1)];
  if (outside(last).length) return [];
  const isStopped = last.result.hazards.length === 0 && !changes(done, last);
  const [leaves] = outside(first);
  if (!leaves || !isStopped) return [];
  const found = findingOf(leaves, prepared, "warning");
  const why =
    "It happens with a block more than the launch has, and not in those behind it: the guard lets " +
    "through what lies just beyond the end.";
  return [{ ...found, message: `${found.message} ${why}` }];
}

/** Whether a launch changed any array. */
const changes = ({ prepared, before }: Done, { after }: { after: Done["after"] }) =>
  writtenBy(prepared).some(({ name }) => {
    const now = numbersIn(after, name);
    return numbersOf(before, name).some((one, at) => isApart(one, now[at]));
  });

/** The numbers of the blocks of a grid with one place along an axis. */
function slice([x, y = 1, z = 1]: number[], axis: number, at: number) {
  const found: number[] = [];
  for (let number = 0; number < x * y * z; number++) {
    const place = [number % x, Math.floor(number / x) % y, Math.floor(number / (x * y))];
    if (place[axis] === at) found.push(number);
  }
  return found;
}
