// How fast the GPU's units let a kernel be, by what a block of it asks of them: bound.py in
// TypeScript, without what only the counters of a GPU know (instructions, bytes moved).

import { LabError } from "../errors.ts";
import { tileOf } from "../formulas/tile.ts";
import { maxTilesPerSm, usesStreamK } from "../formulas/wave_quantization.ts";
import { FLOAT_BYTES, FLOP_PER_WARP_FMA, WARP } from "../hardware.py";
import { type Kernel, launchShape, type Size, valuesOf } from "../kernel.ts";
import { type BlockDemand, perStep } from "./demand.ts";

/** Of a GPU's data sheet. */
export interface Sheet {
  name: string;
  sms: number;
  clock_mhz: number;
  fp32_lanes: number;
  tf32_fmas: number;
  fp16_fmas: number;
  dram_gbs: number;
}

/**
 * What one unit leaves to a kernel: the unit in words, what a step asks of it and in what that
 * is counted (nothing for multiply-adds), and the GFLOP/s.
 */
export interface Cap {
  unit: string;
  label: string;
  demand: number;
  countedIn: string;
  gflops: number;
}

/** SMs, more than there are pieces of any product. */
const ENDLESS = 10 ** 9;

/** The caps over a kernel at a size on a GPU, lowest first; the lowest is the bound. */
export function bound(kernel: Kernel, block: BlockDemand, size: Size, gpu: Sheet): Cap[] {
  const asked = perStep(block, size);
  const clocks = (gpu.sms * gpu.clock_mhz) / 1e3;
  const arithmetic = (clocks * fmas(kernel.arithmetic, gpu)) / WARP;
  const unit = kernel.arithmetic === "fp32" ? "arithmetic" : "tensor cores";
  const memory = asked.shared >= asked.global ? "shared memory" : "L1";
  const units: [string, string, string, number, number][] = [
    ["peak", unit, "", asked.products, arithmetic],
    ["grid", `${unit} of the busiest SM`, "", onTheBusiest(kernel, size, gpu), arithmetic],
    ["data", memory, "wavefronts", asked.shared + asked.global, clocks],
    ["lookup", "lookups in L1", "lookups", asked.lookups, clocks],
    ["dram", "DRAM", "bytes", compulsoryBytes(size), gpu.dram_gbs],
  ];
  return units
    .filter(([, , , demand]) => demand > 0)
    .map(([name, label, countedIn, demand, rate]) => {
      return { unit: name, label, countedIn, demand, gflops: (FLOP_PER_WARP_FMA * rate) / demand };
    })
    .sort((a, b) => a.gflops - b.gflops);
}

/**
 * The multiply-adds of a product that an SM finishes per clock. Of three products each is one third. Throws a LabError where its tensor cores do not take such factors.
 */
function fmas(arithmetic: string, gpu: Sheet) {
  const found = new Map([
    ["fp32", gpu.fp32_lanes],
    ["tf32", gpu.tf32_fmas],
    ["fp16", gpu.fp16_fmas],
    ["3xtf32", gpu.tf32_fmas / 3],
    ["3xfp16", gpu.fp16_fmas / 3],
  ]).get(arithmetic);
  if (!found) {
    const factors = `${arithmetic.toUpperCase()} factors`;
    throw new LabError(`The tensor cores of ${gpu.name} do not multiply ${factors}.`);
  }
  return found;
}

/** The multiply-adds per step if every SM had as much work as the busiest. */
function onTheBusiest(kernel: Kernel, [m, n, k]: Size, gpu: Sheet) {
  const { bm, bn, bk } = tileOf(kernel.constants);
  const [rows, columns] = [Math.min(m, bm), Math.min(n, bn)];
  const [down, across] = [Math.floor(m / rows), Math.floor(n / columns)];
  const [x, y] = launchShape(kernel, [down * rows, across * columns, k], ENDLESS).grid;
  const tiles = down * across;
  const { WORTH } = valuesOf(kernel);
  const shared = WORTH === undefined || usesStreamK(tiles, Math.ceil(k / bk), gpu.sms, WORTH);
  const pieces = shared ? x * y : tiles;
  const evenly = (tiles * rows * columns) / (m * n);
  return (evenly * maxTilesPerSm(pieces, gpu.sms) * gpu.sms) / pieces;
}

/** The bytes of A, B and C per step: all are read or stored once. */
function compulsoryBytes([m, n, k]: Size) {
  return (FLOAT_BYTES * (m * k + k * n + m * n)) / ((m * n * k) / WARP);
}
