// A product on the card: its matrices, and the programs that may compute it.

import type { Kernel as Program, Size } from "../kernel.ts";
import { launchShape, parseKernel, valuesOf, withConstants } from "../kernel.ts";
import { writtenOut } from "./loop_unrolling.ts";
import type { Card } from "./webgpu_device.ts";

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
    public card: Card,
    public size: Size,
    public buffers: GPUBuffer[],
  ) {}

  fill(...matrices: [a: Float32Array<ArrayBuffer>, b: Float32Array<ArrayBuffer>]) {
    for (const [i, numbers] of matrices.entries()) this.card.write(this.buffers[i], numbers);
  }

  /**
   * C after one run of a program. Before, NaN stands in all of it, and so where nothing is written.
   */
  async result(program: Program, compiled: Compiled) {
    const [m, n] = this.size;
    const [, , c] = this.buffers;
    this.card.write(c, new Float32Array(m * n).fill(Number.NaN));
    await this.seconds(program, compiled);
    return this.card.read(c, m * n);
  }

  /** The seconds of one run of a program, of several in a row. */
  seconds(program: Program, compiled: Compiled, times: number = 1) {
    const [a, b] = this.buffers;
    const { grid } = launchShape(program, this.size);
    return this.card.seconds(this.card.join(compiled, [...this.buffers, a, b]), grid, times);
  }

  /** Give the memory back. */
  free() {
    this.card.free(...this.buffers);
  }
}
