// What a kernel asks of the units of an SM, per step, by simulating one block. A step is one
// multiply-add of a warp.

import { LabError } from "../errors.ts";
import { type Tile, tileOf } from "../formulas/tile.ts";
import { WARP } from "../hardware.py";
import { ENTRY, type Kernel, launchShape, type Size } from "../kernel.ts";
import { type Argument, simulate } from "../simulator/simulation.ts";
import { GlobalPipe } from "../simulator/watches/global_pipe.ts";

/**
 * What is counted of a block: wavefronts of shared memory; wavefronts in which global loads and
 * stores pass the data pipe; their requests; lookups of loads; multiply-adds of a warp, or where
 * tensor cores multiply the 32 products for each.
 */
interface Demand {
  shared: number;
  global: number;
  requests: number;
  lookups: number;
  products: number;
}

/** What one block inside the matrices asks for: `fixed[x] + perK[x] · K` of each count. */
export interface BlockDemand {
  rows: number;
  columns: number;
  window: number;
  fixed: Demand;
  perK: Demand;
}

/** Rows that start at a multiple of so many floats start at a line of L1 and at bank 0. */
const ALIGNED = WARP;

/**
 * What a product asks for per step. Exact where blocks and windows divide the matrices and rows
 * start at lines of L1; elsewhere the least it can be.
 */
export function perStep(
  { rows, columns, window, fixed, perK }: BlockDemand,
  [m, n, k]: Size,
): Demand {
  const steps = (rows * columns) / WARP;
  if (m % rows || n % columns || k % window || n % ALIGNED || k % ALIGNED) {
    const least = each(perK, (count) => count / steps);
    return { ...least, global: least.requests, products: 1 };
  }
  return each(perK, (count, name) => (fixed[name] / k + count) / steps);
}

/**
 * Simulate one block of a kernel, at two lengths of K. Throws a LabError where the block is no tile
 * of C that follows from the kernel's constants, or it cannot be simulated.
 */
export function simulatedDemand(kernel: Kernel, ptx: string): BlockDemand {
  refuseOtherGrids(kernel);
  const tile = tileOf(kernel.constants);
  const window = Math.max(WARP, tile.bk);
  const [short, long] = [2 * window, 3 * window];
  const [first, second] = [short, long].map((k) => countBlock(kernel, ptx, tile, k));
  const perK = each(first, (count, name) => (second[name] - count) / (long - short));
  if (perK.products && perK.products * WARP !== tile.bm * tile.bn) {
    throw new LabError(
      `What a block of '${kernel.name}' asks for cannot be told: it makes other ` +
        "multiply-adds than those of a tile of C, BM × BN.",
    );
  }
  const fixed = each(first, (count, name) => count - short * perK[name]);
  return { rows: tile.bm, columns: tile.bn, window: tile.bk, fixed, perK };
}

/** Refuse a kernel of which it is known without its PTX that a block is no tile of C. */
export function refuseOtherGrids(kernel: Kernel) {
  if (kernel.source.includes("wgmma")) {
    throw new LabError(
      `What a block of '${kernel.name}' asks for cannot be told: its tensor cores read shared ` +
        "memory themselves, which no request counts.",
    );
  }
  const { size, tiles, sharesOut } = countedRow(kernel, tileOf(kernel.constants), WARP);
  if (!sharesOut && `${launchShape(kernel, size).grid}` !== `${tiles},1`) {
    throw new LabError(
      `What a block of '${kernel.name}' asks for cannot be told: its grid is no ` +
        "grid of tiles of C, BM × BN each.",
    );
  }
}

/**
 * The row of tiles that is counted, and whether a kernel is persistent: it has a block for each SM,
 * which loops over tiles.
 */
function countedRow(kernel: Kernel, tile: Tile, k: number) {
  const columns = Math.max(tile.bn, ALIGNED);
  const size: Size = [tile.bm, 2 * columns, k];
  const [one, two] = [1, 2].map((sms) => `${launchShape(kernel, size, sms).grid}`);
  const sharesOut = one === "1,1" && two !== "1,1";
  return { columns, size, tiles: (2 * columns) / tile.bn, sharesOut };
}

/**
 * Counts of one tile: those of the first block of a product that reaches further to the right. A
 * persistent kernel computes all tiles in one block where there is one SM.
 */
function countBlock(kernel: Kernel, ptx: string, tile: Tile, k: number): Demand {
  const { columns, size, tiles, sharesOut } = countedRow(kernel, tile, k);
  if (sharesOut && /\bK\b/.test(kernel.workspace)) {
    return tileAlone(kernel, ptx, [tile.bm, columns, k], columns / tile.bn);
  }
  const found = countLaunch(kernel, ptx, size);
  if (kernel.arithmetic !== "fp32") {
    found.products = (tile.bm * tile.bn * k * (sharesOut ? tiles : 1)) / WARP;
  }
  return sharesOut ? each(found, (count) => count / tiles) : found;
}

/**
 * Counts of a tile without those of a pass over A and B before, whose results lie in memory: what
 * grows with rows of tiles times columns of them alone.
 * @param size of a row of tiles
 * @param tiles in it
 */
function tileAlone(kernel: Kernel, ptx: string, [m, n, k]: Size, tiles: number): Demand {
  const [one, wide, tall, allFour] = [
    [m, n],
    [m, 2 * n],
    [2 * m, n],
    [2 * m, 2 * n],
  ].map(([rows, columns]) => countLaunch(kernel, ptx, [rows, columns, k]));
  const found = each(one, (count, name) => allFour[name] - wide[name] - tall[name] + count);
  found.products = (m * n * k) / WARP;
  return each(found, (count) => count / tiles);
}

/** Counts of the first block of a launch on one SM. */
function countLaunch(kernel: Kernel, ptx: string, [m, n, k]: Size): Demand {
  const shape = launchShape(kernel, [m, n, k], 1);
  const pipe = new GlobalPipe();
  const given: Record<string, Argument> = {
    A: { data: new Float32Array(m * k).fill(1), shape: [m, k] },
    B: { data: new Float32Array(k * n).fill(1), shape: [k, n] },
    C: { data: new Float32Array(m * n), shape: [m, n] },
    ...{ M: m, N: n, K: k },
  };
  if (shape.workspaceBytes) given.workspace = new Uint32Array(Math.ceil(shape.workspaceBytes / 4));
  const { counts } = simulate(ptx, ENTRY, [1, 1], shape.block, given, {
    sharedBytes: shape.sharedBytes,
    checkHazards: false,
    watching: [pipe],
  });
  return {
    shared: counts.total.shared_load_wavefronts + counts.total.shared_store_wavefronts,
    global: pipe.wavefronts,
    requests: pipe.requests,
    lookups: pipe.lookups,
    products: counts.total.ffma_thread_instructions / WARP,
  };
}

function each(
  { shared, global, requests, lookups, products }: Demand,
  change: (count: number, name: keyof Demand) => number,
): Demand {
  return {
    shared: change(shared, "shared"),
    global: change(global, "global"),
    requests: change(requests, "requests"),
    lookups: change(lookups, "lookups"),
    products: change(products, "products"),
  };
}
