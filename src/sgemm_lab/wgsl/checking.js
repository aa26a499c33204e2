// @ts-check
// Every program at sizes that do not fit its tiles, against exact products.

import { LabError } from "../errors.js";
import { sizeText } from "../text.js";
import { faultOf, faultOfRounded, fractions, wholeNumbers } from "./exact.js";
import { AWKWARD_SIZES, ROUNDED_SIZE } from "./native.py";
import { Product } from "./products.js";

/** @typedef {import("./products.js").Program} Program */
/** @typedef {import("./products.js").Compiled} Compiled */
/** @typedef {import("./products.js").Size} Size */

/**
 * Run a program at every awkward size. Throws a LabError that names the size where it is wrong. One
 * in half precision gets fractions too, and is held to what rounding may do to them at worst.
 * @param {import("./card.js").Card} card
 * @param {Program} program
 * @param {Compiled} compiled
 * @param {Size[]} [sizes]
 */
export async function check(card, program, compiled, sizes = AWKWARD_SIZES) {
  /** @type {(size: Size, drawn: typeof fractions, judge: typeof faultOf) => Promise<void>} */
  const at = async (size, drawn, judge) => {
    const [m, n, k] = size;
    const [a, b] = [drawn(m * k, m), drawn(k * n, n + 1)];
    const product = await Product.on(card, size);
    product.fill(a, b);
    const fault = judge(a, b, await product.result(program, compiled), size);
    product.free();
    if (fault) throw new LabError(`${program.name} is wrong at ${sizeText(size)}: ${fault}`);
  };
  for (const size of sizes) await at(size, wholeNumbers, faultOf);
  if (program.arithmetic === "fp16") await at(ROUNDED_SIZE, fractions, faultOfRounded);
}
