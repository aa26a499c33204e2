// A product on the card: its matrices, and the programs that may compute it.

import type { Kernel as Program, Size } from "../kernel.ts";
import { launchShape, parseKernel, valuesOf, withConstants } from "../kernel.ts";
import type { Card } from "./card.ts";
import { writtenOut } from "./loop_unrolling.ts";

export type Compiled = Awaited<ReturnType<Card["compile"]>>;

/** A, B, C, the size, and A and B once more for programs that read four floats at once. */
const BINDINGS = [
  "read-only-storage",
  "read-only-storage",
  "storage",
  "uniform",
  "read-only-storage",
  "read-only-storage",
] as const;

/** A program and its variants: the constants that its head comment names. */
export function programsOf(name: string, source: string): Program[] {
  const program = parseKernel(name, source);
  const variants = program.variants.map((text) => {
    const pairs = text.split(",").map((pair) => pair.split("="));
    const values = Object.fromEntries(pairs.map(([constant, value]) => [constant, Number(value)]));
    return withConstants(program, values, valuesOf(program));
  });
  return [program, ...variants];
}

export const compiledOn = (card: Card, program: Program): Promise<Compiled> =>
  card.compile(writtenOut(program.source), [...BINDINGS]);

/** The matrices of a product on a card. */
export class Product {
  #card;
  #a;
  #b;
  #c;
  #size;

  /** Allocate matrices of zeros. Throws a LabError where the card has too little. */
  static async on(card: Card, size: Size) {
    const [m, n, k] = size;
    const made = [];
    try {
      for (const count of [m * k, k * n, m * n]) made.push(await card.buffer(4 * count));
      const sizes = await card.buffer(12, "uniform");
      card.write(sizes, new Uint32Array(size));
      return new Product(card, size, [...made, sizes]);
    } catch (fault) {
      card.free(...made);
      throw fault;
    }
  }

  /** @param buffers of A, B, C and the size */
  constructor(
    card: Card,
    public size: Size,
    buffers: GPUBuffer[],
  ) {
    this.#card = card;
    [this.#a, this.#b, this.#c, this.#size] = buffers;
  }

  fill(a: Float32Array<ArrayBuffer>, b: Float32Array<ArrayBuffer>) {
    this.#card.write(this.#a, a);
    this.#card.write(this.#b, b);
  }

  /**
   * C after one run of a program. Before, NaN stands in all of it, and so where nothing is written.
   */
  async result(program: Program, compiled: Compiled) {
    const [m, n] = this.size;
    this.#card.write(this.#c, new Float32Array(m * n).fill(Number.NaN));
    await this.seconds(program, compiled);
    return this.#card.read(this.#c, m * n);
  }

  /** The seconds of one run of a program, of several in a row. */
  seconds(program: Program, compiled: Compiled, times: number = 1) {
    const buffers = [this.#a, this.#b, this.#c, this.#size, this.#a, this.#b];
    const { grid } = launchShape(program, this.size);
    return this.#card.seconds(this.#card.join(compiled, buffers), grid, times);
  }

  /** Give the memory back. */
  free() {
    this.#card.free(this.#a, this.#b, this.#c, this.#size);
  }
}
