// The addresses of an access: computed, checked, and passed to the observers.

import type { Access, Site, ThreadGroup } from "./group.ts";
import { ATOMIC, COPY_READ, flatnonzero, LOAD, STORE } from "./group.ts";
import { type Memory, OUTSIDE, UNWRITTEN, WRITTEN } from "./memory.ts";
import { overRuns } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";
import type { UsedIf } from "./speculative_loads.ts";

type Report = (access: Access, lanes: Int32Array) => void;

const WORD = 2 ** 32;

/**
 * A function that gives the present byte addresses of a memory operand, one per lane; of those that
 * are not in a mask they are meaningless. They hold until it, or that of another instruction's
 * operand at the same position, is called again.
 */
export function addressOf(
  group: ThreadGroup,
  instruction: Instruction,
  position: number,
): (mask?: Mask | null) => Float64Array {
  const operand = instruction.operands[position];
  if (operand?.kind !== "address") {
    throw new PtxError(sentence("run.address", { place: `${instruction.location}` }));
  }
  const { base, offset } = operand;
  if (group.addressScratch[position].length === 0) {
    group.addressScratch[position] = new Float64Array(group.lanes);
  }
  const out = group.addressScratch[position];
  if (base.kind !== "register") {
    const start = Number(BigInt.asIntN(64, group.registers.constantBits(base))) + offset;
    return () => out.fill(start);
  }
  const row = group.registers.row(base, 2) ?? group.registers.whole(base.name);
  const words = row.i32;
  if (row.width !== 4 && row.width !== 8) throw new TypeError(instruction.opcode);
  const fill = overRuns(group, (from, to) => {
    if (row.width === 8) addPairs(out, words, offset, from, to);
    else addWords(out, words, offset, from, to);
  });
  return (mask = null) => {
    fill(mask);
    return out;
  };
}

function addPairs(out: Float64Array, words: Int32Array, offset: number, from: number, to: number) {
  for (let i = from; i < to; i++) {
    out[i] = words[2 * i + 1] * WORD + (words[2 * i] >>> 0) + offset;
  }
}

/** Addresses are unsigned; those of 32 bits are extended with zeros. */
function addWords(out: Float64Array, words: Int32Array, offset: number, from: number, to: number) {
  for (let i = from; i < to; i++) out[i] = (words[i] >>> 0) + offset;
}

interface BeginOptions {
  notify?: boolean;
  scratch?: number;
  usedIf?: UsedIf;
}

/**
 * Check the addresses of an access, report what is wrong, and notify the observers. Lanes with an
 * illegal address take no further part, as if they were inactive.
 * @param options `scratch`: which of the group's rows takes
 *   the positions; without, they are kept for ever. `usedIf`: where a load's value is used at all
 */
export function begin(
  group: ThreadGroup,
  site: Site,
  addresses: Float64Array,
  mask: Mask | null,
  { notify = true, scratch, usedIf }: BeginOptions = {},
): Access {
  const memory = group.memory(site.space);
  const lanes = mask === null ? null : group.lanesOf(mask);
  const away = memory === group.batch.shared && group.namesBlock(addresses, lanes);
  const [low, offsets] = away ? group.inCluster(addresses) : [addresses, group.offsets(site.space)];
  const count = lanes === null ? group.lanes : lanes.length;
  const positions = positionsFor(group, count, scratch);
  const bad = place(memory, site.width, low, offsets, positions, lanes);
  const elsewhere = away
    ? Uint8Array.from(low, (_, lane) => (offsets?.[lane] === group.sharedOffset[lane] ? 0 : 1))
    : null;
  const found = { group, site, memory, mask, addresses: low, lanes, positions, elsewhere };
  let access: Access = { ...found, whole: true };
  if (group.lost) access = withoutLost(access, group.lost);
  if (bad) access = withoutIllegal(access);
  access = checkState(access);
  if (notify) {
    const { observers } = group.launch;
    const used = usedIf ? whereUsed(access, usedIf) : access;
    for (const observer of observers) observer.onAccess?.(observer.judges ? used : access);
  }
  if (group.launch.uninitialized.active) group.launch.uninitialized.onMove(access);
  return access;
}

/** An access of one lane that the observers are not notified of: they are of what it is part of. */
export function beginAlone(group: ThreadGroup, site: Site, lane: number, address: number) {
  const alone = new Uint8Array(group.lanes);
  alone[lane] = 1;
  group.infoOf(alone).lanes = Int32Array.of(lane);
  group.aloneScratch[lane] = address;
  return begin(group, site, group.aloneScratch, alone, { notify: false });
}

function positionsFor(group: ThreadGroup, count: number, scratch: number | undefined) {
  if (scratch === undefined || group.launch.accessesKept) return new Int32Array(count);
  if (group.positionScratch[scratch].length === 0) {
    group.positionScratch[scratch] = new Int32Array(group.lanes);
  }
  const whole = group.positionScratch[scratch];
  return count === group.lanes ? whole : whole.subarray(0, count);
}

/** Work out the positions of some lanes, null for all; true where an address is outside or not aligned. */
function place(
  { base, size }: Memory,
  width: number,
  addresses: Float64Array,
  offsets: Int32Array | null,
  positions: Int32Array,
  lanes: Int32Array | null,
) {
  const last = size - width;
  const low = width - 1;
  let bad = false;
  for (let i = 0; i < positions.length; i++) {
    const lane = lanes === null ? i : lanes[i];
    const relative = addresses[lane] - base;
    if (!(relative >= 0 && relative <= last) || (relative & low) !== 0) bad = true;
    positions[i] = offsets === null ? relative : relative + offsets[lane];
  }
  return bad;
}

/**
 * Report and drop the lanes that address what is outside of the memory, then those whose address
 * is no multiple of the width.
 */
function withoutIllegal(access: Access) {
  const { site, memory, addresses } = access;
  const last = memory.size - site.width;
  const where = (test: (relative: number) => boolean, of: Access) =>
    Uint8Array.from(of.positions, (_, i) => {
      const lane = of.lanes === null ? i : of.lanes[i];
      return test(addresses[lane] - memory.base) ? 1 : 0;
    });
  const outside = where((relative) => relative < 0 || relative > last, access);
  const inside = without(access, outside, reportOutside);
  const { hazards } = access.group.launch;
  const crooked = where((relative) => (relative & (site.width - 1)) !== 0, inside);
  return without(inside, crooked, (one, lanes) => hazards.misaligned(one, lanes));
}

/** Drop the lanes whose values nobody knows. */
const withoutLost = (access: Access, lost: Uint8Array) =>
  without(
    access,
    Uint8Array.from(access.positions, (_, i) => lost[access.lanes ? access.lanes[i] : i]),
  );

/** Report and drop lanes between arrays; report lanes that read what nothing wrote. */
function checkState(access: Access) {
  const { memory, site, positions } = access;
  const reads = site.kind === LOAD || site.kind === ATOMIC || site.kind === COPY_READ;
  if (memory.space !== "global" && !reads) return access;
  const { state, arrays } = memory;
  const { words, wordBytes } = site;
  const isCut = arrays.some(({ bytes }) => bytes % wordBytes !== 0);
  if (!isCut && allWritten(state, positions, words, wordBytes)) return access;
  const lowest = new Uint8Array(positions.length).fill(WRITTEN);
  for (let i = 0; i < positions.length; i++) {
    for (let word = 0; word < words; word++) {
      const at = positions[i] + word * wordBytes;
      // A word may end behind the array in which it starts.
      const seen = state[at + wordBytes - 1] === OUTSIDE ? OUTSIDE : state[at];
      lowest[i] = Math.min(lowest[i], seen);
    }
  }
  const { uninitialized } = access.group.launch;
  const unwritten = lowest.map((state) => (state === UNWRITTEN ? 1 : 0));
  if (reads && unwritten.includes(1)) uninitialized.onRead(access, chosenLanes(access, unwritten));
  const outside = lowest.map((state) => (state === OUTSIDE ? 1 : 0));
  return without(access, outside, reportOutside);
}

/** Report lanes outside of all arrays, but for those in what is not held of a large one. */
function reportOutside(access: Access, lanes: Int32Array) {
  const { memory, addresses, group, site } = access;
  const isHeld = (lane: number) => !memory.isUnheld(addresses[lane] + site.width - 1);
  const found = memory.unheld.length ? lanes.filter(isHeld) : lanes;
  if (found.length < lanes.length && site.kind !== STORE) {
    // Nobody knows what they read, nor what they do with it.
    group.lost ??= new Uint8Array(group.lanes);
    for (const lane of lanes) if (!isHeld(lane)) group.lost[lane] = 1;
    group.launch.isPartial = true;
  }
  if (found.length) group.launch.hazards.outOfBounds(access, found);
}

function allWritten(state: Uint8Array, positions: Int32Array, words: number, wordBytes: number) {
  for (let word = 0; word < words; word++) {
    const offset = word * wordBytes;
    for (let i = 0; i < positions.length; i++) {
      if (state[positions[i] + offset] !== WRITTEN) return false;
    }
  }
  return true;
}

function chosenLanes({ lanes }: Access, chosen: Uint8Array) {
  const where = flatnonzero(chosen);
  return lanes === null ? where : where.map((at) => lanes[at]);
}

/** A load by those lanes alone that use its value. */
function whereUsed(access: Access, { literals }: UsedIf) {
  const { registers } = access.group;
  const rows = literals.map(({ register, holds }) => ({
    row: registers.predicate(register),
    value: holds ? 1 : 0,
  }));
  const away = Uint8Array.from(access.positions, (_, i) => {
    const lane = access.lanes ? access.lanes[i] : i;
    return rows.every(({ row, value }) => row[lane] === value) ? 0 : 1;
  });
  return without(access, away);
}

/** Report the lanes that are wrong, if there are any, and go on without them. */
function without(access: Access, wrong: Uint8Array, report?: Report): Access {
  if (!wrong.includes(1)) return access;
  report?.(access, chosenLanes(access, wrong));
  return {
    ...access,
    lanes: chosenLanes(
      access,
      wrong.map((one) => 1 - one),
    ),
    positions: access.positions.filter((_, i) => !wrong[i]),
    whole: false,
  };
}
