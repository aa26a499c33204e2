// A product on very many GPUs: scaling_model.py in TypeScript; a test compares them.

import { FLOAT_BYTES } from "../hardware.py";
import { BUFFERS } from "./scaling_model.py";
import { sentence } from "./sentences.ts";

/** What a product takes; see OnPaper in scaling_model.py. */
interface OnPaper {
  seconds: number;
  efficiency: number;
  bytes_per_gpu: number;
  product: number;
  transfer: number;
}

/** How many GPUs it takes for so many copies. */
export function leastGpus(copies: number) {
  return copies ** 3;
}

/** What a product of n×n matrices takes; one copy is the 2-D layout. */
export function onPaper(
  n: number,
  gpus: number,
  copies: number,
  alpha: number,
  bytesPerSecond: number,
  flopPerSecond: number,
): OnPaper {
  const side = Math.sqrt(gpus / copies);
  const steps = side / copies;
  const tile = FLOAT_BYTES * (n / side) * (n / side);
  const product = (2 * (n / side) * (n / side) * (n / side)) / flopPerSecond;
  const transfer = 2 * alpha + (2 * tile) / bytesPerSecond;
  const inner = product + (steps - 1) * Math.max(product, transfer);
  const once = Math.log2(copies) * alpha + tile / bytesPerSecond;
  const seconds = inner + (copies > 1 ? 3 * once : 0);
  const efficiency = (steps * product) / seconds;
  const held = Math.floor(BUFFERS * tile + 0.5);
  return { seconds, efficiency, bytes_per_gpu: held, product, transfer };
}

/** What both layouts make of a product, in a sentence or two each. */
export function paperWords(
  n: number,
  gpus: number,
  copies: number,
  alpha: number,
  bytesPerSecond: number,
  flopPerSecond: number,
) {
  const plain = onPaper(n, gpus, 1, alpha, bytesPerSecond, flopPerSecond);
  const first = sentence(plain.transfer <= plain.product ? "paper.hidden" : "paper.shows", {
    n,
    gpus,
    milliseconds: 1e3 * plain.seconds,
    efficiency: plain.efficiency,
    product: 1e3 * plain.product,
    transfer: 1e3 * plain.transfer,
  });
  const least = leastGpus(copies);
  if (gpus < least) return [first, sentence("paper.few", { copies, least })];
  const layers = onPaper(n, gpus, copies, alpha, bytesPerSecond, flopPerSecond);
  const second = sentence("paper.copies", {
    copies,
    efficiency: layers.efficiency,
    memory: layers.bytes_per_gpu / 1e9,
    plain: plain.bytes_per_gpu / 1e9,
  });
  return [first, second];
}
