// The whole measurement: roofs, the check of every program, a size that this card can bear, and the
// programs in turns.

import { LabError } from "../errors.ts";
import type { Kernel as Program } from "../kernel.ts";
import { sizeText } from "../text.ts";
import type { Card } from "./card.ts";
import { check } from "./checking.ts";
import { faultOfLarge, fractions, wholeNumbers } from "./exact.ts";
import features from "./features.json";
import FORM from "./form.json";
import type { Measured } from "./form.ts";
import type { Compiled } from "./products.ts";
import { compiledOn, Product, programsOf } from "./products.ts";
import { copySpeed, multiplyAddSpeed } from "./roofs.ts";

interface Step {
  program: Program;
  compiled: Compiled;
  once: number;
  seconds: number[];
}

interface WithoutBarrier {
  name: string;
  why: string;
}

/**
 * The programs that the book has: those of the ladder with the fingerprints of their code, and
 * those that measure the card.
 */
export interface Book {
  programs: { name: string; source: string; fingerprint: string }[];
  roofs: { copy: string; multiply_add: string };
}

const ROUNDS = 7;
const SMALLEST = 128;
const LARGEST = 4096;
/** No run of a program lasts longer, as far as can be predicted: the screen waits for it. */
const LONGEST_S = 0.1;
/** Browsers round the card's clock to 0.1 ms, and their own comes with a delay. */
const SAMPLE_S = { timestamps: 0.03, "wall clock": 0.1 };
const MOST_TIMES = 200;

/**
 * Measure a card. Throws a LabError where a program is wrong on it, or something stops it.
 * @param report gets what is done next, and the share that is done
 * @param limits for tests
 */
export async function climb(
  card: Card,
  book: Book,
  report: (text: string, share: number) => void,
  { largest = LARGEST, rounds = ROUNDS }: { largest?: number; rounds?: number } = {},
): Promise<Measured> {
  report("Measuring how fast the card copies", 0);
  const copy = await copySpeed(card, book.roofs.copy);
  report("Measuring how fast it multiplies and adds", 0.05);
  const multiplyAdd = await multiplyAddSpeed(card, book.roofs.multiply_add);
  const { steps, leftOut } = await checkedSteps(card, book, report);
  report("Looking for a size that this card can bear", 0.4);
  const product = await bearableProduct(card, steps, largest);
  await timeInTurns(product, steps, card.clock, rounds, report);
  product.free();
  const fingerprints = new Map(book.programs.map(({ name, fingerprint }) => [name, fingerprint]));
  return {
    form: FORM,
    card: card.name,
    date: new Date().toISOString(),
    clock: card.clock,
    size: product.size[0],
    copy_gbs: copy,
    multiply_add_gflops: multiplyAdd,
    rungs: steps.map(({ program: { name }, seconds }) => ({
      name,
      fingerprint: fingerprints.get(name.split(":")[0]) ?? "",
      seconds,
    })),
    left_out: leftOut,
  };
}

/** Compile and check every program. One that needs what not every card has may be left out. */
async function checkedSteps(card: Card, book: Book, report: (text: string, share: number) => void) {
  const programs = book.programs.flatMap(({ name, source }) => programsOf(name, source));
  const steps: Step[] = [];
  const leftOut: WithoutBarrier[] = [];
  for (const [place, program] of programs.entries()) {
    report(`Checking ${program.name}`, 0.1 + (0.3 * place) / programs.length);
    try {
      const why = lackedBy(card, program);
      if (why) throw new LabError(why);
      const compiled = await compiledOn(card, program);
      await check(card, program, compiled);
      steps.push({ program, compiled, once: 0, seconds: [] });
    } catch (fault) {
      card.goOn();
      // Features are new to browsers: a program that needs one does not end the rest.
      if (program.needs === null || !(fault instanceof LabError)) throw fault;
      leftOut.push({ name: program.name, why: fault.message.replace(/\.$/, "") });
    }
  }
  return { steps, leftOut };
}

/** Why a card cannot run a program; null where it can. */
function lackedBy(card: Card, { needs }: Program) {
  if (needs === null || card.features.has(needs)) return null;
  return new Map(Object.entries(features)).get(needs) ?? `the card has no ${needs}`;
}

/**
 * A cube whose product no program takes too long for. At each size every program is checked, and
 * timed once; while the slowest would take eight times as long in time, the cube is doubled.
 */
async function bearableProduct(card: Card, steps: Step[], largest: number) {
  for (let n = SMALLEST; ; n *= 2) {
    const product = await Product.on(card, [n, n, n]);
    await checkAndTime(product, steps);
    const slowest = Math.max(...steps.map(({ once }) => once));
    const fits = 4 * (2 * n) ** 2 <= card.largestBinding;
    if (8 * slowest > LONGEST_S || 2 * n > largest || !fits) {
      product.fill(fractions(n * n, 3), fractions(n * n, 4));
      return product;
    }
    product.free();
  }
}

async function checkAndTime(product: Product, steps: Step[]) {
  const [n] = product.size;
  const [a, b] = [wholeNumbers(n * n, 1), wholeNumbers(n * n, 2)];
  product.fill(a, b);
  for (const step of steps) {
    const { program, compiled } = step;
    const fault = faultOfLarge(a, b, await product.result(program, compiled), product.size);
    if (fault)
      throw new LabError(`${program.name} is wrong at ${sizeText(product.size)}: ${fault}`);
    step.once = await product.seconds(program, compiled);
  }
}

/** Sample the programs in turns, so that a card that warms up slows all of them alike. */
async function timeInTurns(
  product: Product,
  steps: Step[],
  clock: "timestamps" | "wall clock",
  rounds: number,
  report: (text: string, share: number) => void,
) {
  for (let round = 0; round < rounds; round++) {
    report(
      `Timing at ${sizeText(product.size)}, round ${round + 1} of ${rounds}`,
      0.5 + (0.5 * round) / rounds,
    );
    for (const step of steps) step.seconds.push(await sample(product, step, clock));
  }
}

function sample(
  product: Product,
  { program, compiled, once }: Step,
  clock: "timestamps" | "wall clock",
) {
  const times = Math.min(MOST_TIMES, Math.max(1, Math.ceil(SAMPLE_S[clock] / once)));
  return product.seconds(program, compiled, times);
}
