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
  waves: number;
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
}

/** Rows, columns and number of tiles, and K tiles of each. */
export function tilesOf({ m, n, k, bm, bn, bk }: Product) {
  const [rows, columns, kTiles] = [Math.ceil(m / bm), Math.ceil(n / bn), Math.ceil(k / bk)];
  return { rows, columns, tiles: rows * columns, kTiles };
}

/** How many of the output tiles, or of K tiles, the busiest SM gets, if they are dealt evenly. */
export function maxTilesPerSm(tiles: number, sms: number) {
  return Math.ceil(tiles / sms);
}

/**
 * Whether Stream-K splits tiles of `kTiles` K tiles: the rule of kernels with a WORTH.
 * @param least K tiles that an SM must save, the WORTH of the kernel
 */
export function usesStreamK(tiles: number, kTiles: number, sms: number, least: number) {
  return tiles > sms || (sms - tiles) * kTiles > least * sms;
}

/**
 * What becomes of a product on `sms` SMs.
 * @param streamK every SM gets the same number of K tiles; otherwise whole tiles (data-parallel)
 */
export function tileDistribution(
  product: Product,
  sms: number,
  streamK: boolean = false,
): TileDistribution {
  const { tiles, kTiles } = tilesOf(product);
  const pieces = streamK ? tiles * kTiles : tiles;
  const busiest = maxTilesPerSm(pieces, sms);
  return {
    waves: Math.floor(tiles / sms),
    last: tiles % sms,
    idle: streamK ? Math.max(0, sms - pieces) : sms * maxTilesPerSm(tiles, sms) - tiles,
    time: streamK ? busiest / kTiles : busiest,
    used: pieces / (sms * busiest),
    useful: usefulShare(product, sms, streamK),
  };
}

/** `tileDistribution(…).useful` alone: what a curve over many sizes asks for. */
export function usefulShare(product: Product, sms: number, streamK: boolean) {
  const { tiles, kTiles } = tilesOf(product);
  const { m, n, k, bm, bn, bk } = product;
  const busiest = streamK ? maxTilesPerSm(tiles * kTiles, sms) : maxTilesPerSm(tiles, sms) * kTiles;
  return (m * n * k) / (sms * busiest * bm * bn * bk);
}

/** The GFLOP/s that SMs would make that always work: the most that a kernel's measurements allow. */
export function fullSpeed(
  measured: { product: Product; gflops: number }[],
  sms: number,
  streamK: boolean,
) {
  return Math.max(0, ...measured.map((one) => one.gflops / usefulShare(one.product, sms, streamK)));
}

/** What becomes of a product, in a sentence or two. */
export function distributionWords(product: Product, sms: number) {
  const { tiles } = tilesOf(product);
  const found = tileDistribution(product, sms);
  const values = { tiles, sms, each: Math.floor(tiles / sms), ...found };
  let words = sentence("share.few", values);
  if (!found.idle) words = sentence("share.full", values);
  else if (found.waves) words = sentence("share.last", values);
  const lost = 1 - found.useful / found.used;
  return lost > 0.0005 ? `${words} ${sentence("share.edge", { lost })}` : words;
}
