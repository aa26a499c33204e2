// Hazards of a run as sentences: data races, accesses out of bounds, uninitialized values. The race
// detectors are in block_barrier_races.ts, vector_clock_races.ts and global_races.ts.

import { WARP } from "../hardware.py";
import type { Access, EarlyUse, Site, ThreadGroup } from "./group.ts";
import { type Dim3, type Hazard, type OddKind, Suspect, sameMessage } from "./hazard_types.ts";
import type { Image } from "./images.ts";
import { GLOBAL_BASE, type NamedArray } from "./memory.ts";
import type { Instruction } from "./ptx.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";
import type { Location } from "./source_locations.ts";

/** Addresses below are null, or of the host. */
const BELOW_ARRAYS = 2 ** 33;

/** Kinds of hazard. */
export const OUT_OF_BOUNDS = "out of bounds";
export const MISALIGNED = "misaligned";
export const UNWRITTEN = "unwritten";
export const RACE = "race";
export const IN_FLIGHT = "in flight";
export const BARRIER = "barrier";
export const EXCHANGE = "exchange";
/** Kinds of warning: odd, and right on a GPU all the same, or not seen in what is written. */
export const SPLIT_BARRIER = "split barrier";
export const UNSET = "unset";

/** What is wrong with two accesses, other than that a barrier between them is missing. */
export type RaceSentence = "hazard.together" | "hazard.update" | "hazard.scope";

/**
 * Told of every access that faults: the access, its lanes that fault, and what to say of a lane.
 */
type FaultListener = (access: Access, lanes: Int32Array, say: (lane: number) => string) => void;

/**
 * The first of some hazards; of races rather one between two warps. Threads of one warp mostly run
 * side by side, but which warp is first is chance.
 */
export function mostRelevant(hazards: Hazard[]) {
  const race = hazards[0].kind === RACE && hazards.find(({ acrossWarps }) => acrossWarps);
  return race || hazards[0];
}

/**
 * Keeps the first hazard of each kind at each instruction. `onFault` is called for every access
 * that a GPU would stop at, not of the first only.
 */
export class HazardLog {
  /** by number */
  kept: Map<number, Hazard> = new Map();
  time = 0;
  warnings: Hazard[] = [];
  seen: Set<string> = new Set();

  constructor(public onFault: FaultListener | null = null) {}

  /** Hazards in the order in which they were found. */
  get found() {
    return [...this.kept].sort(([one], [other]) => one - other).map(([, hazard]) => hazard);
  }

  /** Some lanes address memory that belongs to no array: named by their first byte there. */
  outOfBounds(access: Access, lanes: Int32Array) {
    const addresses = access.addresses.slice();
    for (const lane of lanes) while (access.memory.holds(addresses[lane])) addresses[lane] += 1;
    this.fault(OUT_OF_BOUNDS, access, lanes, outside, { ...access, addresses });
  }

  /** Some lanes address a vector that does not start at a multiple of its size. */
  misaligned(access: Access, lanes: Int32Array) {
    this.fault(MISALIGNED, access, lanes, crooked);
  }

  /** Some lanes read memory that nothing wrote: a hazard where it is confirmed. */
  unwritten(access: Access, lanes: Int32Array) {
    const place = new Place(access, lanes[0]);
    this.time += 1;
    return new Suspect(place.hazard(UNWRITTEN, place.says("hazard.unwritten")), this.time);
  }

  /** A lane takes a value of one that does not run: a hazard where it is confirmed. */
  fromGone(group: ThreadGroup, lane: number, { location }: Instruction) {
    this.time += 1;
    const what = sentence("exchange.gone");
    return new Suspect(withoutArray(EXCHANGE, group, lane, location, what), this.time);
  }

  /** A lane uses a place beyond the edges of a surface: along x in bytes, y and z. */
  outOfImage(
    group: ThreadGroup,
    { instruction, kind }: Site,
    { array, sides, elementBytes }: Image,
    lane: number,
    [x, y, z]: [number, number, number],
  ) {
    const { index, location } = instruction;
    if (!this.isNew(OUT_OF_BOUNDS, index)) return;
    const [width, height, depth] = sides;
    const what = sentence("hazard.image", {
      ...{ verb: sentence(`verb.${kind}`), x, row: y + height * z, array: array.name },
      ...{ rows: height * depth, bytes: width * elementBytes },
    });
    const hazard = atBarrier(OUT_OF_BOUNDS, group, lane, location);
    hazard.array = array.name;
    hazard.message = sentence("hazard.who", { place: location, what, ...namesOf(group, hazard) });
    this.append(hazard);
  }

  /** Such a read does harm. */
  confirm({ hazard, time }: Suspect) {
    if (hazard.kind === UNSET) this.warnings.push(hazard);
    else this.once(hazard, time);
  }

  /** A lane uses a register of a product that may still run. */
  earlyUse(group: ThreadGroup, lane: number, site: Instruction, key: EarlyUse) {
    this.says(IN_FLIGHT, group, lane, site, sentence(key));
  }

  /** Keep what a thread does wrong at a place of the source. */
  says(kind: string, group: ThreadGroup, lane: number, { location }: Instruction, what: string) {
    if (this.isNew(kind, location)) this.append(withoutArray(kind, group, lane, location, what));
  }

  /** Keep what is odd at a place of the source: a warning. */
  odd(kind: OddKind, group: ThreadGroup, lane: number, { location }: Instruction) {
    if (!this.isNew(kind, location)) return;
    this.warnings.push(withoutArray(kind, group, lane, location, sentence(`hazard.${kind}`)));
  }

  /** A lane uses a variable that nothing has written: a warning where it is confirmed. */
  unset(group: ThreadGroup, lane: number, { location }: Instruction) {
    this.time += 1;
    const what = sentence("hazard.unset");
    return new Suspect(withoutArray(UNSET, group, lane, location, what), this.time);
  }

  /** Some live lanes did not reach a barrier that others of their block did. */
  barrierMissed(group: ThreadGroup, { location }: Instruction, missing: Mask) {
    if (!this.isNew(BARRIER, location)) return;
    const lane = missing.indexOf(1);
    const slot = group.slot[lane];
    const count = missing.reduce((sum, one, i) => sum + (group.slot[i] === slot ? one : 0), 0);
    const hazard = atBarrier(BARRIER, group, lane, location);
    const words = namesOf(group, hazard);
    hazard.message = sentence("barrier.missed", { place: location, count, ...words });
    this.append(hazard);
  }

  /** More lanes of a warp arrive at an mbarrier than complete its phase. */
  barrierOverflows(group: ThreadGroup, lane: number, site: Instruction, expected: number) {
    this.says(BARRIER, group, lane, site, sentence("mbarrier.overflow", { expected }));
  }

  /** A shuffle, vote or match names a lane that does not run it, or not the lane itself. */
  exchangeMissed(
    group: ThreadGroup,
    lane: number,
    site: Instruction,
    named: number,
    absent: number,
  ) {
    const key = absent === lane % WARP ? "exchange.unnamed" : "exchange.absent";
    const mask = `0x${named.toString(16).padStart(8, "0")}`;
    this.says(EXCHANGE, group, lane, site, sentence(key, { mask, lane: absent }));
  }

  /** More threads wait at a barrier than it counts, or it waits for more than come to it. */
  barrierMiscounts(
    group: ThreadGroup,
    lane: number,
    { location }: Instruction,
    came: number,
    expected: number,
  ) {
    if (!this.isNew(BARRIER, location)) return;
    const hazard = atBarrier(BARRIER, group, lane, location);
    const { block } = namesOf(group, hazard);
    const key = came > expected ? "barrier.overfull" : "barrier.starved";
    hazard.message = sentence(key, { place: location, expected, block, came });
    this.append(hazard);
  }

  /** Warps returned while others of their block waited at a barrier: it opens without them. */
  barrierSkipped(group: ThreadGroup, lane: number, { location }: Instruction) {
    if (!this.isNew(SPLIT_BARRIER, location)) return;
    const hazard = atBarrier(SPLIT_BARRIER, group, lane, location);
    hazard.message = sentence("barrier.skipped", { place: location, ...namesOf(group, hazard) });
    this.warnings.push(hazard);
  }

  /** Warps of one block wait at two barriers of the source: the hardware counts them alike. */
  barrierSplit(group: ThreadGroup, lane: number, { location }: Instruction, other: Instruction) {
    if (!this.isNew(SPLIT_BARRIER, location)) return;
    const hazard = atBarrier(SPLIT_BARRIER, group, lane, location);
    hazard.otherLocation = other.location;
    const { block } = namesOf(group, hazard);
    const { line } = other.location;
    hazard.message = sentence("barrier.split", { place: location, block, line });
    this.warnings.push(hazard);
  }

  /** A lane accesses shared memory of another block, which may have returned by then. */
  blockGone({ group, site }: Access, lane: number) {
    this.says(BARRIER, group, lane, site.instruction, sentence("hazard.gone"));
  }

  /**
   * Two threads access one shared element with no barrier between.
   * @param position index of the element's first byte in shared memory
   * @param key of the sentence; null for that of a missing barrier
   */
  race(
    access: Access,
    lane: number,
    position: number,
    otherThread: number,
    other: Instruction,
    key: RaceSentence | null = null,
  ) {
    const acrossWarps = warpOf(access.group.thread[lane]) !== warpOf(otherThread);
    const kind = acrossWarps ? `${RACE} across warps` : RACE;
    if (!this.isNew(kind, access.site.instruction.index)) return;
    const { launch } = access.group;
    const place = new Place(access, lane, position);
    // Threads of the cluster's next block are numbered behind those of this one.
    const inBlock = launch.cluster > 1 ? otherThread % (launch.warps * WARP) : otherThread;
    const second = launch.threadIndex(inBlock);
    const name = launch.threadName(second);
    const what = place.says(key ?? adviceOf(access, lane, acrossWarps, other), {
      other: name,
      block: launch.blockName(place.block),
      line: other.location.line,
    });
    const { location: otherLocation } = other;
    this.keep(place, RACE, what, { otherThread: second, otherLocation, acrossWarps });
  }

  /**
   * Two threads access one element of global memory, and nothing orders them.
   * @param key of the sentence; null for that of a missing order
   */
  raceInGlobal(
    access: Access,
    lane: number,
    position: number,
    otherBlock: number,
    otherThread: number,
    other: Instruction,
    key: RaceSentence | null = null,
  ) {
    const { group, site } = access;
    const { launch } = group;
    const apart = group.batch.blocks[group.slot[lane]] !== otherBlock;
    const acrossWarps = apart || warpOf(group.thread[lane]) !== warpOf(otherThread);
    if (!this.isNew(apart ? `${RACE} across blocks` : RACE, site.instruction.index)) return;
    const place = new Place(access, lane, position);
    const second = launch.threadIndex(otherThread);
    const { location: otherLocation } = other;
    const missing = apart ? "hazard.blocks" : adviceOf(access, lane, acrossWarps, other);
    const what = place.says(key ?? missing, {
      other: launch.threadName(second),
      block: launch.blockName(launch.blockIndex(otherBlock)),
      line: otherLocation.line,
    });
    this.keep(place, RACE, what, { otherThread: second, otherLocation, acrossWarps });
  }

  /**
   * A read of shared memory that an asynchronous copy has not filled yet.
   * @param position index of the element's first byte in shared memory
   */
  inFlight(access: Access, lane: number, position: number) {
    if (!this.isNew(IN_FLIGHT, access.site.instruction.index)) return;
    const place = new Place(access, lane, position);
    this.keep(place, IN_FLIGHT, place.says("hazard.in flight"));
  }

  fault(
    kind: string,
    access: Access,
    lanes: Int32Array,
    say: (place: Place) => string,
    named = access,
  ) {
    if (this.isNew(kind, access.site.instruction.index)) {
      const place = new Place(named, lanes[0]);
      this.keep(place, kind, say(place));
    }
    this.onFault?.(access, lanes, (lane) => {
      const place = new Place(named, lane);
      return place.message(say(place));
    });
  }

  /** @param where index of an instruction, or a place in the source */
  isNew(kind: string, where: number | Location) {
    const key = `${kind} ${typeof where === "number" ? where : JSON.stringify(where)}`;
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    return true;
  }

  keep(place: Place, kind: string, what: string, other: Partial<Hazard> = {}) {
    this.time += 1;
    this.once(place.hazard(kind, what, other), this.time);
  }

  append(hazard: Hazard) {
    this.time += 1;
    this.kept.set(this.time, hazard);
  }

  /** Keep a hazard; of two with the same message, the first one. */
  once(hazard: Hazard, time: number) {
    for (const [number, old] of this.kept) {
      if (!sameMessage(old, hazard)) continue;
      // Between two warps a race is plain.
      if (hazard.acrossWarps && !old.acrossWarps) this.kept.set(number, hazard);
      else if (time < number) {
        this.kept.delete(number);
        this.kept.set(time, hazard);
      }
      return;
    }
    this.kept.set(time, hazard);
  }
}

function atBarrier(kind: string, group: ThreadGroup, lane: number, location: Location): Hazard {
  return {
    ...{ kind, location, message: "", ...who(group, lane), array: null, element: null },
    ...{ otherThread: null, otherLocation: null, acrossWarps: false },
  };
}

/** What a lane does wrong at a place of the source. */
function withoutArray(
  kind: string,
  group: ThreadGroup,
  lane: number,
  location: Location,
  what: string,
) {
  const hazard = atBarrier(kind, group, lane, location);
  hazard.message = sentence("hazard.who", { place: location, what, ...namesOf(group, hazard) });
  return hazard;
}

/** Who accesses what, in the words of the source. */
class Place {
  location;
  verb;
  space;
  width;
  block;
  thread;
  names;
  array;
  itemBytes;
  flat;
  element;

  /** @param position index in the memory's bytes; null for the lane's address */
  constructor(access: Access, lane: number, position: number | null = null) {
    const { group, memory, site } = access;
    this.location = site.instruction.location;
    this.verb = sentence(`verb.${site.kind}`);
    this.space = memory.space;
    this.width = site.width;
    const { block, thread } = who(group, lane);
    this.block = block;
    this.thread = thread;
    this.names = namesOf(group, { block, thread });
    const slot = memory.space === "global" ? 0 : group.slot[lane];
    const inSlot =
      position === null ? access.addresses[lane] - memory.base : position - slot * memory.stride;
    this.array = memory.arrayAt(inSlot);
    this.itemBytes = this.array?.dtype?.itemsize ?? site.wordBytes;
    this.flat = this.array ? Math.floor((inSlot - this.array.start) / this.itemBytes) : 0;
    this.element = this.array && elementIndex(this.array, this.flat);
  }

  /**
   * What is wrong here.
   * @param other the other thread of a race
   */
  hazard(kind: string, what: string, other: Partial<Hazard> = {}): Hazard {
    const { location, block, thread, element } = this;
    const alone = { otherThread: null, otherLocation: null, acrossWarps: false };
    const array = this.array?.name ?? null;
    const message = this.message(what);
    return { kind, location, message, block, thread, array, element, ...alone, ...other };
  }

  /** A sentence that says of line, thread and block what the thread does. */
  message(what: string) {
    return sentence("hazard.who", { place: this.location, ...this.names, what });
  }

  /** The rest of such a sentence: what the thread does with which element. */
  says(key: Parameters<typeof sentence>[0], values: Record<string, unknown> = {}) {
    return sentence(key, { verb: this.verb, name: this.name, ...values });
  }

  /** Array and element as the source would write it. */
  get name() {
    if (!this.array || !this.element) return sentence("hazard.memory");
    return this.array.name + this.element.map((index) => `[${index}]`).join("");
  }
}

/** Which sentence describes a race: `__syncthreads()` needs all warps of a block. */
function adviceOf(access: Access, lane: number, acrossWarps: boolean, other: Instruction) {
  if (other.parts[0] === "wgmma") return "hazard.product";
  if (wholeBlockComes(access, lane)) return "hazard.race";
  return acrossWarps ? "hazard.race of parts" : "hazard.race in warp";
}

/** Whether every warp of a lane's block takes part in an access, as far as is known. */
function wholeBlockComes({ group, mask }: Access, lane: number) {
  const { batch, launch, slot, alive } = group;
  if (batch.clocks) return false;
  if (mask === null || group.warps < batch.slots * launch.warps) return true;
  const here = new Set();
  const all = new Set();
  for (let one = 0; one < slot.length; one++) {
    if (slot[one] !== slot[lane] || !alive[one]) continue;
    all.add(warpOf(one));
    if (mask[one]) here.add(warpOf(one));
  }
  return here.size === all.size;
}

function outside(place: Place) {
  const { array, flat, space, verb } = place;
  if (!array) return sentence("hazard.undeclared", { verb, space });
  const address = GLOBAL_BASE + array.start + flat * place.itemBytes;
  if (space === "global" && address < BELOW_ARRAYS) return sentence("hazard.nowhere", { verb });
  const count = Math.floor(array.bytes / place.itemBytes);
  const size = array.shape.join(" × ") || count;
  return place.says("hazard.outside", { flat, array: array.name, size });
}

function crooked(place: Place) {
  return place.says("hazard.misaligned", { width: place.width });
}

/** Index of an element in its array's shape; one-dimensional where the shape is not known. */
function elementIndex({ shape }: NamedArray, flat: number) {
  const count = shape.reduce((product, side) => product * side, 1);
  if (shape.length < 2 || flat < 0 || flat >= count) return [flat];
  let rest = flat;
  return shape
    .toReversed()
    .map((side) => {
      const index = rest % side;
      rest = Math.floor(rest / side);
      return index;
    })
    .reverse();
}

function who({ launch, batch, slot, thread }: ThreadGroup, lane: number) {
  const block = launch.blockIndex(batch.blocks[slot[lane]]);
  return { block, thread: launch.threadIndex(thread[lane]) };
}

/** A block and a thread of it as sentences name them. */
function namesOf({ launch }: ThreadGroup, { block, thread }: { block: Dim3; thread: Dim3 }) {
  return { block: launch.blockName(block), thread: launch.threadName(thread) };
}

export function warpOf(thread: number) {
  return Math.floor(thread / WARP);
}
