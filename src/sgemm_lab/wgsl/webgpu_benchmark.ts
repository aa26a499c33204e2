// The whole measurement: every program is checked, a size is found that this card can bear, and the
// programs are timed in turns.

import type { Kernel as Program } from "../kernel.ts";
import { sizeText } from "../text.ts";
import { check, fractions } from "./checking.ts";
import { type Compiled, compiledOn, Product } from "./products.ts";
import type { Card } from "./webgpu_device.ts";

interface Step {
  program: Program;
  compiled: Compiled;
  once: number;
  seconds: number[];
}

/** Seconds of every sample of each program, by its name, of products with M = N = K = `size`. */
export interface Measured {
  card: string;
  /** as ISO 8601 has it */
  date: string;
  size: number;
  seconds: Record<string, number[]>;
}

const ROUNDS = 7;
const SMALLEST = 128;
const LARGEST = 4096;
/** No run of a program lasts longer, as far as can be predicted: the screen waits for it. */
const LONGEST_S = 0.1;
/** A sample lasts so long: the browser's clock has a delay of a millisecond or so. */
const SAMPLE_S = 0.1;
const MOST_TIMES = 500;

/**
 * Measure programs. Throws a LabError where one is wrong on this card, or something stops it.
 * @param report gets what is done next, and the share that is done
 * @param limits for tests
 */
export async function benchmark(
  card: Card,
  programs: Program[],
  report: (text: string, share: number) => void,
  { largest = LARGEST, rounds = ROUNDS }: { largest?: number; rounds?: number } = {},
): Promise<Measured> {
  const steps: Step[] = [];
  for (const [place, program] of programs.entries()) {
    report(`Checking ${program.name}`, (0.4 * place) / programs.length);
    const compiled = await compiledOn(card, program);
    await check(card, program, compiled);
    steps.push({ program, compiled, once: 0, seconds: [] });
  }
  report("Looking for a size that this card can bear", 0.4);
  const product = await bearableProduct(card, steps, largest);
  // In turns, so that a card that warms up slows all of them alike.
  for (let round = 0; round < rounds; round++) {
    const where = `Timing at ${sizeText(product.size)}, round ${round + 1} of ${rounds}`;
    report(where, 0.5 + (0.5 * round) / rounds);
    for (const { program, compiled, once, seconds } of steps) {
      const times = Math.min(MOST_TIMES, Math.max(1, Math.ceil(SAMPLE_S / once)));
      seconds.push(await product.seconds(program, compiled, times));
    }
  }
  product.free();
  return {
    card: card.name,
    date: new Date().toISOString(),
    size: product.size[0],
    seconds: Object.fromEntries(steps.map(({ program, seconds }) => [program.name, seconds])),
  };
}

/**
 * A cube whose product no program takes too long for: while the slowest would take eight times as
 * long in time, the cube is doubled.
 */
async function bearableProduct(card: Card, steps: Step[], largest: number) {
  for (let n = SMALLEST; ; n *= 2) {
    const product = await Product.on(card, [n, n, n]);
    product.fill(fractions(n * n, 3), fractions(n * n, 4));
    for (const step of steps) step.once = await product.seconds(step.program, step.compiled);
    const slowest = Math.max(...steps.map(({ once }) => once));
    const fits = 4 * (2 * n) ** 2 <= card.largestBinding;
    if (8 * slowest > LONGEST_S || 2 * n > largest || !fits) return product;
    product.free();
  }
}
