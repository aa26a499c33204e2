// Where everything of a trace's picture stands.

import type { TracedArray } from "../counting/step_trace.ts";
import { textWidth } from "./shared/labels.ts";
import type { Matrix } from "./steps_model.ts";
import type { Walkthrough } from "./steps_trace.ts";

/** Where an array stands; `s` is the side of a cell. */
export interface Place {
  x: number;
  y: number;
  s: number;
}

/**
 * Rows and columns of cells that the registers of any thread take, and px beside and between them.
 */
interface RegisterSpace {
  across: number;
  down: number;
  aside: number;
  apart: number;
}

const [GAP, HEAD] = [16, 22]; // px between arrays, and above one for its title
const [TALLEST, LARGEST] = [260, 40]; // px, of B and C together, and of one cell
const WITH_NAMES = 500; // px, of B and C together where smaller cells would have no names
const COLUMN = 340; // px, of tiles and registers beside A, at least
export const READABLE = 11; // px, of letters from which a whole name is written
export const INDEX = 16; // px for a row of indices
export const NAMES = 14; // px for a name below the sums

/** "As[2][2]" */
export const titleOf = ({ name, shape }: TracedArray) =>
  `${name}${shape.map((side) => `[${side}]`).join("")}`;

/** The side of a cell, in px, that has room for the indices of any element: "7,11". */
function spelled({ m, n, k }: Walkthrough) {
  const longest = Math.max(`${m - 1},${k - 1}`.length, `${k - 1},${n - 1}`.length);
  return 0.6 * READABLE * longest + 3;
}

function registersOf({ most, rooms, trace: { names } }: Walkthrough): RegisterSpace {
  const flights = (rooms.A ? 1 : 0) + (rooms.B ? 1 : 0);
  const words = [names.a, names.fetched_a?.name ?? "from A"].map((name) => textWidth(name, 12));
  return {
    across: Math.max(most + 1, rooms.A, rooms.B),
    down: most + 1 + flights,
    aside: Math.min(76, Math.max(...words) + 8),
    apart: (flights + 1) * INDEX + NAMES,
  };
}

/**
 * Tiles and registers stand in the corner above A, k cells high, or in the column left of A. They are side
 * by side or one above the other, whichever leaves larger cells; where they would be tiny they
 * stand above all matrices instead.
 * @param s side of a cell of A, B and C
 */
function cornerOf(walkthrough: Walkthrough, tiles: TracedArray[], s: number, width: number) {
  const { m, n, k } = walkthrough;
  const room = registersOf(walkthrough);
  const { across, down, aside, apart } = room;
  const rows = Math.max(0, ...tiles.map((tile) => tile.rows));
  const columns = tiles.reduce((sum, tile) => sum + tile.columns, 0);
  const gaps = GAP * Math.max(0, tiles.length - 1);
  const fit = (wide: number, tall: number, most: number): { sideBySide: boolean; c: number } => {
    const each = (wide - gaps - GAP - aside) / (columns + across);
    const sideBySide = Math.min(most, each, (tall - HEAD) / Math.max(1, rows));
    const high = Math.min(sideBySide, (tall - HEAD - apart) / down);
    const under = (tall - 2 * HEAD - GAP - apart) / (rows + down);
    const wider = Math.min((wide - gaps) / Math.max(1, columns), (wide - aside) / across);
    const above = Math.min(most, wider, under);
    return above > high ? { sideBySide: false, c: above } : { sideBySide: true, c: high };
  };
  const extra = Math.max(0, width - GAP - (k + n) * s);
  const above = fit(k * s + extra - GAP, k * s + HEAD, 52);
  const left = fit(extra - GAP, Math.max(COLUMN, (k + m) * s + 2 * HEAD), 52);
  const [corner, free] = left.c > above.c ? [left, extra] : [above, k * s + extra];
  const inside = corner.c >= Math.min(spelled(walkthrough), 0.9 * s);
  const { sideBySide, c } = inside ? corner : fit(width, 2 * width, 36);
  const tall = { tiles: rows * c, registers: down * c + apart };
  const wide = { tiles: columns * c + gaps, registers: aside + across * c };
  return { ...{ inside, sideBySide, c, s, extra, free, room, rows, wide, tall } };
}

/** What makes one layout better than another: its smallest cells, inside. */
const sizeOf = ({ inside, c, s }: ReturnType<typeof cornerOf>) => (inside ? Math.min(c, s) : 0);

/** @param thread whose registers are shown */
export function layOut(walkthrough: Walkthrough, thread: number, width: number) {
  const { m, n, k, trace } = walkthrough;
  const tiles = trace.arrays.filter((array) => array.space === "shared");
  const highest = (tall: number) => tall / (k + m);
  const named = Math.min(spelled(walkthrough), highest(WITH_NAMES));
  const sideAt = (margin: number) =>
    Math.min(LARGEST, (width - GAP - margin) / (k + n), Math.max(highest(TALLEST), named));
  const indexed = sideAt(0) < spelled(walkthrough);
  const margin = indexed ? GAP : 0;
  // A little smaller, if tiles and registers then find more room.
  const largest = sideAt(margin);
  const { inside, sideBySide, c, s, extra, free, room, tall, wide } = [1, 0.95, 0.9, 0.85, 0.8]
    .map((share) => share * largest)
    .filter((side) => side === largest || side >= spelled(walkthrough))
    .map((side) => cornerOf(walkthrough, tiles, side, width - margin))
    .reduce((best, one) => (sizeOf(one) > sizeOf(best) ? one : best));
  const left = margin + (inside ? extra : extra / 2);
  const over = indexed ? INDEX : 0;
  const both = sideBySide
    ? { wide: wide.tiles + GAP + wide.registers, tall: Math.max(tall.tiles, tall.registers) }
    : {
        wide: Math.max(wide.tiles, wide.registers),
        tall: tall.tiles + HEAD + GAP + tall.registers,
      };
  const top = HEAD + over + (inside ? 0 : HEAD + both.tall + GAP);
  const [middle, below] = [left + k * s + GAP, top + k * s + 4 + HEAD + over];
  const boxes: Record<string, Place> = {
    B: { x: middle, y: top, s },
    A: { x: left, y: below, s },
    C: { x: middle, y: below, s },
  };
  const bottom = below + m * s + 4;
  const start = inside ? Math.max(0, (margin + free - GAP / 2 - both.wide) / 2) : 0;
  const y = HEAD;
  let x = start;
  for (const tile of tiles) {
    boxes[tile.name] = { x, y, s: c };
    x += Math.max(tile.columns * c, inside || !sideBySide ? textWidth(titleOf(tile), 13) : 0) + GAP;
  }
  const at = sideBySide ? { x, y } : { x: start, y: y + tall.tiles + HEAD + GAP };
  const registers = registersAt(walkthrough, at, c, room);
  return {
    ...{ boxes, tiles, indexed, ...registers },
    ...(walkthrough.shares.get(thread) ?? { rows: [], columns: [] }),
    room: inside ? margin + free : width,
    height: Math.max(bottom, y + both.tall + 4),
  };
}

/** Rooms for what is on its way stand above the operands and the sums. */
function registersAt(
  { rooms }: Walkthrough,
  at: { x: number; y: number },
  s: number,
  { aside }: RegisterSpace,
) {
  const x = at.x + aside;
  let y = at.y;
  const flying: Partial<Record<Matrix, Place>> = {};
  for (const matrix of ["A", "B"] as const) {
    if (!rooms[matrix]) continue;
    flying[matrix] = { x, y: y + INDEX, s };
    y += s + INDEX;
  }
  return { flying, titled: at, registers: { x, y: y + INDEX, s } };
}
