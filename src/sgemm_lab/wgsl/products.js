// @ts-check
// A product on the card: its matrices, and the programs that may compute it.

import { launchShape, parseKernel, valuesOf, withConstants } from "../kernel.js";
import { writtenOut } from "./loop_unrolling.js";

/** @typedef {import("../kernel.js").Kernel} Program */
/** @typedef {import("../kernel.js").Size} Size */
/** @typedef {import("./card.js").Card} Card */
/** @typedef {Awaited<ReturnType<Card["compile"]>>} Compiled */

/** A, B, C, the size, and A and B once more for programs that read four floats at once. */
const BINDINGS = /** @type {const} */ ([
  "read-only-storage",
  "read-only-storage",
  "storage",
  "uniform",
  "read-only-storage",
  "read-only-storage",
]);

/**
 * A program and its variants: the constants that its head comment names.
 * @param {string} name
 * @param {string} source
 * @returns {Program[]}
 */
export function programsOf(name, source) {
  const program = parseKernel(name, source);
  const variants = program.variants.map((text) => {
    const pairs = text.split(",").map((pair) => pair.split("="));
    const values = Object.fromEntries(pairs.map(([constant, value]) => [constant, Number(value)]));
    return withConstants(program, values, valuesOf(program));
  });
  return [program, ...variants];
}

/**
 * @param {Card} card
 * @param {Program} program
 * @returns {Promise<Compiled>}
 */
export const compiledOn = (card, program) =>
  card.compile(writtenOut(program.source), [...BINDINGS]);

/** The matrices of a product on a card. */
export class Product {
  #card;
  #a;
  #b;
  #c;
  #size;

  /**
   * Make room for matrices of zeros. Throws a LabError where the card has too little.
   * @param {Card} card
   * @param {Size} size
   */
  static async on(card, size) {
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

  /**
   * @param {Card} card
   * @param {Size} size
   * @param {GPUBuffer[]} buffers of A, B, C and the size
   */
  constructor(card, size, buffers) {
    this.#card = card;
    this.size = size;
    [this.#a, this.#b, this.#c, this.#size] = buffers;
  }

  /**
   * @param {Float32Array<ArrayBuffer>} a
   * @param {Float32Array<ArrayBuffer>} b
   */
  fill(a, b) {
    this.#card.write(this.#a, a);
    this.#card.write(this.#b, b);
  }

  /**
   * C after one run of a program. Before, NaN stands in all of it, and so where nothing is written.
   * @param {Program} program
   * @param {Compiled} compiled
   */
  async result(program, compiled) {
    const [m, n] = this.size;
    this.#card.write(this.#c, new Float32Array(m * n).fill(Number.NaN));
    await this.seconds(program, compiled);
    return this.#card.read(this.#c, m * n);
  }

  /**
   * The seconds of one run of a program, of several in a row.
   * @param {Program} program
   * @param {Compiled} compiled
   * @param {number} [times]
   */
  seconds(program, compiled, times = 1) {
    const buffers = [this.#a, this.#b, this.#c, this.#size, this.#a, this.#b];
    const { grid } = launchShape(program, this.size);
    return this.#card.seconds(this.#card.join(compiled, buffers), grid, times);
  }

  /** Give the memory back. */
  free() {
    this.#card.free(this.#a, this.#b, this.#c, this.#size);
  }
}
