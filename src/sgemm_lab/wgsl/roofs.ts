// What the card can do at most, measured by programs that do nothing else: how fast it moves memory,
// and how fast it multiplies and adds.

import { LabError } from "../errors.ts";
import type { Card } from "./card.ts";
import { writtenOut } from "./loop_unrolling.ts";
import { medianOf } from "./spread.ts";

/** Far more than any cache holds. */
const COPY_BYTES = 2 ** 27;
/** Of `multiply_add.wgsl`: enough blocks to fill every card. */
const BLOCKS = 2048;
const THREADS = 256;
/** Multiply-adds of a thread in a round of it: eight times eight sums of four floats. */
const PER_ROUND = 256;
const MOST_ROUNDS = 2 ** 20;
const SAMPLES = 5;
const LEAST_BYTES = 2 ** 23;
const LONG_ENOUGH_S = 0.02;

/**
 * GB/s, read and written bytes together.
 * @param source of copy.wgsl
 */
export async function copySpeed(card: Card, source: string) {
  const program = await card.compile(source, ["read-only-storage", "storage"]);
  let bytes = Math.min(COPY_BYTES, card.largestBinding);
  let buffers: GPUBuffer[] | null = null;
  while (!buffers) {
    buffers = await pair(card, bytes);
    if (!buffers) bytes /= 2;
  }
  const work = card.join(program, buffers);
  // A grid has at most 65,535 blocks along x; 128 MiB take half of that.
  const grid: [number, number] = [bytes / 16 / THREADS, 1];
  const once = await card.seconds(work, grid);
  const times = Math.max(1, Math.min(50, Math.ceil(LONG_ENOUGH_S / once)));
  const seconds = [];
  for (let i = 0; i < SAMPLES; i++) seconds.push(await card.seconds(work, grid, times));
  card.free(...buffers);
  return (2 * bytes) / medianOf(seconds) / 1e9;
}

/**
 * Two buffers, or null where there is no memory for them. Throws a LabError where even little is too
 * much.
 */
async function pair(card: Card, bytes: number) {
  const made = [];
  try {
    made.push(await card.buffer(bytes));
    made.push(await card.buffer(bytes));
    return made;
  } catch (fault) {
    card.free(...made);
    card.goOn();
    if (!(fault instanceof LabError) || bytes <= LEAST_BYTES) throw fault;
    return null;
  }
}

/**
 * GFLOP/s of multiply-adds alone.
 * @param source of multiply_add.wgsl
 */
export async function multiplyAddSpeed(card: Card, source: string) {
  const program = await card.compile(writtenOut(source), ["uniform", "storage"]);
  const task = await card.buffer(8, "uniform");
  const result = await card.buffer(4 * BLOCKS * THREADS);
  const work = card.join(program, [task, result]);
  const timed = (rounds: number) => {
    const words = new DataView(new ArrayBuffer(8));
    words.setUint32(0, rounds, true);
    words.setFloat32(4, 0.5, true);
    card.write(task, words);
    return card.seconds(work, [BLOCKS, 1]);
  };
  let rounds = 1;
  while ((await timed(rounds)) < LONG_ENOUGH_S && rounds < MOST_ROUNDS) rounds *= 2;
  const seconds = [];
  for (let i = 0; i < SAMPLES; i++) seconds.push(await timed(rounds));
  card.free(task, result);
  return (2 * PER_ROUND * rounds * BLOCKS * THREADS) / medianOf(seconds) / 1e9;
}
