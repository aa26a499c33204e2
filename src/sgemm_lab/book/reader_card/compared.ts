// A reader's card compared with the book's GPU, step by step: speeds, shares, and what each step brought.

import type { Measured } from "../../wgsl/form.ts";
import { medianOf, spreadOf } from "../../wgsl/spread.ts";

/**
 * A step of the ladder as the book has it: its title, its parent, where it is read, "fp32" or
 * "fp16".
 */
interface Step {
  name: string;
  title: string;
  parent: string | null;
  href: string;
  arithmetic: string;
  fingerprint: string;
}

/**
 * How fast the book's GPU climbs in one language: the size, its own rate of multiply-adds, GFLOP/s
 * by step, as far as they are measured.
 */
interface Climb {
  size: number;
  fma_gflops: number;
  gflops: Record<string, number>;
}

/** The book's GPU, and how fast its ladder gets in the end. */
export interface BookCard {
  name: string;
  cuda: Climb;
  wgsl: Climb | null;
  steps: Step[];
  best: { title: string; gflops: number };
}

/**
 * A speed: GFLOP/s, its share of what the card's arithmetic reaches, and how many times as fast as
 * the step that it builds on; null where that was not measured.
 */
export interface Speed {
  gflops: number;
  share: number;
  factor: number | null;
}

export interface Row {
  step: Step;
  mine: Speed;
  spread: number;
  cuda: Speed | null;
  wgsl: Speed | null;
}

/** Whether a step is of the book's own arithmetic, so that others may be compared with it. */
export const isFp32 = ({ step }: Row) => step.arithmetic === "fp32";

/** A step helps from here on, and does not below. Between the two lies what noise may be. */
const HELPS = 1.15;
const HELPS_NOT = 1.05;
/** Where the middle half of the samples reaches further than this, steps cannot be compared. */
export const TOO_FAR_APART = 0.1;

/** The steps that were measured with the programs that the book has now. */
export function rowsOf(measured: Measured, book: BookCard): Row[] {
  const flop = 2 * measured.size ** 3;
  const samples: Map<string, number[]> = new Map();
  for (const { name, fingerprint, seconds } of measured.rungs)
    samples.set(name + fingerprint, seconds);
  const mine: Map<string, number> = new Map();
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

function speedOf(step: Step, speeds: Map<string, number>, roof: number): Speed | null {
  const gflops = speeds.get(step.name);
  if (!gflops) return null;
  const before = speeds.get(step.parent ?? "");
  return { gflops, share: gflops / roof, factor: before ? gflops / before : null };
}

/** On which of the two cards a step helped; null where that is not known, or may be noise. */
export function helpedWhere({ mine, cuda }: Row) {
  if (!mine.factor || !cuda?.factor) return null;
  const [here, there] = [helps(mine.factor), helps(cuda.factor)];
  if (here === null || there === null) return null;
  if (here) return there ? "both" : "here";
  return there ? "there" : "neither";
}

function helps(factor: number) {
  if (factor >= HELPS) return true;
  return factor < HELPS_NOT ? false : null;
}
