// Every program at sizes that do not fit its tiles, against exact products.

import { LabError } from "../errors.ts";
import type { Kernel as Program, Size } from "../kernel.ts";
import { sizeText } from "../text.ts";
import type { Card } from "./card.ts";
import { faultOf, faultOfRounded, fractions, wholeNumbers } from "./exact.ts";
import type { Compiled } from "./products.ts";
import { Product } from "./products.ts";

/** One element, full tiles, less than a tile, and more; K and N multiples of 4 and not. */
const AWKWARD_SIZES: Size[] = [
  [1, 1, 1],
  [3, 5, 7],
  [128, 128, 24],
  [33, 7, 129],
  [97, 203, 61],
  [130, 4, 6],
  [129, 132, 20],
];
/** For a program in half precision, with fractions. */
const ROUNDED_SIZE: Size = [97, 203, 61];

/**
 * Run a program at every awkward size. Throws a LabError that names the size where it is wrong. One
 * in half precision gets fractions too, and is held to what rounding may do to them at worst.
 */
export async function check(
  card: Card,
  program: Program,
  compiled: Compiled,
  sizes: Size[] = AWKWARD_SIZES,
) {
  const at = async (size: Size, drawn: typeof fractions, judge: typeof faultOf): Promise<void> => {
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
