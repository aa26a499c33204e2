// The predicted time of a candidate of the dispatcher: model.py in TypeScript; a test compares them.

import { usesStreamK } from "../../formulas/wave_quantization.ts";
import { FLOAT_BYTES } from "../../hardware.py";
import { VECTOR } from "./model.py";

export type Size = [m: number, n: number, k: number];

/** A kernel with its constants and fitted costs, in seconds for each unit of each term. */
export interface Candidate {
  name: string;
  label: string;
  /** without constants */
  kernel: string;
  values: Record<string, number>;
  /** blocks on an SM */
  resident: number;
  /** that run at a time; 0 without clusters */
  clusters: number;
  /** the largest M, N and K; empty: any */
  most: number[];
  aligned: number[];
  other: number[];
}

/** Seconds of a candidate at M, N, K: the counts of its terms, each times what one costs. */
export function seconds(one: Candidate, size: Size, sms: number) {
  const costs = costsOf(one, size);
  return terms(one, size, sms).reduce((sum, count, i) => sum + count * costs[i], 0);
}

/** What a unit of each term costs: other loads where float4 cannot read the rows. */
export function costsOf(one: Candidate, [, n, k]: Size) {
  return (one.kernel === "one_column" ? k : n) % VECTOR === 0 ? one.aligned : one.other;
}

/** Whether a size is within the range for which a kernel is a candidate. */
export function isCandidate(one: Candidate, size: Size) {
  return one.most.every((most, i) => size[i] <= most);
}

/** The counts of the terms of a candidate, in the order of `TERMS`. */
export function terms(one: Candidate, size: Size, sms: number): number[] {
  const [m, n, k] = size;
  const moved = [FLOAT_BYTES * (m * k + k * n), FLOAT_BYTES * m * n];
  return [1, ...moved, ...(SPECIAL[one.kernel] ?? tiled)(one, size, sms)];
}

const { ceil, max, min } = Math;

/** The largest part of a tile that is within C. */
const within = ([m, n]: Size, { BM, BN }: Record<string, number>) =>
  min(1, m / BM) * min(1, n / BN);

function tiled(one: Candidate, size: Size, sms: number) {
  const [m, n, k] = size;
  const { BM, BN, BK = 1, SPLIT = 1, BLOCKS } = one.values;
  const tiles = ceil(m / BM) * ceil(n / BN);
  const shared = one.kernel === "split_k";
  const parts = shared ? max(1, ceil((BLOCKS * sms + 1) / tiles) - 1) : SPLIT;
  const busiest = ceil(tiles / (one.clusters || sms / parts));
  const rounds = ceil(busiest / one.resident);
  const ofBlock = ceil(ceil(k / BK) / parts);
  const adds = parts > 1 && !one.clusters ? busiest * parts : 0;
  const stores = busiest * within(size, one.values);
  return [busiest * ofBlock, rounds * ofBlock, stores, rounds, adds];
}

function streamK({ values }: Candidate, size: Size, sms: number) {
  const [m, n, k] = size;
  const tiles = ceil(m / values.BM) * ceil(n / values.BN);
  const kTiles = ceil(k / values.BK);
  const part = within(size, values);
  const stores = ceil(tiles / sms) * part;
  const { WORTH } = values;
  if (WORTH !== undefined && !usesStreamK(tiles, kTiles, sms, WORTH)) {
    return [kTiles, 0, stores, 0, 0];
  }
  const cut = tiles % sms ? part : 0;
  return [ceil((tiles * kTiles) / sms), 0, stores + cut, 0, ceil(sms / tiles)];
}

function oneRow({ values, resident }: Candidate, [m, n, k]: Size, sms: number) {
  const { TM, BN, PARTS } = values;
  const blocks = ceil(m / TM) * ceil(n / BN);
  const busiest = ceil(blocks / sms);
  const depth = ceil(blocks / (sms * resident)) * ceil(k / PARTS);
  return [busiest * BN * TM * k, depth, busiest, 0, 0];
}

function oneColumn({ values, resident }: Candidate, [m, n, k]: Size, sms: number) {
  const { TM, WARPS } = values;
  const blocks = ceil(m / TM) * n;
  const busiest = ceil(blocks / sms);
  const depth = ceil(blocks / (sms * resident)) * ceil(k / (32 * WARPS));
  return [busiest * TM * k, depth, busiest, 0, 0];
}

const SPECIAL: Record<string, typeof tiled> = {
  stream_k: streamK,
  per_warp_stages: streamK,
  one_row: oneRow,
  one_column: oneColumn,
};
