// How tiles are shared among SMs: tile_waves.py in JavaScript, held equal to it by a test.

import { sentence } from "./sentences.ts";

/** A product of M×K by K×N, cut into tiles of BM×BN that walk K in windows of BK. */
export interface Product {
  m: number;
  n: number;
  k: number;
  bm: number;
  bn: number;
  bk: number;
}

/** What becomes of a product on the SMs of a GPU; see Sharing in tile_waves.py. */
export interface Sharing {
  whole: number;
  last: number;
  idle: number;
  time: number;
  used: number;
  useful: number;
  cut: number;
}

/** Rows, columns and number of tiles, and windows of K in each. */
export function tilesOf({ m, n, k, bm, bn, bk }: Product) {
  const [rows, columns, windows] = [Math.ceil(m / bm), Math.ceil(n / bn), Math.ceil(k / bk)];
  return { rows, columns, tiles: rows * columns, windows };
}

/** How many of `pieces` the busiest SM gets, if they are dealt evenly. */
export function mostOnOne(pieces: number, sms: number) {
  return Math.ceil(pieces / sms);
}

/**
 * Whether tiles of `windows` windows are shared: the rule of kernels with a WORTH.
 * @param least windows that this must spare an SM, the WORTH of the kernel
 */
export function worthSharing(tiles: number, windows: number, sms: number, least: number) {
  return tiles > sms || (sms - tiles) * windows > least * sms;
}

/**
 * What becomes of a product on `sms` SMs, each with `blocks` blocks at once.
 * @param even every SM gets the same number of windows
 */
export function sharing(
  product: Product,
  sms: number,
  blocks: number = 1,
  even: boolean = false,
): Sharing {
  const { tiles, windows } = tilesOf(product);
  const pieces = even ? tiles * windows : tiles;
  const busiest = mostOnOne(pieces, sms);
  return {
    whole: Math.floor(tiles / (sms * blocks)),
    last: tiles % (sms * blocks),
    idle: even ? Math.max(0, sms - pieces) : sms * mostOnOne(tiles, sms) - tiles,
    time: even ? busiest / windows : busiest,
    used: pieces / (sms * busiest),
    useful: usefulShare(product, sms, even),
    cut: even ? cutTiles(tiles, windows, sms) : 0,
  };
}

/** `sharing(…).useful` alone: what a curve over many sizes asks for. */
export function usefulShare(product: Product, sms: number, even: boolean) {
  const { tiles, windows } = tilesOf(product);
  const { m, n, k, bm, bn, bk } = product;
  const busiest = even ? mostOnOne(tiles * windows, sms) : mostOnOne(tiles, sms) * windows;
  return (m * n * k) / (sms * busiest * bm * bn * bk);
}

/** The GFLOP/s that SMs would make that always work: the most that measurements allow. */
export function fullSpeed(
  measured: [product: Product, even: boolean, gflops: number][],
  sms: number,
) {
  const speeds = measured.map(
    ([product, even, gflops]) => gflops / usefulShare(product, sms, even),
  );
  return Math.max(0, ...speeds);
}

/** What becomes of a product, in a sentence or two. */
export function sharingWords(
  product: Product,
  sms: number,
  blocks: number = 1,
  even: boolean = false,
) {
  const { tiles, windows } = tilesOf(product);
  const found = sharing(product, sms, blocks, even);
  const pieces = mostOnOne(tiles * windows, sms);
  const values = { tiles, sms, pieces, each: Math.floor(tiles / sms), ...found };
  let words = sentence("share.few", values);
  if (even) words = sentence("share.even", values);
  else if (!found.idle) words = sentence("share.full", values);
  else if (found.whole) words = sentence("share.last", values);
  const lost = 1 - found.useful / found.used;
  return lost > 0.0005 ? `${words} ${sentence("share.edge", { lost })}` : words;
}

/** How many tiles there are in which an SM's share ends before the tile does. */
function cutTiles(tiles: number, windows: number, sms: number) {
  const cut = new Set();
  for (let sm = 1; sm < sms; sm++) {
    const end = Math.floor((tiles * windows * sm) / sms);
    if (end % windows) cut.add(Math.floor(end / windows));
  }
  return cut.size;
}
