// @ts-check
// When the barriers of a block open, and what is wrong with how its threads came to them:
// barriers.py in JavaScript; there it says by what rule.

import { WARP } from "../hardware.py";
import { StuckError } from "./divergence.js";
import { both, countNonzero, flatnonzero, less, warpsAmong } from "./group.js";

/** @typedef {import("./group.js").BlockBatch} BlockBatch */
/** @typedef {import("./divergence.js").Path} Path */
/** @typedef {import("./divergence.js").Program} Program */
/** @typedef {import("./divergence.js").Wait} Wait */
/** @typedef {import("./registers.js").Mask} Mask */
/** @typedef {import("./execution_counts.js").Tally} Tally */

/** @typedef {{ program: Program, path: Path, wait: Wait, lanes: Mask }} Waiting threads at a barrier */

const NOWHERE = -1;

/**
 * Run all threads of the blocks in a batch, from barrier to barrier. With `apart` each thread runs
 * on its own: one after the other up to their next barrier. Throws a StuckError where threads wait
 * for what no other thread will do.
 * @param {BlockBatch} batch
 * @param {Program[]} programs
 * @param {Tally} tally
 * @param {boolean} apart
 */
export function runToTheEnd(batch, programs, tally, apart = false) {
  for (const program of programs) program.start(apart);
  while (true) {
    for (const program of programs) program.run();
    if (!programs.some(({ paths }) => paths.length)) return;
    if (openBarriers(batch, programs, tally) || programs.some((one) => one.canRun())) continue;
    // All of them part, not only the first that can.
    if (programs.map((one) => one.partWays()).includes(true)) continue;
    giveUp(batch, programs, tally);
  }
}

/**
 * @param {Program[]} programs
 * @returns {Waiting[]}
 */
function whoWaits(programs) {
  return programs.flatMap((program) =>
    program.paths.flatMap((path) => {
      const { wait } = path;
      return wait ? [{ program, path, wait, lanes: both(path.mask, program.group.alive) }] : [];
    }),
  );
}

/**
 * Let go all threads whose barrier is complete; tell whether there were any.
 * @param {BlockBatch} batch
 * @param {Program[]} programs
 * @param {Tally} tally
 */
function openBarriers(batch, programs, tally) {
  /** @type {Map<number, Waiting[]>} */
  const byNumber = new Map();
  for (const one of whoWaits(programs)) {
    byNumber.set(one.wait.number, [...(byNumber.get(one.wait.number) ?? []), one]);
  }
  let opened = false;
  for (const [number, waiting] of byNumber) {
    const complete = completeOf(batch, number, waiting, programs);
    if (!complete.includes(1)) continue;
    checkMeeting(complete, waiting);
    letGo(batch, complete, waiting, programs, tally);
    opened = true;
  }
  return opened;
}

/**
 * For each slot, whether a barrier has all it waits for.
 * @param {BlockBatch} batch
 * @param {number} number
 * @param {Waiting[]} waiting
 * @param {Program[]} programs
 * @returns {Mask}
 */
function completeOf(batch, number, waiting, programs) {
  const came = perSlot(batch, waiting);
  const counts = waiting.flatMap(({ wait }) => (wait.threads === null ? [] : [wait.threads]));
  const alive = aliveOf(batch, programs);
  const arrived = batch.arrivedAt(number);
  const least = Math.min(...counts);
  return Uint8Array.from(came, (count, slot) => {
    const enough = counts.length ? count + arrived[slot] >= least : count === alive[slot];
    return count > 0 && enough ? 1 : 0;
  });
}

/**
 * @param {BlockBatch} batch
 * @param {Waiting[]} waiting
 */
function perSlot(batch, waiting) {
  const counts = new Int32Array(batch.slots);
  for (const { program, lanes } of waiting) addLanes(counts, program.group.slot, lanes);
  return counts;
}

/**
 * @param {BlockBatch} batch
 * @param {Program[]} programs
 */
function aliveOf(batch, programs) {
  const counts = new Int32Array(batch.slots);
  for (const { group } of programs) addLanes(counts, group.slot, group.alive);
  return counts;
}

/**
 * @param {Int32Array} counts
 * @param {Int32Array} slot
 * @param {Mask} lanes
 */
function addLanes(counts, slot, lanes) {
  for (let lane = 0; lane < lanes.length; lane++) counts[slot[lane]] += lanes[lane];
}

/**
 * The lanes of a mask whose block's slot is chosen.
 * @param {Mask} lanes
 * @param {Int32Array} slot
 * @param {Mask} slots
 */
function inSlots(lanes, slot, slots) {
  const found = new Uint8Array(lanes.length);
  for (let lane = 0; lane < lanes.length; lane++) found[lane] = lanes[lane] & slots[slot[lane]];
  return found;
}

/**
 * Say where the threads that meet have come by different instructions.
 * @param {Mask} complete
 * @param {Waiting[]} waiting
 */
function checkMeeting(complete, waiting) {
  if (new Set(waiting.map(({ wait }) => wait.instruction.index)).size < 2) return;
  for (const program of new Set(waiting.map((one) => one.program))) {
    if (reportSplitWarps(program, complete, waiting)) return;
  }
  const [first, ...others] = waiting.toSorted(byInstruction);
  for (const other of others) {
    if (other.wait.instruction === first.wait.instruction) continue;
    const slot = firstCommonSlot(complete, first, other);
    if (slot === undefined) continue;
    const { group } = other.program;
    const lane = other.lanes.findIndex((one, at) => one === 1 && group.slot[at] === slot);
    const { instruction } = other.wait;
    group.launch.hazards.barrierSplit(group, lane, instruction, first.wait.instruction);
  }
}

/**
 * @param {Waiting} one
 * @param {Waiting} other
 */
const byInstruction = (one, other) => one.wait.instruction.index - other.wait.instruction.index;

/**
 * @param {Mask} complete
 * @param {Waiting} one
 * @param {Waiting} other
 */
function firstCommonSlot(complete, one, other) {
  const theirs = slotsOf(other);
  return [...slotsOf(one)].sort((a, b) => a - b).find((slot) => complete[slot] && theirs.has(slot));
}

/**
 * @param {Waiting} waiting
 */
function slotsOf({ program: { group }, lanes }) {
  return new Set(Array.from(flatnonzero(lanes), (lane) => group.slot[lane]));
}

/**
 * Report the threads of a program that wait at another instruction than others of their warp; tell
 * whether there are some.
 * @param {Program} program
 * @param {Mask} complete
 * @param {Waiting[]} waiting
 */
function reportSplitWarps(program, complete, waiting) {
  const { group } = program;
  const site = new Int32Array(group.lanes).fill(NOWHERE);
  for (const one of waiting) {
    if (one.program !== program) continue;
    const met = inSlots(one.lanes, group.slot, complete);
    for (const lane of flatnonzero(met)) site[lane] = one.wait.instruction.index;
  }
  const missing = Uint8Array.from(site, (index, lane) =>
    index !== NOWHERE && index !== lastSite(site, lane) ? 1 : 0,
  );
  if (!missing.includes(1)) return false;
  const index = lastSite(site, missing.indexOf(1));
  const barrier = waiting.find(({ wait }) => wait.instruction.index === index);
  if (barrier) {
    group.launch.hazards.barrierMissed(group, barrier.wait.instruction, missing);
  }
  return true;
}

/**
 * The last instruction that threads of a lane's warp wait at.
 * @param {Int32Array} site
 * @param {number} lane
 */
function lastSite(site, lane) {
  const first = lane - (lane % WARP);
  return Math.max(...site.subarray(first, first + WARP));
}

/**
 * Open a barrier in the slots where it is complete.
 * @param {BlockBatch} batch
 * @param {Mask} complete
 * @param {Waiting[]} waiting
 * @param {Program[]} programs
 * @param {Tally} tally
 */
function letGo(batch, complete, waiting, programs, tally) {
  const came = perSlot(batch, waiting);
  const alive = aliveOf(batch, programs);
  const whole = complete.map((one, slot) => (one && came[slot] === alive[slot] ? 1 : 0));
  const opened = waiting.map((one) => ({
    ...one,
    free: inSlots(one.lanes, one.program.group.slot, complete),
  }));
  const warps = batch.clocks
    ? opened.flatMap(({ program, free }) => warpsAmong(program.group, free))
    : [];
  batch.passed(waiting[0].wait.number, complete, whole, warps);
  const first = Math.min(...waiting.map(({ wait }) => wait.instruction.index));
  tally.barriers[first] += countNonzero(complete);
  for (const { program, path, lanes, free } of opened) {
    const count = countNonzero(free);
    if (count === countNonzero(lanes)) path.wait = null;
    else if (count) program.paths.push(path.split(free));
  }
}

/**
 * Nothing can go on. Say why, and let go who waits at a barrier of its block; throws a StuckError
 * where nobody waits at one.
 * @param {BlockBatch} batch
 * @param {Program[]} programs
 * @param {Tally} tally
 */
function giveUp(batch, programs, tally) {
  const waiting = whoWaits(programs);
  if (!waiting.length) {
    const program = programs.find(({ paths }) => paths.length) ?? programs[0];
    throw new StuckError(program.placeOf(program.paths[program.paths.length - 1]));
  }
  const [one] = waiting.toSorted(byInstruction);
  const present = perSlot(batch, [one]).map((count) => (count > 0 ? 1 : 0));
  reportMissing(Uint8Array.from(present), one, programs);
  letGo(batch, Uint8Array.from(present), [one], programs, tally);
}

/**
 * Say whom a barrier that cannot open waits for.
 * @param {Mask} present
 * @param {Waiting} one
 * @param {Program[]} programs
 */
function reportMissing(present, one, programs) {
  const { group } = one.program;
  const { instruction, threads } = one.wait;
  const { hazards } = group.launch;
  if (threads !== null) {
    const lane = one.lanes.indexOf(1);
    const came = flatnonzero(one.lanes).filter((at) => group.slot[at] === group.slot[lane]);
    hazards.barrierStarved(group, lane, instruction, came.length, threads);
    return;
  }
  for (const program of programs) {
    const theirs = inSlots(program.group.alive, program.group.slot, present);
    const missing = program === one.program ? less(theirs, one.lanes) : theirs;
    if (missing.includes(1)) {
      hazards.barrierMissed(program.group, instruction, missing);
      return;
    }
  }
}
