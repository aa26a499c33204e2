// @ts-check
// What a tile buys: tile.py in JavaScript, held equal to it by a test.

import { FLOAT_BYTES, FLOP_PER_WARP_FMA, MAX_REGISTERS, WAVEFRONT_BYTES } from "../hardware.py";
import { levelRoof } from "./roofs.js";
import { sentence } from "./sentences.js";

/**
 * `wavefronts`: what a multiply-add of a warp asks of shared memory and L1, as counted; 0 if not.
 * @typedef {{ bm: number, bn: number, bk: number, tm: number, tn: number, wavefronts: number }} Tile
 * @typedef {{ name: string, value: number, choices: number[] }} Constant
 *
 * What the roof of one level alone leaves to a tile.
 * @typedef {{ level: LevelId, roof: Roof, intensity: number, gflops: number }} TileRoof
 *
 * @typedef {object} TileReport
 * @property {number} block FLOP/B that the block tile reuses global memory to
 * @property {number} global the same, at most the compulsory intensity
 * @property {number} thread FLOP/B that the thread tile reuses shared memory to
 * @property {boolean} usesShared
 * @property {number} sharedBytes of a block
 * @property {number} threads of a block
 * @property {number} accumulators of a thread
 * @property {number} compulsory FLOP/B if each element moves once
 * @property {number} gflops the bound
 * @property {LevelId | "peak"} limit what sets it
 * @property {TileRoof[]} roofs of the levels that the tile asks
 * @property {string[]} problems a sentence for each reason why it cannot run
 */

/**
 * A kernel's constants as a tile; TILE stands for BM, BN and BK at once.
 * @param {{ name: string, value: number }[]} constants
 * @param {Record<string, number>} [counted] wavefronts by the constants' values, such as "64,64,8"
 * @returns {Tile}
 */
export function tileOf(constants, counted = {}) {
  const value = Object.fromEntries(constants.map((constant) => [constant.name, constant.value]));
  const side = value.TILE ?? 1;
  const { BM = side, BN = side, BK = side, TM = 1, TN = 1 } = value;
  const wavefronts = counted[constants.map((constant) => constant.value).join(",")] ?? 0;
  return { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN, wavefronts };
}

/**
 * FLOP/B of an a×b tile in FP32: per step along K, a + b floats read for a·b multiply-adds.
 * @param {number} a
 * @param {number} b
 */
export function tileIntensity(a, b) {
  return (a * b) / (2 * (a + b));
}

/**
 * FLOP/B if each element of A, B and C moves exactly once.
 * @param {MatrixSize} size
 */
function compulsoryIntensity({ m, n, k }) {
  return (2 * m * n * k) / (FLOAT_BYTES * (m * k + k * n + m * n));
}

/**
 * All that there is to say about a tile on a GPU, for matrices of one size.
 * @param {Tile} tile
 * @param {RoofedGpu} gpu
 * @param {MatrixSize} matrix
 * @returns {TileReport}
 */
export function tileReport(tile, gpu, matrix) {
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
  /** @type {{ gflops: number, limit: LevelId | "peak" }} */
  const peak = { gflops: gpu.peak_gflops, limit: "peak" };
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

/**
 * @param {RoofedGpu} gpu
 * @param {LevelId} level
 * @param {number} intensity
 * @returns {TileRoof | undefined}
 */
function roofOver(gpu, level, intensity) {
  const roof = levelRoof(gpu, level);
  return roof && { level, roof, intensity, gflops: roof.gbs * intensity };
}

/**
 * The constants whose next larger choice would run on the GPU and raise the bound.
 * @param {Constant[]} constants
 * @param {RoofedGpu} gpu
 * @param {MatrixSize} matrix
 * @param {Record<string, number>} [counted]
 */
export function raising(constants, gpu, matrix, counted) {
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

/**
 * A plain sentence for each reason why the tile cannot run on the GPU.
 * @param {Tile} tile
 * @param {{ threads: number, sharedBytes: number, accumulators: number }} takes
 * @param {RoofedGpu} gpu
 */
function tileProblems({ bm, bn, tm, tn }, { threads, sharedBytes, accumulators }, gpu) {
  /** @type {[string, number, number][]} */
  const sides = [
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
