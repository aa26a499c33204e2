// Run blocks behind those that a launch has. A guard stops them: all, or else the first just as the
// others. If the first does what is left to do, the launch has a block too few.

import { orNull } from "../errors.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazard_log.ts";
import { comma } from "../text.ts";
import { arraysAt } from "./initial_values.ts";
import type { Prepared, Settings } from "./launch.ts";
import { brief, multiplies, numbersOf, product, shapeAt, writtenBy } from "./launch.ts";
import { type Done, isSame, numbersIn, runAndWeigh } from "./one_launch.ts";
import { isApart } from "./schedules.ts";
import { type Finding, findingOf, ofKernel, WRONG_RESULT } from "./severity.ts";

const SECONDS = 2;
const MOST_THREADS = 2 ** 22;
const JUST_BEYOND =
  "It happens with a block more than the launch has: the guard lets through what lies just beyond.";

/**
 * A warning about a guard that lets more through than its arrays hold, or about a grid that is too small.
 * @param launched whether the grid is one of the file
 */
export function withMoreBlocks(done: Done, settings: Settings, launched: boolean): Finding[] {
  const { prepared, size, result } = done;
  const isOther = multiplies(prepared);
  const waits = prepared.compiled.specials.has("%envreg1");
  if (result.hazards.length || isOther || waits) return [];
  const { grid, block, sharedBytes } = shapeAt(prepared, size);
  const quick = brief(settings, SECONDS);
  const axes = grid.flatMap((side, axis) => (side > 1 || !axis ? axis : []));
  for (const axis of axes) {
    const larger = grid.with(axis, grid[axis] + Math.max(2, grid[axis]));
    if (product([...larger, ...block]) > MOST_THREADS) continue;
    const texts = { grid: larger.map(String), block: block.map(String), follows: false };
    const more = { ...prepared, ...texts, sharedBytes: `${sharedBytes}` };
    const found = orNull(() => compareAlong(done, more, { grid, larger, axis, launched }, quick));
    if (found?.length) return found;
  }
  return [];
}

interface Larger {
  grid: number[];
  larger: number[];
  axis: number;
  launched: boolean;
}

function compareAlong(
  done: Done,
  more: Prepared,
  { grid, larger, axis, launched }: Larger,
  settings: Settings,
): Finding[] {
  const { prepared, size } = done;
  const ran = (at: number) =>
    runAndWeigh(more, size, arraysAt(prepared, size), {
      ...settings,
      only: slice(larger, axis, at),
    });
  const first = ran(grid[axis]);
  const { hazards } = first.result;
  const leaves = hazards.find(({ kind }) => kind === OUT_OF_BOUNDS);
  const isOpen = launched && !hazards.length;
  const left = isOpen ? changes(done, first).filter(({ left }) => left >= 0) : [];
  if (!leaves && !left.length) return [];
  const last = ran(larger[axis] - 1);
  if (last.result.hazards.length || changes(done, last).some(({ more }) => more >= 0)) return [];
  // Blocks far behind may reach another array.
  if (leaves && !ran(grid[axis] + 1).result.hazards.length) {
    const found = findingOf(leaves, prepared, "warning");
    return [{ ...found, message: `${found.message} ${JUST_BEYOND}` }];
  }
  return left.map(({ name, left: at }) => {
    const message =
      `The launch leaves out elements of ${name}, such as ${comma(at)}: a block more along ` +
      `${"xyz"[axis]} writes them, and those behind it nothing. Round the grid up.`;
    return ofKernel(prepared, "warning", WRONG_RESULT, message, name);
  });
}

/** Of each array the first element that blocks behind a launch change, and the first that it left. */
const changes = ({ prepared, before, after }: Done, more: { after: Done["after"] }) =>
  writtenBy(prepared).map(({ name }) => {
    const [by, now] = [after, more.after].map((all) => numbersIn(all, name));
    const begun = numbersOf(before, name);
    const isChanged = (one: number, place: number) => isApart(one, now[place], 1);
    const isLeft = (one: number, place: number) => isSame(one, by[place]) && isChanged(one, place);
    return { name, more: begun.findIndex(isChanged), left: begun.findIndex(isLeft) };
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
