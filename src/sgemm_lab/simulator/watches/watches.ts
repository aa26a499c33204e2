// What a launch can be watched for, by name: observers whose results are plain data.

import type { Observer } from "../group.ts";
import { type Options, type Result, simulate } from "../simulation.ts";
import { GlobalPipe } from "./global_pipe.ts";
import { SameValues } from "./same_values.ts";
import { SharedReads } from "./shared_reads.ts";
import { TileMoves } from "./tile_moves.ts";
import { WidestIndices } from "./widest_indices.ts";
import { Written } from "./written.ts";

const WATCHES = {
  global_pipe: GlobalPipe,
  same_values: SameValues,
  shared_reads: SharedReads,
  tile_moves: TileMoves,
  widest_indices: WidestIndices,
  written: Written,
};

export type WatchName = keyof typeof WATCHES;

/**
 * What was seen, by the name of the watch; those that were not asked for are missing.
 *
 * - `global_pipe`: `{ requests, wavefronts, lookups }` of global loads and stores in L1.
 * - `same_values`: a list of locations `{ file, line }`. A race is harmless if neither its location
 *   nor its other location is among them: its threads write the same value.
 * - `shared_reads`: `[block, numbers]` for each block: the different whole numbers from 1 on that it
 *   reads from shared memory, in order.
 * - `tile_moves`: `copies`, a list of `{ block, into, least, largest }` for each bulk copy, by the
 *   numbers of the blocks, with its least and largest float; `stores`, a list of
 *   `{ block, warpGroup, first, last }` with columns of C, whose shape must be given.
 * - `widest_indices`: a list of `{ location, bits, most, readAs, largest }`, for each number in an
 *   address that an instruction narrows: to how many bits, the largest that passes unchanged, the
 *   type of its register, and the largest seen.
 * - `written`: by the name of each array in global memory, a Uint8Array with 1 for each byte that was
 *   written, 2 for one that was read and 3 for both, 4 more where an atomic wrote; no arrays where
 *   nothing was used.
 */
export type Watched = {
  [Name in WatchName]?: ReturnType<InstanceType<(typeof WATCHES)[Name]>["found"]>;
};

/** `simulate`, with one option more: `watch`, the names of what is watched. */
export function simulateWatched(
  ptx: string,
  entry: string,
  grid: number[],
  block: number[],
  args: Parameters<typeof simulate>[4],
  { watch = [], ...options }: Options & { watch?: WatchName[] } = {},
): Result & { watched: Watched } {
  const watches = watch.map((name): [WatchName, Observer & { found: () => unknown }] => [
    name,
    new WATCHES[name](),
  ]);
  const watching = [...(options.watching ?? []), ...watches.map(([, one]) => one)];
  const result = simulate(ptx, entry, grid, block, args, { ...options, watching });
  const watched = Object.fromEntries(watches.map(([name, one]) => [name, one.found()])) as Watched;
  return { ...result, watched };
}
