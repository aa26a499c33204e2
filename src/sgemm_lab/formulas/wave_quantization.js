// @ts-check
// How tiles are shared among SMs: tile_waves.py in JavaScript, held equal to it by a test.

import { sentence } from "./sentences.js";

/**
 * A product of M×K by K×N, cut into tiles of BM×BN that walk K in windows of BK.
 * @typedef {{ m: number, n: number, k: number, bm: number, bn: number, bk: number }} Product
 *
 * What becomes of a product on the SMs of a GPU; see Sharing in tile_waves.py.
 * @typedef {object} Sharing
 * @property {number} whole
 * @property {number} last
 * @property {number} idle
 * @property {number} time
 * @property {number} used
 * @property {number} useful
 * @property {number} cut
 */

/**
 * Rows, columns and number of tiles, and windows of K in each.
 * @param {Product} product
 */
export function tilesOf({ m, n, k, bm, bn, bk }) {
  const [rows, columns, windows] = [Math.ceil(m / bm), Math.ceil(n / bn), Math.ceil(k / bk)];
  return { rows, columns, tiles: rows * columns, windows };
}

/**
 * How many of `pieces` the busiest SM gets, if they are dealt evenly.
 * @param {number} pieces
 * @param {number} sms
 */
export function mostOnOne(pieces, sms) {
  return Math.ceil(pieces / sms);
}

/**
 * Whether tiles of `windows` windows are shared: the rule of kernels with a WORTH.
 * @param {number} tiles
 * @param {number} windows
 * @param {number} sms
 * @param {number} least windows that this must spare an SM, the WORTH of the kernel
 */
export function worthSharing(tiles, windows, sms, least) {
  return tiles > sms || (sms - tiles) * windows > least * sms;
}

/**
 * What becomes of a product on `sms` SMs, each with `blocks` blocks at once.
 * @param {Product} product
 * @param {number} sms
 * @param {number} [blocks]
 * @param {boolean} [even] every SM gets the same number of windows
 * @returns {Sharing}
 */
export function sharing(product, sms, blocks = 1, even = false) {
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

/**
 * `sharing(…).useful` alone: what a curve over many sizes asks for.
 * @param {Product} product
 * @param {number} sms
 * @param {boolean} even
 */
export function usefulShare(product, sms, even) {
  const { tiles, windows } = tilesOf(product);
  const { m, n, k, bm, bn, bk } = product;
  const busiest = even ? mostOnOne(tiles * windows, sms) : mostOnOne(tiles, sms) * windows;
  return (m * n * k) / (sms * busiest * bm * bn * bk);
}

/**
 * The GFLOP/s that SMs would make that always work: the most that measurements allow.
 * @param {[product: Product, even: boolean, gflops: number][]} measured
 * @param {number} sms
 */
export function fullSpeed(measured, sms) {
  const speeds = measured.map(
    ([product, even, gflops]) => gflops / usefulShare(product, sms, even),
  );
  return Math.max(0, ...speeds);
}

/**
 * What becomes of a product, in a sentence or two.
 * @param {Product} product
 * @param {number} sms
 * @param {number} [blocks]
 * @param {boolean} [even]
 */
export function sharingWords(product, sms, blocks = 1, even = false) {
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

/**
 * How many tiles there are in which an SM's share ends before the tile does.
 * @param {number} tiles
 * @param {number} windows
 * @param {number} sms
 */
function cutTiles(tiles, windows, sms) {
  const cut = new Set();
  for (let sm = 1; sm < sms; sm++) {
    const end = Math.floor((tiles * windows * sm) / sms);
    if (end % windows) cut.add(Math.floor(end / windows));
  }
  return cut.size;
}
