// Distribution of tiles over SMs, and Stream-K: wave_quantization.py in TypeScript; a test compares them.

import { sentence } from "./sentences.ts";

/** A product of M×K by K×N, cut into tiles of BM×BN and K tiles of BK. */
export interface Product {
  m: number;
  n: number;
  k: number;
  bm: number;
  bn: number;
  bk: number;
}

/** What becomes of a product on the SMs of a GPU. */
export interface TileDistribution {
  /** full waves */
  whole: number;
  /** tiles of the last wave; 0 if all waves are full */
  last: number;
  /** SMs without a tile at the end of the launch */
  idle: number;
  /** in units of an SM's time for one tile */
  time: number;
  /** share of the SMs' total time in which they have a tile */
  used: number;
  /** share of the SMs' total time for elements within C */
  useful: number;
  /** tiles that are split between SMs */
  cut: number;
}

/** Rows, columns and number of tiles, and K tiles of each. */
export function tilesOf({ m, n, k, bm, bn, bk }: Product) {
  const [rows, columns, kTiles] = [Math.ceil(m / bm), Math.ceil(n / bn), Math.ceil(k / bk)];
  return { rows, columns, tiles: rows * columns, kTiles };
}

/** How many of `pieces` the busiest SM gets, if they are dealt evenly. */
export function mostOnOne(pieces: number, sms: number) {
  return Math.ceil(pieces / sms);
}

/**
 * Whether Stream-K splits tiles of `kTiles` K tiles: the rule of kernels with a WORTH.
 * @param least K tiles that an SM must save, the WORTH of the kernel
 */
export function worthSharing(tiles: number, kTiles: number, sms: number, least: number) {
  return tiles > sms || (sms - tiles) * kTiles > least * sms;
}

/**
 * What becomes of a product on `sms` SMs.
 * @param even every SM gets the same number of K tiles (Stream-K)
 */
export function sharing(product: Product, sms: number, even: boolean = false): TileDistribution {
  const { tiles, kTiles } = tilesOf(product);
  const pieces = even ? tiles * kTiles : tiles;
  const busiest = mostOnOne(pieces, sms);
  return {
    whole: Math.floor(tiles / sms),
    last: tiles % sms,
    idle: even ? Math.max(0, sms - pieces) : sms * mostOnOne(tiles, sms) - tiles,
    time: even ? busiest / kTiles : busiest,
    used: pieces / (sms * busiest),
    useful: usefulShare(product, sms, even),
    cut: even ? cutTiles(tiles, kTiles, sms) : 0,
  };
}

/** `sharing(…).useful` alone: what a curve over many sizes asks for. */
export function usefulShare(product: Product, sms: number, even: boolean) {
  const { tiles, kTiles } = tilesOf(product);
  const { m, n, k, bm, bn, bk } = product;
  const busiest = even ? mostOnOne(tiles * kTiles, sms) : mostOnOne(tiles, sms) * kTiles;
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
export function sharingWords(product: Product, sms: number, even: boolean = false) {
  const { tiles, kTiles } = tilesOf(product);
  const found = sharing(product, sms, even);
  const pieces = mostOnOne(tiles * kTiles, sms);
  const values = { tiles, sms, pieces, each: Math.floor(tiles / sms), ...found };
  let words = sentence("share.few", values);
  if (even) words = sentence("share.even", values);
  else if (!found.idle) words = sentence("share.full", values);
  else if (found.whole) words = sentence("share.last", values);
  const lost = 1 - found.useful / found.used;
  return lost > 0.0005 ? `${words} ${sentence("share.edge", { lost })}` : words;
}

/** How many tiles there are in which an SM's share ends before the tile does. */
function cutTiles(tiles: number, kTiles: number, sms: number) {
  const cut = new Set();
  for (let sm = 1; sm < sms; sm++) {
    const end = Math.floor((tiles * kTiles * sm) / sms);
    if (end % kTiles) cut.add(Math.floor(end / kTiles));
  }
  return cut.size;
}
