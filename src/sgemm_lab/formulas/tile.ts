// What a tile buys: tile.py in TypeScript; a test compares them.

import { FLOAT_BYTES, FLOP_PER_WARP_FMA, MAX_REGISTERS, WAVEFRONT_BYTES } from "../hardware.py";
import { levelRoof } from "./roofs.ts";
import { sentence } from "./sentences.ts";

/**
 * `wavefronts`: what a multiply-add of a warp asks of shared memory and L1, as counted; 0 if not.
 */
export interface Tile {
  bm: number;
  bn: number;
  bk: number;
  tm: number;
  tn: number;
  wavefronts: number;
}

export interface Constant {
  name: string;
  value: number;
  choices: number[];
}

/** What the roof of one level alone leaves to a tile. */
interface TileRoof {
  level: LevelId;
  roof: Roof;
  intensity: number;
  gflops: number;
}

export interface TileReport {
  /** FLOP/B that the block tile reuses global memory to */
  block: number;
  /** the same, at most the compulsory intensity */
  global: number;
  /** FLOP/B that the thread tile reuses shared memory to */
  thread: number;
  usesShared: boolean;
  /** of a block */
  sharedBytes: number;
  /** of a block */
  threads: number;
  /** of a thread */
  accumulators: number;
  /** FLOP/B if each element moves once */
  compulsory: number;
  /** the bound */
  gflops: number;
  /** what sets it */
  limit: LevelId | "peak";
  /** of the levels that the tile asks */
  roofs: TileRoof[];
  /** a sentence for each reason why it cannot run */
  problems: string[];
}

/**
 * A kernel's constants as a tile; TILE stands for BM, BN and BK at once.
 * @param counted wavefronts by the constants' values, such as "64,64,8"
 */
export function tileOf(
  constants: { name: string; value: number }[],
  counted: Record<string, number> = {},
): Tile {
  const value = Object.fromEntries(constants.map((constant) => [constant.name, constant.value]));
  const side = value.TILE ?? 1;
  const { BM = side, BN = side, BK = side, TM = 1, TN = 1 } = value;
  const wavefronts = counted[constants.map((constant) => constant.value).join(",")] ?? 0;
  return { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN, wavefronts };
}

/** FLOP/B of an a×b tile in FP32: per step along K, a + b floats read for a·b multiply-adds. */
function tileIntensity(a: number, b: number) {
  return (a * b) / (2 * (a + b));
}

/** FLOP/B if each element of A, B and C moves exactly once. */
function compulsoryIntensity({ m, n, k }: MatrixSize) {
  return (2 * m * n * k) / (FLOAT_BYTES * (m * k + k * n + m * n));
}

/** All that there is to say about a tile on a GPU, for matrices of one size. */
export function tileReport(tile: Tile, gpu: RoofedGpu, matrix: MatrixSize): TileReport {
  const { bm, bn, bk, tm, tn } = tile;
  const usesShared = bm * bn > 1;
  const block = tileIntensity(bm, bn);
  const thread = tile.wavefronts
    ? FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * tile.wavefronts)
    : tileIntensity(tm, tn);
  const compulsory = compulsoryIntensity(matrix);
  const global = Math.min(block, compulsory);
  const roofs = [
    roofOver(gpu, "dram", global),
    usesShared && roofOver(gpu, "shared", thread),
  ].flatMap((roof) => roof || []);
  const peak: { gflops: number; limit: LevelId | "peak" } = {
    gflops: gpu.peak_gflops,
    limit: "peak",
  };
  const bound = roofs.reduce(
    (lowest, { level, gflops }) => (gflops < lowest.gflops ? { gflops, limit: level } : lowest),
    peak,
  );
  const report = {
    block,
    global,
    thread,
    usesShared,
    sharedBytes: usesShared ? FLOAT_BYTES * bk * (bm + bn) : 0,
    threads: (bm / tm) * (bn / tn),
    accumulators: tm * tn,
    compulsory,
    roofs,
    ...bound,
  };
  return { ...report, problems: tileProblems(tile, report, gpu) };
}

function roofOver(gpu: RoofedGpu, level: LevelId, intensity: number): TileRoof | undefined {
  const roof = levelRoof(gpu, level);
  return roof && { level, roof, intensity, gflops: roof.gbs * intensity };
}

/** The constants whose next larger choice would run on the GPU and raise the bound. */
export function raising(
  constants: Constant[],
  gpu: RoofedGpu,
  matrix: MatrixSize,
  counted?: Record<string, number>,
) {
  const now = tileReport(tileOf(constants, counted), gpu, matrix).gflops;
  return constants
    .filter(({ name, value, choices }) => {
      const larger = choices.find((choice) => choice > value);
      if (!larger) return false;
      const changed = constants.map((one) => (one.name === name ? { ...one, value: larger } : one));
      const report = tileReport(tileOf(changed, counted), gpu, matrix);
      return !report.problems.length && report.gflops > now;
    })
    .map(({ name }) => name);
}

/** A plain sentence for each reason why the tile cannot run on the GPU. */
function tileProblems(
  { bm, bn, tm, tn }: Tile,
  {
    threads,
    sharedBytes,
    accumulators,
  }: { threads: number; sharedBytes: number; accumulators: number },
  gpu: RoofedGpu,
) {
  const sides: [string, number, number][] = [
    ["M", bm, tm],
    ["N", bn, tn],
  ];
  const uneven = sides.filter(([, whole, part]) => whole % part);
  if (uneven.length) {
    return uneven.map(([side, whole, part]) => sentence("tile.uneven", { side, part, whole }));
  }
  const found = [];
  const most = gpu.max_threads_per_block;
  if (threads > most) found.push(sentence("tile.threads", { threads, gpu: gpu.name, most }));
  const limit = gpu.shared_per_block_bytes ?? Infinity;
  if (sharedBytes > limit) {
    found.push(sentence("tile.shared", { bytes: sharedBytes, gpu: gpu.name, most: limit }));
  }
  if (accumulators > MAX_REGISTERS) {
    found.push(sentence("tile.registers", { sums: accumulators, most: MAX_REGISTERS }));
  }
  return found;
}
