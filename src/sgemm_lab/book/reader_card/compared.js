// @ts-check
// A reader's card beside the book's GPU, step by step: speeds, shares, and what each step brought.

import { medianOf, spreadOf } from "../../wgsl/spread.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */
/**
 * A step of the ladder as the book has it: its title, its parent, where it is read, "fp32" or "fp16".
 * And what a block of it reuses: FLOP per byte, where each block reads its strips once.
 * @typedef {{ name: string, title: string, parent: string | null, href: string,
 *   arithmetic: string, intensity: number, fingerprint: string }} Step
 *
 * How fast the book's GPU climbs in one language: the size, its own rate of multiply-adds, GFLOP/s
 * by step, as far as they are measured.
 * @typedef {{ size: number, fma_gflops: number, gflops: Record<string, number> }} Climb
 *
 * The book's GPU, and how fast its ladder gets in the end.
 * @typedef {{ name: string, cuda: Climb, wgsl: Climb | null, steps: Step[],
 *   best: { title: string, gflops: number } }} BookCard
 *
 * A speed: GFLOP/s, its share of what the card's arithmetic reaches, and how many times as fast as
 * the step that it builds on; null where that was not measured.
 * @typedef {{ gflops: number, share: number, factor: number | null }} Speed
 * @typedef {{ step: Step, mine: Speed, spread: number, cuda: Speed | null,
 *   wgsl: Speed | null }} Row
 */

/** Whether a step is of the book's own arithmetic, so that others may be compared with it. */
export const isFp32 = (/** @type {Row} */ { step }) => step.arithmetic === "fp32";

/** A step helps from here on, and does not below. Between the two lies what noise may be. */
const HELPS = 1.15;
const HELPS_NOT = 1.05;
/** Where the middle half of the samples reaches further than this, steps cannot be compared. */
export const TOO_FAR_APART = 0.1;

/**
 * The steps that were measured with the programs that the book has now.
 * @param {Measured} measured
 * @param {BookCard} book
 * @returns {Row[]}
 */
export function rowsOf(measured, book) {
  const flop = 2 * measured.size ** 3;
  /** @type {Map<string, number[]>} */
  const samples = new Map();
  for (const { name, fingerprint, seconds } of measured.rungs)
    samples.set(name + fingerprint, seconds);
  /** @type {Map<string, number>} */
  const mine = new Map();
  for (const { name, fingerprint } of book.steps) {
    const seconds = samples.get(name + fingerprint);
    if (seconds) mine.set(name, flop / medianOf(seconds) / 1e9);
  }
  const cuda = new Map(Object.entries(book.cuda.gflops));
  const wgsl = new Map(Object.entries(book.wgsl?.gflops ?? {}));
  return book.steps.flatMap((step) => {
    const speed = speedOf(step, mine, measured.multiply_add_gflops);
    const seconds = samples.get(step.name + step.fingerprint);
    if (!speed || !seconds) return [];
    return [
      {
        step,
        mine: speed,
        spread: spreadOf(seconds),
        cuda: speedOf(step, cuda, book.cuda.fma_gflops),
        wgsl: speedOf(step, wgsl, book.wgsl?.fma_gflops ?? 1),
      },
    ];
  });
}

/**
 * @param {Step} step
 * @param {Map<string, number>} speeds
 * @param {number} roof
 * @returns {Speed | null}
 */
function speedOf(step, speeds, roof) {
  const gflops = speeds.get(step.name);
  if (!gflops) return null;
  const before = speeds.get(step.parent ?? "");
  return { gflops, share: gflops / roof, factor: before ? gflops / before : null };
}

/**
 * On which of the two cards a step helped; null where that is not known, or may be noise.
 * @param {Row} row
 */
export function helpedWhere({ mine, cuda }) {
  if (!mine.factor || !cuda?.factor) return null;
  const [here, there] = [helps(mine.factor), helps(cuda.factor)];
  if (here === null || there === null) return null;
  if (here) return there ? "both" : "here";
  return there ? "there" : "neither";
}

/** @param {number} factor */
function helps(factor) {
  if (factor >= HELPS) return true;
  return factor < HELPS_NOT ? false : null;
}
