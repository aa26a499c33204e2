// Cost model of a product on many GPUs: the 2-D and the 2.5-D layout.
//
// In the 2-D layout, Cannon's, p GPUs form a square. Each of its √p steps multiplies tiles of n/√p
// rows and columns, and overlaps sending two of them. The 2.5-D layout has c layers of p/c GPUs,
// each with a copy of A and B and a part of K, and does √(p/c³) of Cannon's steps. Before the steps
// A and B are broadcast to all layers, and after them the layers' C are summed. Each of these three
// transfers is a pipeline over log₂ c GPUs without overlap. Source: E. Solomonik and J. Demmel,
// "Communication-optimal parallel 2.5D matrix multiplication and LU factorization algorithms", 2011.
// A transfer of b bytes takes α + b/β seconds.

import { FLOAT_BYTES } from "../hardware.py";
import { sentence } from "./sentences.ts";

/** Tiles of a GPU: one of C, and three each of A and B (its own, and two in transfer). */
const BUFFERS = 7;

/** What a product takes; see OnPaper in simulator/formulas.py. */
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
  // The first tiles are present at the start; the others arrive during the products.
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
