// When the barriers of a block open, and what is wrong with how its threads came to them.
//
// A barrier counts threads. It opens when all threads of the block that have not returned wait at a
// barrier of its number, whichever instruction brought them there: PTX ISA, "bar". With a count of
// its own it opens when that many have come. PTX wants all threads of one warp at the same
// instruction; warps may come by different ones.

import { WARP } from "../hardware.py";
import { DeadlockError, type Path, type Program, type Wait } from "./divergence.ts";
import type { Tally } from "./execution_counts.ts";
import type { BlockBatch } from "./group.ts";
import { both, CLUSTER_BARRIER, countNonzero, flatnonzero, less, warpsAmong } from "./group.ts";
import type { Mask } from "./registers.ts";

/** threads at a barrier */
interface Waiting {
  program: Program;
  path: Path;
  wait: Wait;
  lanes: Mask;
}

const NOWHERE = -1;
/**
 * Times that threads which ask in a loop may ask again though nothing has changed: the loop may have
 * an end of its own.
 */
const RETRIES = 200;

/**
 * Run all threads of the blocks in a batch, from barrier to barrier. With `threadByThread` each
 * thread runs alone up to its next barrier. Throws a DeadlockError where threads wait for what no
 * other thread will do.
 */
export function runToCompletion(
  batch: BlockBatch,
  programs: Program[],
  tally: Tally,
  threadByThread: boolean = false,
) {
  for (const program of programs) program.start(threadByThread);
  let retries = RETRIES;
  while (true) {
    for (const program of programs) program.run();
    if (!programs.some(({ paths }) => paths.length)) return;
    if (openBarriers(batch, programs, tally) || programs.some((one) => one.canRun())) continue;
    // All of them part, not only the first that can.
    const part = (within: boolean) => programs.map((one) => one.split(within)).includes(true);
    if (part(false) || part(true)) continue;
    if (retries && programs.map((one) => one.retryFailedTests()).includes(true)) {
      retries -= 1;
      continue;
    }
    resolveDeadlock(batch, programs, tally);
  }
}

function waitingPaths(programs: Program[]): Waiting[] {
  return programs.flatMap((program) =>
    program.paths.flatMap((path) => {
      const { wait } = path;
      return wait ? [{ program, path, wait, lanes: both(path.mask, program.group.alive) }] : [];
    }),
  );
}

/** Resume all threads whose barrier is complete; return whether there were any. */
function openBarriers(batch: BlockBatch, programs: Program[], tally: Tally) {
  const byNumber: Map<number, Waiting[]> = new Map();
  for (const one of waitingPaths(programs)) {
    byNumber.set(one.wait.number, [...(byNumber.get(one.wait.number) ?? []), one]);
  }
  let opened = false;
  for (const [number, waiting] of byNumber) {
    const complete = completeOf(batch, number, waiting, programs);
    if (!complete.includes(1)) continue;
    checkSameBarrier(complete, waiting);
    checkCount(batch, number, waiting);
    checkReturned(complete, waiting, programs);
    resume(batch, complete, waiting, programs, tally);
    opened = true;
  }
  return opened;
}

/** For each slot, whether a barrier has all it waits for. */
function completeOf(batch: BlockBatch, number: number, waiting: Waiting[], programs: Program[]) {
  const came = perSlot(batch, waiting);
  const counts = waiting.flatMap(({ wait }) => (wait.threads === null ? [] : [wait.threads]));
  const missing = aliveOf(batch, programs).map((alive, slot) => alive - came[slot]);
  const arrived = batch.arrivedAt(number);
  const least = Math.min(...counts);
  const size = number === CLUSTER_BARRIER ? batch.launch.cluster : 1;
  return Uint8Array.from(came, (count, slot) => {
    const first = slot - (slot % size);
    const enough = counts.length
      ? count + arrived[slot] >= least
      : !missing.subarray(first, first + size).some(Boolean);
    return count > 0 && enough ? 1 : 0;
  });
}

function perSlot(batch: BlockBatch, waiting: Waiting[]) {
  const counts = new Int32Array(batch.slots);
  for (const { program, lanes } of waiting) addLanes(counts, program.group.slot, lanes);
  return counts;
}

function aliveOf(batch: BlockBatch, programs: Program[]) {
  const counts = new Int32Array(batch.slots);
  for (const { group } of programs) addLanes(counts, group.slot, group.alive);
  return counts;
}

function addLanes(counts: Int32Array, slot: Int32Array, lanes: Mask) {
  for (let lane = 0; lane < lanes.length; lane++) counts[slot[lane]] += lanes[lane];
}

/** The lanes of a mask whose block's slot is chosen. */
function inSlots(lanes: Mask, slot: Int32Array, slots: Mask) {
  const found = new Uint8Array(lanes.length);
  for (let lane = 0; lane < lanes.length; lane++) found[lane] = lanes[lane] & slots[slot[lane]];
  return found;
}

/** Report a barrier at which more threads wait than it counts. */
function checkCount(batch: BlockBatch, number: number, waiting: Waiting[]) {
  const [{ wait, program, lanes }] = waiting;
  const { threads } = wait;
  if (threads === null || waiting.some((one) => one.wait.threads !== threads)) return;
  const arrived = batch.arrivedAt(number);
  const slot = perSlot(batch, waiting).findIndex((came, at) => came + arrived[at] > threads);
  if (slot < 0) return;
  const { group } = program;
  const lane = lanes.findIndex((one, at) => one === 1 && group.slot[at] === slot);
  const came = perSlot(batch, waiting)[slot] + arrived[slot];
  if (lane < 0) return;
  group.launch.hazards.barrierMiscounts(group, lane, wait.instruction, came, threads);
}

/** Report a barrier of all threads of a block that opens without some that have returned. */
function checkReturned(complete: Mask, [{ wait }]: Waiting[], programs: Program[]) {
  if (wait.threads !== null || wait.number === CLUSTER_BARRIER) return;
  for (const { group } of programs) {
    const lane = group.exists.findIndex(
      (one, at) => one === 1 && !group.alive[at] && complete[group.slot[at]] === 1,
    );
    if (lane >= 0) group.launch.hazards.barrierSkipped(group, lane, wait.instruction);
  }
}

/** Report threads that wait at one barrier by different instructions. */
function checkSameBarrier(complete: Mask, waiting: Waiting[]) {
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

const byInstruction = (one: Waiting, other: Waiting) =>
  one.wait.instruction.index - other.wait.instruction.index;

function firstCommonSlot(complete: Mask, one: Waiting, other: Waiting) {
  const theirs = slotsOf(other);
  return [...slotsOf(one)].sort((a, b) => a - b).find((slot) => complete[slot] && theirs.has(slot));
}

function slotsOf({ program: { group }, lanes }: Waiting) {
  return new Set(Array.from(flatnonzero(lanes), (lane) => group.slot[lane]));
}

/**
 * Report the threads of a program that wait at another instruction than others of their warp;
 * return whether there are some.
 */
function reportSplitWarps(program: Program, complete: Mask, waiting: Waiting[]) {
  const { group } = program;
  const site = new Int32Array(group.lanes).fill(NOWHERE);
  for (const one of waiting) {
    if (one.program !== program) continue;
    const arrived = inSlots(one.lanes, group.slot, complete);
    for (const lane of flatnonzero(arrived)) site[lane] = one.wait.instruction.index;
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

/** The last instruction that threads of a lane's warp wait at. */
function lastSite(site: Int32Array, lane: number) {
  const first = lane - (lane % WARP);
  return Math.max(...site.subarray(first, first + WARP));
}

/** Open a barrier in the slots where it is complete. */
function resume(
  batch: BlockBatch,
  complete: Mask,
  waiting: Waiting[],
  programs: Program[],
  tally: Tally,
) {
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
 * Deadlock: report the reason, and resume threads that wait at a barrier of their block; throws a
 * DeadlockError where nobody waits at one.
 */
function resolveDeadlock(batch: BlockBatch, programs: Program[], tally: Tally) {
  // Threads at a barrier may wait for some that ask in a loop for what never comes.
  for (const program of programs) {
    const asking = program.asking();
    if (asking) throw new DeadlockError(program.placeOf(asking));
  }
  const waiting = waitingPaths(programs);
  if (!waiting.length) {
    const program = programs.find(({ paths }) => paths.length) ?? programs[0];
    throw new DeadlockError(program.placeOf(program.paths[program.paths.length - 1]));
  }
  const [one] = waiting.toSorted(byInstruction);
  const present = perSlot(batch, [one]).map((count) => (count > 0 ? 1 : 0));
  reportMissing(Uint8Array.from(present), one, programs);
  resume(batch, Uint8Array.from(present), [one], programs, tally);
}

/** Say whom a barrier that cannot open waits for. */
function reportMissing(present: Mask, one: Waiting, programs: Program[]) {
  const { group } = one.program;
  const { instruction, threads } = one.wait;
  const { hazards } = group.launch;
  if (threads !== null) {
    const lane = one.lanes.indexOf(1);
    const came = flatnonzero(one.lanes).filter((at) => group.slot[at] === group.slot[lane]);
    hazards.barrierMiscounts(group, lane, instruction, came.length, threads);
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
