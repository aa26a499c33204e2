// @ts-check
// Threads that run together, the launch they belong to, and the accesses they make: group.py in
// JavaScript.

import { WARP } from "../hardware.py";
import { placeName } from "../text.js";
import { layOut, Memory, sharedBase, sourceName } from "./memory.js";
import { PtxError } from "./ptx.js";
import { RegisterFile } from "./registers.js";
import { sentence } from "./sentences.js";
import { Clocks, synchronisesInParts } from "./vector_clocks.js";

/** @typedef {import("./memory.js").NamedArray} NamedArray */
/** @typedef {import("./memory.js").TypedArray} TypedArray */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./ptx.js").PtxKernel} PtxKernel */
/** @typedef {import("./registers.js").Mask} Mask */
/** @typedef {import("./hazard.js").Suspect} Suspect */
/** @typedef {import("./hazard.js").Dim3} Dim3 */
/** @typedef {[number, number]} Warp slot and number of a warp */
/** @typedef {import("./vector_clocks.js").Row} Row */

/** @typedef {"load" | "store" | "atomic" | "copy read" | "copy write"} Kind */

/** Kinds of access; the copies are the two ends of a `cp.async`. */
export const LOAD = "load";
export const STORE = "store";
export const ATOMIC = "atomic";
export const COPY_READ = "copy read";
export const COPY_WRITE = "copy write";

/** One place in the kernel that accesses one memory space. */
export class Site {
  /**
   * @param {Instruction} instruction
   * @param {string} space
   * @param {Kind} kind
   * @param {number} wordBytes bytes of one element moved
   * @param {number} words elements per lane: 4 for `ld.global.v4.f32`
   * @param {boolean} isFloat
   */
  constructor(instruction, space, kind, wordBytes, words, isFloat) {
    this.instruction = instruction;
    this.space = space;
    this.kind = kind;
    this.wordBytes = wordBytes;
    this.words = words;
    this.isFloat = isFloat;
    /** Bytes that each lane asks for. */
    this.width = wordBytes * words;
  }
}

/**
 * One execution of a site by a group of threads. `mask`: lanes that run the instruction, null for
 * all. `addresses`: byte address of every lane within the space, meaningless in inactive lanes.
 * `lanes`: those whose address is legal, null for all. `positions`: for those lanes, index of the
 * first byte in `memory.bytes`. `whole`: every lane that runs has a legal address. Addresses hold
 * until the next access only, and so do positions where all observers are forgetful.
 * @typedef {{ group: ThreadGroup, site: Site, memory: Memory, mask: Mask | null,
 *   addresses: Float64Array, lanes: Int32Array | null, positions: Int32Array, whole: boolean
 * }} Access
 *
 * A `cp.async.bulk` from global to shared memory that one thread started. `access`: of the first
 * word in shared memory, by one lane. `barrier`: index of the first byte of its mbarrier in shared
 * memory. `time`: of the copy engine. `known`: what they learn who wait, see `Clocks`.
 * @typedef {{ access: Access, data: Int32Array, barrier: number, time: number, known: Row
 * }} BulkCopy
 *
 * Who hears of every access while the kernel runs: `onAccess` when the addresses are known, before
 * anything moves; `onValues` with the elements moved, one array per element, one entry per legal
 * lane; `onCopiesLanded` when asynchronous copies of some lanes become visible in shared memory,
 * with the index in bytes of every 4-byte word written; `onStored` after a store or the start of such
 * a copy, with what gives the bits of an element of the i-th legal lane. Each may be left out. `forgetful`: it keeps
 * nothing of an access after the call.
 * @typedef {object} Observer
 * @property {boolean} [forgetful]
 * @property {(access: Access) => void} [onAccess]
 * @property {(access: Access, values: TypedArray[]) => void} [onValues]
 * @property {(access: Access, bits: (element: number, i: number) => bigint) => void} [onStored]
 * @property {(group: ThreadGroup, lanes: Int32Array, positions: Int32Array) => void
 * } [onCopiesLanded]
 * @property {(copy: BulkCopy) => void} [onBulkCopy]
 * @property {(copy: BulkCopy) => void} [onBulkLanded]
 *
 * Who hears of every fused multiply-add of single precision, with one entry per lane that ran it.
 * @typedef {object} ProductListener
 * @property {(group: ThreadGroup, instruction: Instruction, lanes: Int32Array,
 *   factors: [Float32Array, Float32Array], result: Float32Array) => void} onProduct
 *
 * Who collects what is wrong with a kernel.
 * @typedef {object} HazardSink
 * @property {(access: Access, lanes: Int32Array) => void} outOfBounds
 * @property {(access: Access, lanes: Int32Array) => void} misaligned
 * @property {(access: Access, lanes: Int32Array) => Suspect} unwritten
 * @property {(suspect: Suspect) => void} confirm
 * @property {(group: ThreadGroup, site: Instruction, missing: Mask) => void} barrierMissed
 * @property {(group: ThreadGroup, lane: number, site: Instruction, came: number,
 *   expected: number) => void} barrierStarved
 * @property {(group: ThreadGroup, lane: number, site: Instruction) => void} barrierSkipped
 * @property {(group: ThreadGroup, lane: number, site: Instruction, other: Instruction) => void
 * } barrierSplit
 *
 * Who follows values that nothing has set: `NeverSet` says how.
 * @typedef {object} Follower
 * @property {boolean} follows
 * @property {() => void} start
 * @property {(access: Access, lanes: Int32Array) => void} met
 * @property {(access: Access) => void} moves
 * @property {(group: ThreadGroup, names: string[], choose: (mask: Mask | null) => Mask) =>
 *   (mask: Mask | null) => Mask} deciding
 * @property {(group: ThreadGroup, instruction: Instruction, step: (mask: Mask | null) => void,
 *   bare: (mask: Mask | null) => void, guard: ((mask: Mask | null) => Mask) | null) =>
 *   (mask: Mask | null) => void} following
 *
 * An mbarrier: counts arrivals and the bytes of copies, phase after phase. `expected` arrivals
 * complete a phase, `pending` and `bytes` are what the present one still waits for. `told`: what
 * those know that have arrived; `ready`: what those learn who wait for the last complete phase.
 * @typedef {{ expected: number, pending: number, phase: number, bytes: number, told: Row | null,
 *   ready: Row | null }} MemoryBarrier
 *
 * Asynchronous copies issued together and not yet visible in shared memory. `ticket`: how many
 * groups each lane had committed when it issued the copy. `positions`: for each lane, index of each
 * 4-byte word in shared memory, in bytes. `words`: what will be written there.
 * @typedef {{ lanes: Int32Array, ticket: Int32Array, positions: Int32Array, words: Int32Array
 * }} PendingCopy
 */

/**
 * What a launch is made of. `parameters`: an address or a number for each. `sharedBytes`: dynamic
 * shared memory of one block. `products`: who wants to hear of multiply-adds. `sharedParts`: the
 * arrays inside dynamic shared memory: name, first byte, bytes. `together`: all blocks run side by
 * side, because they may wait for each other. `patience`: basic blocks that a group of threads may
 * run before its loop is called endless, null for ever. `timeLimit`: seconds that the simulation
 * may take.
 * @typedef {object} LaunchParts
 * @property {PtxKernel} kernel
 * @property {Dim3} grid
 * @property {Dim3} block
 * @property {Map<string, number>} parameters
 * @property {Memory} globalMemory
 * @property {number} sharedBytes
 * @property {HazardSink} hazards
 * @property {Follower} neverSet
 * @property {Observer[]} observers
 * @property {ProductListener | null} products
 * @property {[string, number, number][]} sharedParts
 * @property {boolean} together
 * @property {number | null} patience
 * @property {number} timeLimit
 */

/** One kernel launch: everything that all its blocks share. */
export class Launch {
  /**
   * @param {LaunchParts} parts
   */
  constructor(parts) {
    this.kernel = parts.kernel;
    this.grid = parts.grid;
    this.block = parts.block;
    this.parameters = parts.parameters;
    this.globalMemory = parts.globalMemory;
    this.sharedBytes = parts.sharedBytes;
    this.hazards = parts.hazards;
    this.observers = parts.observers;
    this.products = parts.products;
    this.sharedParts = parts.sharedParts;
    this.together = parts.together;
    this.patience = parts.patience;
    this.timeLimit = parts.timeLimit;
    /** Where values go that nothing has set. */
    this.neverSet = parts.neverSet;
    this.blocksDone = 0;
    /** When the time is up, in milliseconds on the clock of `performance.now`. */
    this.deadline = performance.now() + 1000 * parts.timeLimit;
    this.sharedArrays = layOut(this.kernel.shared, this.sharedBytes);
    this.localArrays = layOut(this.kernel.local, 0);
    const [x, y, z] = this.block;
    /** Threads of one block. */
    this.threads = x * y * z;
    /** Warps of one block. */
    this.warps = Math.ceil(this.threads / WARP);
    /** Blocks of the grid. */
    this.blocks = this.grid[0] * this.grid[1] * this.grid[2];
    /** Those observers that want to know what is moved. */
    this.valueObservers = this.observers.filter(({ onValues }) => onValues);
    /** Whether some observer looks at an access after it was told. */
    this.accessesKept = this.observers.some(({ forgetful }) => !forgetful);
  }

  /**
   * `blockIdx` of a block; blocks are numbered with x fastest.
   * @param {number} number
   */
  blockIndex(number) {
    return indexIn(this.grid, number);
  }

  /**
   * `threadIdx` of a thread; threads are numbered with x fastest.
   * @param {number} number
   */
  threadIndex(number) {
    return indexIn(this.block, number);
  }

  /**
   * A block as sentences name it.
   * @param {Dim3} block
   */
  blockName(block) {
    return placeName(block, this.grid);
  }

  /**
   * A thread of a block as sentences name it.
   * @param {Dim3} thread
   */
  threadName(thread) {
    return placeName(thread, this.block);
  }
}

/**
 * @param {Dim3} sides
 * @param {number} number
 * @returns {Dim3}
 */
function indexIn([x, y], number) {
  return [number % x, Math.floor(number / x) % y, Math.floor(number / (x * y))];
}

/**
 * A shared array under its name in the source; the dynamic one as the arrays inside it.
 * @param {Launch} launch
 * @param {NamedArray} array
 * @returns {NamedArray[]}
 */
function partsOf(launch, array) {
  const declared = launch.kernel.shared.find(({ name }) => name === array.name);
  const inside = launch.sharedParts
    .filter(([, start, bytes]) => start + bytes <= array.bytes)
    .map(([name, start, bytes]) => ({ ...array, name, start: array.start + start, bytes }));
  if (declared?.bytes || !inside.length) return [{ ...array, name: sourceName(array.name) }];
  return inside;
}

/**
 * Bytes that arrays take from the start of their memory.
 * @param {NamedArray[]} arrays
 */
const extent = (arrays) => Math.max(0, ...arrays.map(({ start, bytes }) => start + bytes));

/** Blocks that run side by side, each in a slot with shared memory of its own. */
export class BlockBatch {
  /**
   * @param {Launch} launch
   * @param {number} slots
   */
  constructor(launch, slots) {
    this.launch = launch;
    this.slots = slots;
    const base = sharedBase(launch.kernel.target);
    this.shared = new Memory("shared", base, extent(launch.sharedArrays), slots);
    this.shared.arrays = launch.sharedArrays.flatMap((array) => partsOf(launch, array));
    this.used = false;
    /** Number of the block in each slot. */
    this.blocks = new Int32Array(slots);
    /** Barriers that each block has passed with all its threads. Never changed in place. */
    this.epoch = new Int32Array(slots);
    /** How often something happened that a waiting thread may have waited for. */
    this.news = 0;
    /** @type {Map<number, Int32Array>} by barrier: for each slot, threads that came and went on */
    this.arrived = new Map();
    /** @type {Clocks | null} only where warps synchronise in parts */
    this.clocks = synchronisesInParts(launch.kernel) ? new Clocks(slots, launch.warps) : null;
    /** @type {Map<string, Row>} by barrier and slot: what those know that came and went on */
    this.told = new Map();
    /** @type {Map<number, MemoryBarrier>} by index of their first byte in shared memory */
    this.mbarriers = new Map();
    /** @type {BulkCopy[]} bulk copies that have not landed */
    this.bulkCopies = [];
  }

  /**
   * Put fresh blocks into the slots.
   * @param {number} first
   */
  start(first) {
    this.launch.neverSet.start();
    for (let slot = 0; slot < this.slots; slot++) this.blocks[slot] = first + slot;
    if (this.used) this.shared.reset();
    this.used = true;
    this.epoch = new Int32Array(this.slots);
    this.arrived.clear();
    this.told.clear();
    this.mbarriers.clear();
    this.bulkCopies.length = 0;
    this.clocks?.start();
  }

  /**
   * For each slot, how many threads came to a barrier without waiting there.
   * @param {number} number
   */
  arrivedAt(number) {
    const counts = this.arrived.get(number) ?? new Int32Array(this.slots);
    this.arrived.set(number, counts);
    return counts;
  }

  /**
   * Count threads at a barrier that do not wait there.
   * @param {ThreadGroup} group
   * @param {Mask} lanes
   * @param {number} number
   */
  arrive(group, lanes, number) {
    const counts = this.arrivedAt(number);
    for (let lane = 0; lane < lanes.length; lane++) counts[group.slot[lane]] += lanes[lane];
    if (!this.clocks) return;
    for (const [slot, warp] of warpsAmong(group, lanes)) {
      const known = this.clocks.tell(slot, warp);
      const before = this.told.get(`${number} ${slot}`);
      if (before) for (let i = 0; i < known.length; i++) known[i] = Math.max(known[i], before[i]);
      this.told.set(`${number} ${slot}`, known);
    }
  }

  /**
   * A barrier opens in some slots; in those of `whole` with all threads of the block. `warps` are
   * those that waited.
   * @param {number} number
   * @param {Mask} slots
   * @param {Mask} whole
   * @param {Warp[]} warps
   */
  passed(number, slots, whole, warps) {
    this.epoch = this.epoch.map((epoch, slot) => epoch + whole[slot]);
    const counts = this.arrivedAt(number);
    for (let slot = 0; slot < slots.length; slot++) if (slots[slot]) counts[slot] = 0;
    this.news += 1;
    if (!this.clocks) return;
    /** @type {Map<number, Set<number>>} */
    const bySlot = new Map();
    for (const [slot, warp] of warps) {
      bySlot.set(slot, (bySlot.get(slot) ?? new Set()).add(warp));
    }
    for (const [slot, together] of bySlot) {
      const heard = this.told.get(`${number} ${slot}`) ?? null;
      this.told.delete(`${number} ${slot}`);
      this.clocks.meet(
        slot,
        [...together].sort((a, b) => a - b),
        heard,
      );
    }
  }
}

/**
 * The warps that have a lane in a mask, by slot and number.
 * @param {ThreadGroup} group
 * @param {Mask} lanes
 * @returns {Warp[]}
 */
export function warpsAmong(group, lanes) {
  /** @type {Warp[]} */
  const found = [];
  for (let first = 0; first < lanes.length; first += WARP) {
    for (let lane = first; lane < first + WARP; lane++) {
      if (!lanes[lane]) continue;
      found.push([group.slot[lane], Math.floor(group.thread[lane] / WARP)]);
      break;
    }
  }
  return found;
}

/** What is known of a mask, once it was asked for. */
class Studied {
  /**
   * @param {Mask} mask
   */
  constructor(mask) {
    this.mask = mask;
    /** @type {Int32Array | null} */
    this.lanes = null;
    /** @type {number[] | null} */
    this.runs = null;
  }
}

/**
 * @param {Mask} mask
 * @returns {number[]}
 */
function runsIn(mask) {
  /** @type {number[]} */
  const runs = [];
  for (let first = 0; first < mask.length; first += WARP) {
    let active = 0;
    for (let lane = first; lane < first + WARP; lane++) active += mask[lane];
    if (!active) continue;
    const full = active === WARP ? 1 : 0;
    if (runs.at(-2) === first && runs.at(-1) === full) runs[runs.length - 2] = first + WARP;
    else runs.push(first, first + WARP, full);
  }
  return runs;
}

/**
 * Threads that run in lockstep: some warps of every block in a batch. A lane is one thread. Lanes
 * are ordered by block, then by thread; every warp has 32, and those past the end of a block whose
 * size is no multiple of 32 never run.
 */
export class ThreadGroup {
  /**
   * @param {BlockBatch} batch
   * @param {number[]} warps in ascending order
   */
  constructor(batch, warps) {
    const { launch, slots } = batch;
    this.batch = batch;
    this.launch = launch;
    this.lanes = slots * warps.length * WARP;
    this.warps = slots * warps.length;
    const perSlot = warps.length * WARP;
    /** Number of each lane's thread within its block. */
    this.thread = new Int32Array(this.lanes).map(
      (_, lane) => warps[Math.floor((lane % perSlot) / WARP)] * WARP + (lane % WARP),
    );
    /** Slot of each lane's block. */
    this.slot = new Int32Array(this.lanes).map((_, lane) => Math.floor(lane / perSlot));
    this.exists = Uint8Array.from(this.thread, (thread) => (thread < launch.threads ? 1 : 0));
    /** Lanes that have not returned. */
    this.alive = this.exists.slice();
    /** How often threads have returned. */
    this.exits = 0;
    /** @type {Map<string, number>} */
    const symbols = new Map();
    for (const { name, start } of launch.sharedArrays) {
      symbols.set(name, batch.shared.base + start);
    }
    for (const { name, start } of launch.localArrays) symbols.set(name, start);
    this.registers = new RegisterFile(launch.kernel, this.lanes, symbols);
    this.parameters = launch.parameters;
    this.sharedOffset = this.slot.map((slot) => slot * batch.shared.stride);
    const used = extent(launch.localArrays);
    this.local = new Memory("local", 0, used, used ? this.lanes : 1);
    const stride = used ? this.local.stride : 0;
    this.localOffset = new Int32Array(this.lanes).map((_, lane) => lane * stride);
    /** Warp-level barriers that each lane has passed. Never changed in place. */
    this.warpEpoch = new Int32Array(this.lanes);
    /** Asynchronous-copy groups that each lane has committed. */
    this.committed = new Int32Array(this.lanes);
    /** @type {PendingCopy[]} */
    this.pending = [];
    /** Whether a test of an mbarrier failed in the block that runs now. */
    this.testFailed = false;
    this.blockIndex = [0, 1, 2].map(() => new Int32Array(this.lanes));
    /** Where addresses and positions of an access are worked out, by operand. */
    this.addressScratch = [0, 1, 2, 3].map(() => new Float64Array(0));
    this.positionScratch = [0, 1].map(() => new Int32Array(0));
    /** What was found of the two masks that were asked about last, the latest first. */
    this.studied = new Studied(new Uint8Array(0));
    this.studiedBefore = this.studied;
  }

  /** Begin the blocks that are now in the batch's slots. */
  start() {
    this.alive.set(this.exists);
    this.exits += 1;
    this.warpEpoch = new Int32Array(this.lanes);
    this.committed.fill(0);
    this.pending.length = 0;
    if (this.launch.localArrays.length) this.local.reset();
    const each = this.lanes / this.batch.slots;
    this.batch.blocks.forEach((block, slot) => {
      this.launch.blockIndex(block).forEach((index, axis) => {
        this.blockIndex[axis].fill(index, slot * each, (slot + 1) * each);
      });
    });
  }

  /**
   * The lanes of a mask, in order. Masks are never changed once they are in use.
   * @param {Mask} mask
   */
  lanesOf(mask) {
    const studied = this.study(mask);
    studied.lanes ??= flatnonzero(mask);
    return studied.lanes;
  }

  /**
   * The runs of whole warps that a mask has lanes in, three numbers for each: the first lane, the
   * one after the last, and 1 where all of them are active.
   * @param {Mask} mask
   */
  runsOf(mask) {
    const studied = this.study(mask);
    studied.runs ??= runsIn(mask);
    return studied.runs;
  }

  /**
   * Warps with at least one lane in a mask.
   * @param {Mask} mask
   */
  warpsOf(mask) {
    const runs = this.runsOf(mask);
    let lanes = 0;
    for (let at = 0; at < runs.length; at += 3) lanes += runs[at + 1] - runs[at];
    return lanes / WARP;
  }

  /**
   * @param {Mask} mask
   */
  study(mask) {
    if (this.studied.mask === mask) return this.studied;
    const found = this.studiedBefore.mask === mask ? this.studiedBefore : new Studied(mask);
    this.studiedBefore = this.studied;
    this.studied = found;
    return found;
  }

  /**
   * The barriers that a lane's block has passed, or, where warps synchronise in parts, the window of
   * time that its warp is in.
   * @param {number} lane
   */
  windowOf(lane) {
    const { batch, slot, thread } = this;
    if (!batch.clocks) return batch.epoch[slot[lane]];
    return batch.clocks.windowOf(slot[lane], Math.floor(thread[lane] / WARP));
  }

  /**
   * A memory space.
   * @param {string} space
   */
  memory(space) {
    if (space === "shared") return this.batch.shared;
    return space === "local" ? this.local : this.launch.globalMemory;
  }

  /**
   * Where each lane's slot of a memory space starts, in bytes; null where all share one.
   * @param {string} space
   */
  offsets(space) {
    if (space === "shared") return this.sharedOffset;
    return space === "local" ? this.localOffset : null;
  }

  /**
   * The values of a special register such as `%tid.x`: of all lanes, or one number.
   * @param {string} name
   * @returns {Int32Array | number}
   */
  special(name) {
    const { launch, thread } = this;
    const [base, axisName] = name.split(".");
    const axis = axisName ? "xyz".indexOf(axisName) : -1;
    if (axis >= 0 && base === "%ctaid") return this.blockIndex[axis];
    if (axis >= 0 && base === "%tid") {
      const threads = Array.from({ length: launch.warps * WARP }, (_, one) => one);
      const index = threads.map((one) => launch.threadIndex(one)[axis]);
      return thread.map((one) => index[one]);
    }
    if (axis >= 0 && base === "%ntid") return launch.block[axis];
    if (axis >= 0 && base === "%nctaid") return launch.grid[axis];
    /** @type {Record<string, (lane: number) => number>} */
    const byLane = {
      "%laneid": (lane) => lane,
      "%lanemask_eq": (lane) => 1 << lane,
      "%lanemask_lt": (lane) => (1 << lane) - 1,
      "%lanemask_le": (lane) => ((1 << lane) - 1) | (1 << lane),
      "%lanemask_gt": (lane) => ~(((1 << lane) - 1) | (1 << lane)),
      "%lanemask_ge": (lane) => ~((1 << lane) - 1),
    };
    if (byLane[name]) return thread.map((_, lane) => byLane[name](lane % WARP));
    if (name === "%warpid") return thread.map((one) => Math.floor(one / WARP));
    if (name === "%dynamic_smem_size") return launch.sharedBytes;
    if (name === "%total_smem_size") return this.batch.shared.size;
    if (name === "WARP_SZ") return WARP;
    throw new PtxError(sentence("run.special", { name }));
  }
}

/**
 * Where a mask holds.
 * @param {Mask} mask
 */
export function flatnonzero(mask) {
  const found = new Int32Array(countNonzero(mask));
  for (let lane = 0, next = 0; lane < mask.length; lane++) if (mask[lane]) found[next++] = lane;
  return found;
}

/**
 * How many lanes a mask holds.
 * @param {Mask} mask
 */
export function countNonzero(mask) {
  let count = 0;
  const words = mask.length < MANY ? null : fourAtOnce(mask);
  for (let first = 0; words !== null && first < words.length; first += MOST_ONES) {
    const end = Math.min(first + MOST_ONES, words.length);
    let sum = 0;
    for (let i = first; i < end; i++) sum += words[i];
    count += (sum & 255) + ((sum >>> 8) & 255) + ((sum >>> 16) & 255) + (sum >>> 24);
  }
  const rest = words === null ? 0 : 4 * words.length;
  for (let lane = rest; lane < mask.length; lane++) count += mask[lane];
  return count;
}

/** Lanes from which on it pays to take four at once. */
const MANY = 512;
/** What a byte holds, so many words can be added before the bytes of a sum run into each other. */
const MOST_ONES = 255;

/**
 * A mask as words of four lanes.
 * @param {Mask} mask
 */
function fourAtOnce(mask) {
  return new Uint32Array(mask.buffer, mask.byteOffset, mask.length >> 2);
}

/**
 * The lanes, of whole warps, where both masks hold.
 * @param {Mask} mask
 * @param {Mask} other
 */
export function both(mask, other) {
  const found = new Uint8Array(mask.length);
  const [out, a, b] = [found, mask, other].map(fourAtOnce);
  for (let i = 0; i < out.length; i++) out[i] = a[i] & b[i];
  return found;
}

/**
 * The lanes, of whole warps, where one mask holds and another does not.
 * @param {Mask} mask
 * @param {Mask} other
 */
export function less(mask, other) {
  const found = new Uint8Array(mask.length);
  const [out, a, b] = [found, mask, other].map(fourAtOnce);
  for (let i = 0; i < out.length; i++) out[i] = a[i] & ~b[i];
  return found;
}
