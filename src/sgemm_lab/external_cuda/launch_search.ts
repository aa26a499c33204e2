// Find the launch of a matrix product by trial. For a file without host code, candidates for the block
// come from the file, and those for the tile from block, template and shared arrays. The first launch
// with a correct C and no hazard is taken; a kernel that is wrong with all candidates has none.

import { orNull } from "../errors.ts";
import { WARP } from "../hardware.py";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import { MAX_THREADS } from "../simulator/limits.py";
import { sizeText } from "../text.ts";
import { trimmed } from "./host_launch.ts";
import { type Prepared, product, sizesIn } from "./launch.ts";

/** How long launches are tried, and one of them. */
const [SECONDS, TRY_SECONDS] = [20, 4];
/** Blocks of threads along x alone that are tried. */
const MOST_BLOCKS = 6;
/** K of a trial: what usual windows divide. */
const DEPTH = 64;
const SQUARES = [16, 32];
const FLOAT = 4;
const [LEAST_TILE, MOST_TILE] = [8, 256];

interface Candidate {
  grid: string[];
  block: string[];
  size: Size;
}

type Tile = [across: number, down: number];

/** A kernel with the first launch that makes it right; null where none does. */
export function launchByTrial(
  prepared: Prepared,
  isRight: (prepared: Prepared, size: Size, timeLimit: number) => boolean,
): Prepared | null {
  const end = secondsNow() + SECONDS;
  for (const { grid, block, size } of candidates(prepared)) {
    if (secondsNow() > end) return null;
    const assumed =
      `Launch, found by trial: a grid of ${grid.join(" × ")} blocks of ${block.join(" × ")} threads ` +
      `makes C right at ${sizeText(size)}. Say --grid and --block where it is another.`;
    const tried = { ...prepared, grid, block };
    if (orNull(() => isRight(tried, size, TRY_SECONDS)))
      return { ...tried, assumed, certain: false };
  }
  return null;
}

/**
 * First what names tell; then large tiles before small ones. One that is too large leaves elements out,
 * a small one repeats some.
 */
function* candidates(prepared: Prepared): Generator<Candidate> {
  const shapes = named(prepared);
  for (const block of blocksOf(prepared)) {
    const tiles = tilesOf(prepared, block).sort((one, other) => product(other) - product(one));
    shapes.push(...tiles.map((tile): [number[], Tile] => [block, tile]));
  }
  const seen = new Set<string>();
  for (const [block, [across, down]] of shapes) {
    const key = `${block} of ${across} ${down}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const parts = [`ceil(N/${across})`, `ceil(M/${down})`];
    const side = 2 * leastCommon(across, down);
    const isSquare = sizesIn(prepared) === 1;
    const size: Size = isSquare ? [side, side, side] : [2 * down, 3 * across, DEPTH];
    for (const turned of [parts, [...parts].reverse()]) {
      const grid = prepared.grid.length ? prepared.grid : turned;
      yield { grid, block: block.map(String), size };
    }
  }
}

function leastCommon(one: number, other: number) {
  let [common, rest] = [one, other];
  while (rest) [common, rest] = [rest, common % rest];
  return (one / common) * other;
}

const isDecimal = (text: string) => /^\d+$/.test(text);

/** The block and the tile that a template's own names tell: BM, BN, and TM, TN of a thread. */
function named(prepared: Prepared): [number[], Tile][] {
  const { opened, compiled, block } = prepared;
  const values: Record<string, number> = {};
  for (const [name, value] of opened.values) {
    if (isDecimal(value)) values[name.toLowerCase().replaceAll("_", "")] = Number(value);
  }
  const { bm: down = 0, bn: across = 0, tm = 0, tn = 1 } = values;
  const each = tm * tn;
  if (block.length || compiled.usesY || prepared.host) return [];
  if (!(down && across && each) || (down * across) % each) return [];
  const threads = (down * across) / each;
  return threads <= MAX_THREADS ? [[[threads], [across, down]]] : [];
}

function blocksOf(prepared: Prepared): number[][] {
  const { compiled, block } = prepared;
  if (block.length && block.every(isDecimal)) return [block.map(Number)];
  if (prepared.host) return [trimmed(prepared.host.call.block)];
  const found = compiled.mostThreads.length ? [compiled.mostThreads] : [];
  if (compiled.usesY) {
    const sides = compiled.shared.map((size) => Math.floor(Math.sqrt(Math.floor(size / FLOAT))));
    const squares = [...new Set([...sides.sort((one, other) => one - other), ...SQUARES])];
    const fitting = squares.filter((side) => isTile(side) && side * side <= MAX_THREADS);
    return [...found, ...fitting.map((side) => [side, side])];
  }
  return found.length ? found : flatBlocks(prepared).map((threads) => [threads]);
}

const isTile = (side: number) => side >= LEAST_TILE && side <= MOST_TILE;

const ownNumbers = ({ opened }: Prepared) =>
  [...opened.values.values()].filter(isDecimal).map(Number);

/** Threads along x alone: a tile's elements, each thread one of them, or as many as it sums. */
function flatBlocks(prepared: Prepared) {
  const own = ownNumbers(prepared);
  const large = own.filter(isTile);
  const small = own.filter((one) => one > 1 && one < MOST_TILE);
  const tiles = large.flatMap((one) => large.map((other) => one * other));
  const each = [1, ...small, ...small.flatMap((one) => small.map((other) => one * other))];
  const found = tiles.flatMap((tile) =>
    each.filter((part) => tile % part === 0).map((part) => tile / part),
  );
  return [...new Set([...found, MOST_TILE])]
    .filter((threads) => threads % WARP === 0 && threads <= MAX_THREADS)
    .sort((one, other) => one - other)
    .slice(0, MOST_BLOCKS);
}

function tilesOf(prepared: Prepared, [x, y = 1]: number[]): Tile[] {
  const own = [...new Set(ownNumbers(prepared).filter(isTile))];
  const side = Math.floor(Math.sqrt(x));
  const sides = y === 1 ? [...new Set([...own, side])] : own;
  const all = sides.flatMap((one) => sides.map((other): Tile => [one, other]));
  const fitting = all.filter(([one, other]) => one * other >= x * y);
  return y === 1 ? fitting : [[x, y], ...fitting];
}
