// @ts-check
// Which warps of a block do the same: parties.py in JavaScript, held equal to it by a test.

import { WARP } from "../hardware.py";

/** @typedef {import("../simulator/trace.js").Trace} Trace */

/**
 * The number of the party of each warp.
 * @param {number[][]} parties
 */
export function roleOf(parties) {
  return new Map(parties.flatMap((warps, i) => warps.map((warp) => [warp, i])));
}

/**
 * The warps that do the same: those who share a line that reads, writes or multiplies.
 * @param {Trace} trace
 */
export function rolesIn({ columns, products }) {
  /** @type {Map<number, Set<number>>} */
  const ofLine = new Map();
  /** @type {Map<number, number>} of each warp, the first step */
  const starts = new Map();
  for (const { line, thread, step } of [columns, products]) {
    for (const [i, number] of line.entries()) {
      const warp = Math.floor(thread[i] / WARP);
      ofLine.set(number, (ofLine.get(number) ?? new Set()).add(warp));
      starts.set(warp, Math.min(step[i], starts.get(warp) ?? step[i]));
    }
  }
  /** @type {Set<number>[]} */
  let parties = [];
  for (const those of ofLine.values()) {
    /** @param {Set<number>} party */
    const shares = (party) => [...party].some((warp) => those.has(warp));
    const joined = new Set([...those, ...parties.filter(shares).flatMap((party) => [...party])]);
    parties = [...parties.filter((party) => !shares(party)), joined];
  }
  /** @param {number[]} party */
  const start = (party) => Math.min(...party.map((warp) => starts.get(warp) ?? 0));
  return parties
    .map((party) => [...party].sort((a, b) => a - b))
    .sort((one, other) => start(one) - start(other));
}
