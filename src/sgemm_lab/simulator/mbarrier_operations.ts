// Barriers in shared memory (mbarrier), and the bulk copies that complete them.
//
// Source: PTX ISA, "mbarrier" and "cp.async.bulk". A copy lands when a thread first asks for its
// mbarrier, so that a kernel that does not ask reads what was there before.

import { SECTOR_BYTES, WARP } from "../hardware.py";
import { addressOf, begin, beginAlone } from "./accesses.ts";
import { landCopies } from "./async_copies.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { Access, BlockBatch, BulkCopy, MemoryBarrier, ThreadGroup } from "./group.ts";
import { COPY_READ, COPY_WRITE, flatnonzero, Site, STORE } from "./group.ts";
import { SHARED_WINDOW } from "./memory.ts";
import { type Match, nothing, operations, type Step } from "./operations.ts";
import type { Instruction, Operand } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";
import { clocksOf, mergeClock, type Row } from "./vector_clocks.ts";

/** Gives the active lanes, and where in shared memory each one's mbarrier lies. */
type BarrierAddresses = (mask: Mask | null) => [lane: number, place: number][];

/** Bytes of one mbarrier. */
const BYTES = 8;
const WORD = 4;
/** Bytes that a bulk copy moves at least. */
const PIECE = 16;
const PIECE_WORDS = PIECE / WORD;

export function placesOf(
  group: ThreadGroup,
  instruction: Instruction,
  position: number,
): BarrierAddresses {
  const addresses = addressOf(group, instruction, position);
  const site = new Site(instruction, "shared", STORE, BYTES, 1, false);
  return (mask) => {
    const here = addresses(mask);
    const { base, size } = group.batch.shared;
    const lanes = mask === null ? flatnonzero(group.alive) : group.lanesOf(mask);
    for (const lane of lanes) if (here[lane] >= SHARED_WINDOW) here[lane] -= SHARED_WINDOW;
    const away = group.namesBlock(here, lanes);
    const [low, offsets] = away ? group.inCluster(here) : [here, group.sharedOffset];
    const wrong = lanes.some((lane) => {
      const relative = low[lane] - base;
      return relative < 0 || relative > size - BYTES || relative % BYTES !== 0;
    });
    if (wrong) {
      // Out of bounds or misaligned: reported as for any access.
      const access = begin(group, site, here, mask);
      const { positions, lanes: legal } = access;
      return Array.from(positions, (place, i) => [legal ? legal[i] : i, place]);
    }
    return Array.from(lanes, (lane) => [lane, low[lane] - base + offsets[lane]]);
  };
}

/** The mbarrier at a place in shared memory. */
export function barrierAt(group: ThreadGroup, { location }: Instruction, place: number) {
  const found = group.batch.mbarriers.get(place);
  if (!found) throw new PtxError(sentence("mbarrier.unknown", { place: location }));
  return found;
}

/** What an operand reads in a lane, as a whole number. */
export function numberIn(
  group: ThreadGroup,
  operand: Operand,
  type: string = "u32",
): (lane: number) => number {
  const read = group.registers.reader(operand, type);
  return (lane) => Number(read(lane));
}

function initialise(group: ThreadGroup, instruction: Instruction): Step {
  const places = placesOf(group, instruction, 0);
  const count = numberIn(group, instruction.operands[1]);
  const { mbarriers, shared } = group.batch;
  return (mask) => {
    for (const [lane, place] of places(mask)) {
      const expected = count(lane);
      const counts = { expected, pending: expected, phase: 0, bytes: 0 };
      mbarriers.set(place, { ...counts, released: null, acquired: null });
      shared.markWritten(Int32Array.of(place), BYTES);
    }
  };
}

function invalidate(group: ThreadGroup, instruction: Instruction): Step {
  const places = placesOf(group, instruction, 0);
  return (mask) => {
    for (const [, place] of places(mask)) group.batch.mbarriers.delete(place);
  };
}

function completePhase(batch: BlockBatch, barrier: MemoryBarrier) {
  if (barrier.pending > 0 || barrier.bytes !== 0) return;
  barrier.phase += 1;
  barrier.pending += barrier.expected;
  barrier.acquired = barrier.released;
  batch.progressCount += 1;
}

/** Add the clock of an arrival to those released before, without changing them. */
function mergeReleased(barrier: MemoryBarrier, known: Row) {
  const released = known.slice();
  if (barrier.released) mergeClock(released, barrier.released);
  barrier.released = released;
}

/** Release a lane's clock at a barrier; `released` has those of its instruction, by warp. */
function releaseArrival(
  group: ThreadGroup,
  barrier: MemoryBarrier,
  lane: number,
  released: Map<string, Row>,
) {
  const warp = warpOf(group, lane);
  const known = getOrInsert(released, `${warp}`, () => clocksOf(group).release(...warp));
  mergeReleased(barrier, known);
}

/** Cluster of a lane's warp, and its number there. */
function warpOf(group: ThreadGroup, lane: number): [number, number] {
  return [group.batch.clusterOf(group.slot[lane]), group.warpOf(lane)];
}

/** `mbarrier.arrive` and `mbarrier.arrive.expect_tx`; gives the phase as the state. */
function arrive(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { operands } = instruction;
  const [first] = operands;
  const state = first.kind === "register" ? group.registers.writer(first, "u64") : null;
  const places = placesOf(group, instruction, state ? 1 : 0);
  const last = state ? 2 : 1;
  const amount = last < operands.length ? numberIn(group, operands[last]) : () => 1;
  return (mask) => {
    const released: Map<string, Row> = new Map();
    const completed: Map<number, number> = new Map();
    for (const [lane, place] of places(mask)) {
      const barrier = barrierAt(group, instruction, place);
      const [{ phase }, warp] = [barrier, Math.floor(lane / WARP)];
      if (completed.get(place) === warp) {
        group.launch.hazards.barrierOverflows(group, lane, instruction, barrier.expected);
      }
      state?.(lane, BigInt(phase));
      releaseArrival(group, barrier, lane, released);
      barrier.bytes += match.expect ? amount(lane) : 0;
      barrier.pending -= match.expect ? 1 : amount(lane);
      completePhase(group.batch, barrier);
      if (barrier.phase !== phase) completed.set(place, warp);
    }
  };
}

function expect(group: ThreadGroup, instruction: Instruction): Step {
  const places = placesOf(group, instruction, 0);
  const amount = numberIn(group, instruction.operands[1]);
  return (mask) => {
    for (const [lane, place] of places(mask)) {
      barrierAt(group, instruction, place).bytes += amount(lane);
    }
  };
}

/** `cp.async.mbarrier.arrive`: the thread's copies so far are done, then it arrives. */
function arriveAfterCopies(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const places = placesOf(group, instruction, 0);
  return (mask) => {
    landCopies(group, mask, null);
    const released: Map<string, Row> = new Map();
    for (const [lane, place] of places(mask)) {
      const barrier = barrierAt(group, instruction, place);
      releaseArrival(group, barrier, lane, released);
      // Without .noinc the phase waits for one arrival more, which this one is.
      barrier.pending -= match.noinc ? 1 : 0;
      completePhase(group.batch, barrier);
    }
  };
}

/** `mbarrier.test_wait` and `try_wait`: is the phase over, by its parity or its state? */
function test(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const places = placesOf(group, instruction, 1);
  const [target, , phaseOperand] = instruction.operands;
  const asked = numberIn(group, phaseOperand, match.parity ? "u32" : "u64");
  if (target.kind !== "register") throw new TypeError(instruction.opcode);
  const row = group.registers.predicate(target);
  return (mask) => {
    const clocks = clocksOf(group);
    const acquired = new Set();
    for (const [lane, place] of places(mask)) {
      const barrier = barrierAt(group, instruction, place);
      land(group, place, barrier);
      const phase = asked(lane);
      const over = match.parity ? barrier.phase % 2 !== phase % 2 : barrier.phase > phase;
      row[lane] = over ? 1 : 0;
      group.testFailed ||= !over;
      const warp = warpOf(group, lane);
      const key = `${warp} ${place}`;
      if (over && barrier.acquired && !acquired.has(key)) {
        acquired.add(key);
        clocks.acquire(...warp, barrier.acquired);
      }
    }
  };
}

/** Let the bulk copies that complete an mbarrier arrive. */
function land(group: ThreadGroup, place: number, barrier: MemoryBarrier) {
  const { batch } = group;
  const mine = batch.bulkCopies.filter((copy) => copy.barrier === place);
  if (!mine.length) return;
  batch.bulkCopies = batch.bulkCopies.filter((copy) => copy.barrier !== place);
  for (const copy of mine) {
    copy.positions.forEach((position, piece) => {
      const four = copy.data.subarray(PIECE_WORDS * piece, PIECE_WORDS * (piece + 1));
      batch.shared.words.set(four, position / WORD);
    });
    batch.shared.markWritten(copy.positions, PIECE);
    for (const observer of group.launch.observers) observer.onBulkLanded?.(copy);
    mergeReleased(barrier, copy.known);
    barrier.bytes -= copy.data.byteLength;
    completePhase(batch, barrier);
  }
  batch.progressCount += 1;
}

/** `cp.async.bulk` from global memory to the block's own shared memory. */
function bulkCopy(group: ThreadGroup, instruction: Instruction): Step {
  const [to, origin] = [addressOf(group, instruction, 0), addressOf(group, instruction, 1)];
  const size = numberIn(group, instruction.operands[2]);
  const places = placesOf(group, instruction, 3);
  const write = new Site(instruction, "shared", COPY_WRITE, PIECE, 1, false);
  const read = new Site(instruction, "global", COPY_READ, PIECE, 1, false);
  return (mask) => {
    for (const [lane, place] of places(mask)) {
      const bytes = size(lane);
      if (bytes % PIECE) {
        throw new PtxError(sentence("mbarrier.length", { place: instruction.location, bytes }));
      }
      barrierAt(group, instruction, place);
      if (!bytes) continue;
      const into = wholeCopy(group, write, lane, to()[lane], bytes);
      const from = into && wholeCopy(group, read, lane, origin()[lane], bytes);
      if (into && from) startCopy(group, into, from, lane, bytes, place);
    }
  };
}

/** One end of a thread's copy; null where its first and last piece are not inside one array. */
function wholeCopy(group: ThreadGroup, site: Site, lane: number, address: number, bytes: number) {
  const first = beginAlone(group, site, lane, address);
  const last = beginAlone(group, site, lane, address + bytes - PIECE);
  return first.positions.length && last.positions.length ? first : null;
}

/** Start the copy of one thread: read the source now, and keep it until it lands. */
function startCopy(
  group: ThreadGroup,
  into: Access,
  from: Access,
  lane: number,
  bytes: number,
  place: number,
) {
  const start = from.positions[0] / WORD;
  const data = from.memory.words.slice(start, start + bytes / WORD);
  const [first] = into.positions;
  const positions = new Int32Array(bytes / PIECE).map((_, piece) => first + PIECE * piece);
  startBulkCopy(group, into, lane, positions, data, place, Math.ceil(bytes / SECTOR_BYTES));
}

/** Start a copy to pieces of 16 bytes in shared memory: see `BulkCopy`. */
export function startBulkCopy(
  group: ThreadGroup,
  access: Access,
  lane: number,
  positions: Int32Array,
  data: Int32Array,
  barrier: number,
  sectors: number,
) {
  const { batch } = group;
  const [time, known] = clocksOf(group).copyStarts(...warpOf(group, lane));
  const copy: BulkCopy = { access, positions, data, sectors, barrier, time, known };
  batch.bulkCopies.push(copy);
  batch.progressCount += 1;
  for (const observer of group.launch.observers) observer.onBulkCopy?.(copy);
}

/** `elect.sync`: the predicate holds in the first lane of those that take part. */
function elect(group: ThreadGroup, { operands, opcode }: Instruction): Step {
  const [target] = operands;
  if (target.kind !== "pair") throw new TypeError(opcode);
  const holds = group.registers.predicate(target.second);
  const leader = group.registers.writer(target.first, "u32");
  return (mask) => {
    const active = mask ?? group.alive;
    for (let start = 0; start < group.lanes; start += WARP) {
      const first = active.subarray(start, start + WARP).indexOf(1);
      for (let lane = start; first >= 0 && lane < start + WARP; lane++) {
        if (!active[lane]) continue;
        holds[lane] = lane === start + first ? 1 : 0;
        leader(lane, BigInt(first));
      }
    }
  };
}

const SHARED = "(?:\\.shared(?:::(?:cta|cluster))?)?";
const ORDER = "(?:\\.(?:release|acquire|relaxed))?(?:\\.(?:cta|cluster))?";
const COPIED = "shared::(?:cluster|cta)\\.global\\.mbarrier::complete_tx::bytes";

export const MBARRIER_OPERATIONS = operations([
  [`mbarrier\\.init${SHARED}\\.b64`, initialise],
  [`mbarrier\\.inval${SHARED}\\.b64`, invalidate],
  [`mbarrier\\.arrive(?<expect>\\.expect_tx)?${ORDER}${SHARED}\\.b64`, arrive],
  [`mbarrier\\.expect_tx${ORDER}${SHARED}\\.b64`, expect],
  [`mbarrier\\.(?:try|test)_wait(?<parity>\\.parity)?${ORDER}${SHARED}\\.b64`, test],
  [`cp\\.async\\.mbarrier\\.arrive(?<noinc>\\.noinc)?${SHARED}\\.b64`, arriveAfterCopies],
  [`cp\\.async\\.bulk\\.${COPIED}(?:\\.L2::cache_hint)?`, bulkCopy],
  ["elect\\.sync", elect],
  ["barrier\\.cluster\\.arrive.*", nothing],
  ["setmaxnreg\\.(?:inc|dec)\\.sync\\.aligned\\.u32", nothing],
]);
