// Threads that run together, the launch they belong to, and the accesses they make. These types
// know each other both ways, so they stand in one module.

import { WARP } from "../hardware.py";
import type { TensorMap } from "../tensor_map.ts";
import { placeName } from "../text.ts";
import { secondsNow } from "./clock.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { Dim3, Hazard, OddKind, Suspect } from "./hazard_types.ts";
import type { Image } from "./images.ts";
import type { NamedArray, TypedArray } from "./memory.ts";
import { layOut, Memory, sharedBase, sourceName } from "./memory.ts";
import type { Instruction, PtxKernel, Register } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { type Mask, RegisterFile } from "./registers.ts";
import { sentence } from "./sentences.ts";
import { conditionsOfLoads, type UsedIf } from "./speculative_loads.ts";
import { type Row, synchronisesInParts, VectorClocks } from "./vector_clocks.ts";

/** slot and number of a warp */
type Warp = [number, number];

export type Kind = "load" | "store" | "atomic" | "copy read" | "copy write";

/** Kinds of access; the copies are the two ends of a `cp.async`. */
export const LOAD = "load";
export const STORE = "store";
export const ATOMIC = "atomic";
export const COPY_READ = "copy read";
export const COPY_WRITE = "copy write";

/** Number that stands for the barrier of a cluster, behind those of a block. */
export const CLUSTER_BARRIER = 16;
/**
 * From this bit on an address of a cluster's shared memory has the number of its block plus 1; 0 is
 * the thread's own block.
 */
export const CLUSTER_SHIFT = 24;

/** One place in the kernel that accesses one memory space. */
export class Site {
  /** Bytes that each lane asks for. */
  width = this.wordBytes * this.words;

  /**
   * @param wordBytes bytes of one element moved
   * @param words elements per lane: 4 for `ld.global.v4.f32`
   */
  constructor(
    public instruction: Instruction,
    public space: string,
    public kind: Kind,
    public wordBytes: number,
    public words: number,
    public isFloat: boolean,
  ) {}
}

/**
 * One execution of a site by a group of threads. `mask`: lanes that run the instruction, null for
 * all. `addresses`: byte address of every lane within the space, meaningless in inactive lanes.
 * `lanes`: those whose address is legal, null for all. `positions`: for those lanes, index of the
 * first byte in `memory.bytes`. `whole`: every lane that runs has a legal address. `elsewhere`:
 * lanes of the group that ask another block of the cluster; null for none. Addresses hold
 * until the next access only, and so do positions where all observers are forgetful.
 */
export interface Access {
  group: ThreadGroup;
  site: Site;
  memory: Memory;
  mask: Mask | null;
  addresses: Float64Array;
  lanes: Int32Array | null;
  positions: Int32Array;
  whole: boolean;
  elsewhere: Mask | null;
}

/**
 * A `cp.async.bulk` from global to shared memory that one thread started. `access`: of the first
 * word in shared memory, by one lane. `positions`: index of the first byte of each piece of 16 there.
 * `sectors`: those of global memory that it reads. `barrier`: index of the first byte of its mbarrier in shared
 * memory. `time`: of the copy engine. `known`: the clock that its waiters acquire, see
 * `VectorClocks`.
 */
export interface BulkCopy {
  access: Access;
  positions: Int32Array;
  data: Int32Array;
  sectors: number;
  barrier: number;
  time: number;
  known: Row;
}

/**
 * Is notified of every access while the kernel runs: `onAccess` when the addresses are known,
 * before anything moves; `onValues` with the elements moved, one array per element, one entry per
 * legal lane; `onCopiesLanded` when asynchronous copies of some lanes become visible in shared
 * memory, with the index in bytes of every 4-byte word written; `onStored` after a store or the
 * start of such a copy, with what gives the bits of an element of the i-th legal lane;
 * `onBlocksDone` when all threads of a batch have returned. Each may be left out. `forgetful`: it keeps
 * nothing of an access after the call. `judges`: it is told of a load for those lanes only that use its
 * value, see speculative_loads.ts.
 */
export interface Observer {
  forgetful?: boolean;
  judges?: boolean;
  onAccess?: (access: Access) => void;
  onValues?: (access: Access, values: TypedArray[]) => void;
  onStored?: (access: Access, bits: (element: number, i: number) => bigint) => void;
  onCopiesLanded?: (group: ThreadGroup, lanes: Int32Array, positions: Int32Array) => void;
  onBulkCopy?: (copy: BulkCopy) => void;
  onBulkLanded?: (copy: BulkCopy) => void;
  /** A product of a warp group, `wgmma`, starts. */
  onTensorRead?: (read: TensorRead) => void;
  /** Some products were waited for; `running` are the others of the group. */
  onTensorDone?: (done: TensorRead[], running: TensorRead[]) => void;
  onBlocksDone?: (batch: BlockBatch) => void;
  /** Threads pass a fence that orders what other blocks see. */
  onFence?: (group: ThreadGroup, mask: Mask | null) => void;
}

/**
 * What a product of a warp group reads of shared memory for one of its warps. `access`: of a first
 * piece, by one lane. `positions`: index of the first byte of each piece of 16.
 */
export interface TensorRead {
  access: Access;
  lane: number;
  positions: Int32Array;
}

/** By where the parameter lies: a tensor map, and the address of its matrix. */
export type TensorMaps = Map<number, { map: TensorMap; start: number }>;

/** What is wrong with a use of a product's register: a key of the sentences. */
export type EarlyUse = "hazard.sum" | "hazard.factor" | "hazard.fence";

/** Is notified of every fused multiply-add of single precision, an entry per lane that ran it. */
interface ProductListener {
  onProduct: (
    group: ThreadGroup,
    instruction: Instruction,
    lanes: Int32Array,
    factors: [Float32Array, Float32Array],
    result: Float32Array,
  ) => void;
}

type Place = [group: ThreadGroup, lane: number, site: Instruction];

/** Who collects what is wrong with a kernel. */
export interface HazardSink {
  readonly found: Hazard[];
  outOfBounds: (access: Access, lanes: Int32Array) => void;
  misaligned: (access: Access, lanes: Int32Array) => void;
  outOfImage: (
    group: ThreadGroup,
    site: Site,
    image: Image,
    lane: number,
    place: [number, number, number],
  ) => void;
  unwritten: (access: Access, lanes: Int32Array) => Suspect;
  fromGone: (...place: Place) => Suspect;
  confirm: (suspect: Suspect) => void;
  earlyUse: (...place: [...Place, key: EarlyUse]) => void;
  unset: (...place: Place) => Suspect;
  odd: (kind: OddKind, group: ThreadGroup, lane: number, site: Instruction) => void;
  barrierMissed: (group: ThreadGroup, site: Instruction, missing: Mask) => void;
  barrierOverflows: (...place: [...Place, expected: number]) => void;
  exchangeMissed: (...place: [...Place, named: number, absent: number]) => void;
  barrierMiscounts: (...place: [...Place, came: number, expected: number]) => void;
  barrierSkipped: (...place: Place) => void;
  barrierSplit: (...place: [...Place, other: Instruction]) => void;
}

/** Tracks uninitialized values: see `UninitializedValues`. */
interface UninitializedTracker {
  active: boolean;
  start: () => void;
  reportAll: () => void;
  onEmpty: (
    group: ThreadGroup,
    instruction: Instruction,
    name: string,
    lanes: Mask,
    suspect: () => Suspect,
  ) => void;
  onRead: (access: Access, lanes: Int32Array) => void;
  onMove: (access: Access) => void;
  wrapBranch: (
    group: ThreadGroup,
    names: string[],
    choose: (mask: Mask | null) => Mask,
  ) => (mask: Mask | null) => Mask;
  wrapStep: (
    group: ThreadGroup,
    instruction: Instruction,
    step: (mask: Mask | null) => void,
    bare: (mask: Mask | null) => void,
    guard: ((mask: Mask | null) => Mask) | null,
  ) => (mask: Mask | null) => void;
}

/**
 * An mbarrier: counts arrivals and the bytes of copies, phase after phase. `expected` arrivals
 * complete a phase, `pending` and `bytes` are what the present one still waits for. `released`:
 * merged clocks of the arrivals; `acquired`: the clock that waiters of the last complete phase
 * acquire.
 */
export interface MemoryBarrier {
  expected: number;
  pending: number;
  phase: number;
  bytes: number;
  released: Row | null;
  acquired: Row | null;
}

/**
 * Asynchronous copies issued together and not yet visible in shared memory. `ticket`: how many
 * groups each lane had committed when it issued the copy. `positions`: for each lane, index of each
 * 4-byte word in shared memory, in bytes. `words`: what will be written there.
 */
export interface PendingCopy {
  lanes: Int32Array;
  ticket: Int32Array;
  positions: Int32Array;
  words: Int32Array;
}

/**
 * What a launch is made of. `parameters`: an address or a number for each. `variables`: addresses
 * of the module's variables, and of parameters that are structs. `images`: textures and
 * surfaces, by the address that stands for each. `sharedBytes`: dynamic shared memory of one block. `products`: listener of multiply-adds. `sharedParts`: the arrays inside
 * dynamic shared memory: name, first byte, bytes. `chosen`: numbers of the blocks that run, null
 * for all. `isHasty`: whether it ends early where its blocks would take far longer than `timeLimit`.
 * `cooperative`: all blocks run side by side, because they may wait for each other. `maxBasicBlocks`: basic blocks that a group of
 * threads may run before its loop is called endless, null for ever. `timeLimit`: seconds that the
 * simulation may take. `workspace`: where the barrier of the whole grid lies, 0 where the kernel has
 * none. `unset`: by index of an instruction, registers that it uses and that may have no value there.
 */
interface LaunchParts {
  kernel: PtxKernel;
  grid: Dim3;
  block: Dim3;
  parameters: Map<string, number | bigint>;
  variables: Map<string, number>;
  images: Map<number, Image>;
  globalMemory: Memory;
  sharedBytes: number;
  hazards: HazardSink;
  uninitialized: UninitializedTracker;
  earlyUses: Map<number, EarlyUse>;
  tensorMaps: TensorMaps;
  observers: Observer[];
  products: ProductListener | null;
  sharedParts: [string, number, number][];
  chosen: number[] | null;
  cooperative: boolean;
  maxBasicBlocks: number | null;
  timeLimit: number;
  isHasty: boolean;
  workspace: number;
  unset: UnsetReads;
}

/** By index of an instruction: registers that it uses and that may have no value there. */
export type UnsetReads = ReadonlyMap<number, Register[]>;

export type Launch = ReturnType<typeof launchOf>;

/** One kernel launch: everything that all its blocks share. */
export function launchOf(parts: LaunchParts) {
  const { kernel, grid, block, chosen, observers } = parts;
  const { cluster } = kernel;
  const threads = block[0] * block[1] * block[2];
  const blocks = grid[0] * grid[1] * grid[2];
  return {
    ...parts,
    /** when the time is up, in seconds on the clock of `secondsNow` */
    deadline: secondsNow() + parts.timeLimit,
    blocksDone: 0,
    /** whether threads have read what is not held of a large array */
    isPartial: false,
    /** blocks of the grid, and of a cluster */
    ...{ blocks, cluster },
    /** threads and warps of one block */
    ...{ threads, warps: Math.ceil(threads / WARP) },
    sharedArrays: layOut(kernel.shared, parts.sharedBytes),
    localArrays: layOut(kernel.local, 0),
    /** those observers that want to know what is moved */
    valueObservers: observers.filter(({ onValues }) => onValues),
    /** by index of a load where its value is used, if some observer judges */
    usedIf: observers.some(({ judges }) => judges)
      ? conditionsOfLoads(kernel)
      : (new Map() as ReadonlyMap<number, UsedIf>),
    /** whether some observer looks at an access after its notification */
    accessesKept: observers.some(({ forgetful }) => !forgetful),
    /** numbers of the blocks that run: whole clusters */
    numbers() {
      if (!chosen) return Array.from({ length: blocks }, (_, number) => number);
      if (cluster === 1) return chosen;
      const clusters = new Set(chosen.map((number) => Math.floor(number / cluster)));
      return [...clusters]
        .sort((one, other) => one - other)
        .flatMap((one) => Array.from({ length: cluster }, (_, at) => one * cluster + at));
    },
    /** `blockIdx` of a block; blocks are numbered with x fastest */
    blockIndex: (number: number) => indexIn(grid, number),
    /** `threadIdx` of a thread; threads are numbered with x fastest */
    threadIndex: (number: number) => indexIn(block, number),
    /** a block, and a thread of a block, as sentences name them */
    blockName: (place: Dim3) => placeName(place, grid),
    threadName: (place: Dim3) => placeName(place, block),
  };
}

function indexIn([x, y]: Dim3, number: number): Dim3 {
  return [number % x, Math.floor(number / x) % y, Math.floor(number / (x * y))];
}

/** A shared array under its name in the source; the dynamic one as the arrays inside it. */
function partsOf(launch: Launch, array: NamedArray): NamedArray[] {
  const declared = launch.kernel.shared.find(({ name }) => name === array.name);
  const inside = launch.sharedParts
    .filter(([, start, bytes]) => start + bytes <= array.bytes)
    .map(([name, start, bytes]) => ({ ...array, name, start: array.start + start, bytes }));
  if (declared?.bytes || !inside.length) return [{ ...array, name: sourceName(array.name) }];
  return inside;
}

/** Bytes that arrays take from the start of their memory. */
const extent = (arrays: NamedArray[]) =>
  Math.max(0, ...arrays.map(({ start, bytes }) => start + bytes));

/** Blocks that run side by side, each in a slot with shared memory of its own. */
export class BlockBatch {
  shared = new Memory(
    "shared",
    sharedBase(this.launch.kernel.target),
    extent(this.launch.sharedArrays),
    this.slots,
  );
  used = false;
  /** Number of the block in each slot. */
  blocks = new Int32Array(this.slots);
  /** Barriers that each block has passed with all its threads. Never changed in place. */
  epoch = new Int32Array(this.slots);
  /** Counts events that a waiting thread may wait for. */
  progressCount = 0;
  /** by barrier: for each slot, threads that came and went on */
  arrived: Map<number, Int32Array> = new Map();
  /** only where warps synchronise in parts */
  clocks = synchronisesInParts(this.launch.kernel)
    ? new VectorClocks(this.slots / this.launch.cluster, this.launch.warps * this.launch.cluster)
    : null;
  /** by barrier and slot: merged clocks of `bar.arrive` */
  releasedClocks: Map<string, Row> = new Map();
  /** by index of their first byte in shared memory */
  mbarriers: Map<number, MemoryBarrier> = new Map();
  /** bulk copies that have not landed */
  bulkCopies: BulkCopy[] = [];
  /** by slot and number of a barrier that counts: threads with a true predicate, and all */
  votes: Map<string, { hold: number; came: number }> = new Map();

  constructor(
    public launch: Launch,
    public slots: number,
  ) {
    this.shared.arrays = launch.sharedArrays.flatMap((array) => partsOf(launch, array));
  }

  /** Put fresh blocks into the slots. */
  start(blocks: number[]) {
    this.launch.uninitialized.start();
    this.blocks.set(blocks);
    if (this.used) this.shared.reset();
    this.used = true;
    this.epoch = new Int32Array(this.slots);
    this.arrived.clear();
    this.releasedClocks.clear();
    this.mbarriers.clear();
    this.bulkCopies.length = 0;
    this.votes.clear();
    this.clocks?.start();
  }

  /** Count what a thread brings to the barrier of a number that counts. */
  vote(slot: number, number: number, holds: number) {
    const { hold, came } = this.votesOf(slot, number);
    this.votes.set(`${slot} ${number}`, { hold: hold + holds, came: came + 1 });
    // It has passed the barrier before: nobody needs the votes of the one before that.
    this.votes.delete(`${slot} ${number - 2}`);
  }

  votesOf(slot: number, number: number) {
    return this.votes.get(`${slot} ${number}`) ?? { hold: 0, came: 0 };
  }

  /** For each slot, how many threads came to a barrier without waiting there. */
  arrivedAt(number: number) {
    return getOrInsert(this.arrived, number, () => new Int32Array(this.slots));
  }

  /** Count threads at a barrier that do not wait there. */
  arrive(group: ThreadGroup, lanes: Mask, number: number) {
    const counts = this.arrivedAt(number);
    for (let lane = 0; lane < lanes.length; lane++) counts[group.slot[lane]] += lanes[lane];
    if (!this.clocks) return;
    for (const [slot, warp] of warpsAmong(group, lanes)) {
      const known = this.clocks.release(this.clusterOf(slot), warp);
      const before = this.releasedClocks.get(`${number} ${slot}`);
      if (before) for (let i = 0; i < known.length; i++) known[i] = Math.max(known[i], before[i]);
      this.releasedClocks.set(`${number} ${slot}`, known);
    }
  }

  /**
   * A barrier opens in some slots; in those of `whole` with all threads of the block. `warps` are
   * those that waited.
   */
  passed(number: number, slots: Mask, whole: Mask, warps: Warp[]) {
    this.epoch = this.epoch.map((epoch, slot) => epoch + whole[slot]);
    const counts = this.arrivedAt(number);
    for (let slot = 0; slot < slots.length; slot++) if (slots[slot]) counts[slot] = 0;
    this.progressCount += 1;
    if (!this.clocks) return;
    const { cluster } = this.launch;
    const bySlot: Map<number, Set<number>> = new Map();
    for (const [own, warp] of warps) {
      const slot = number === CLUSTER_BARRIER ? own - (own % cluster) : own;
      bySlot.set(slot, (bySlot.get(slot) ?? new Set()).add(warp));
    }
    // Those of a cluster that came, and those that have returned.
    const every = Array.from({ length: cluster * this.launch.warps }, (_, warp) => warp);
    for (const [slot, came] of bySlot) {
      const together = number === CLUSTER_BARRIER ? every : [...came];
      const released = this.releasedClocks.get(`${number} ${slot}`) ?? null;
      this.releasedClocks.delete(`${number} ${slot}`);
      this.clocks.synchronize(this.clusterOf(slot), together, released);
    }
  }

  /** The cluster of a slot. */
  clusterOf(slot: number) {
    return Math.floor(slot / this.launch.cluster);
  }
}

/** Where arrays and variables lie, by name. */
function symbolsOf({ launch, shared }: BlockBatch) {
  return new Map([
    ...launch.sharedArrays.map(({ name, start }) => [name, shared.base + start] as const),
    ...launch.localArrays.map(({ name, start }) => [name, start] as const),
    ...launch.variables,
  ]);
}

function localMemory({ localArrays }: Launch, lanes: number) {
  const used = extent(localArrays);
  return new Memory("local", 0, used, used ? lanes : 1);
}

/** The warps that have a lane in a mask, by slot and number in the cluster. */
export function warpsAmong(group: ThreadGroup, lanes: Mask): Warp[] {
  const found: Warp[] = [];
  for (let first = 0; first < lanes.length; first += WARP) {
    for (let lane = first; lane < first + WARP; lane++) {
      if (!lanes[lane]) continue;
      found.push([group.slot[lane], group.warpOf(lane)]);
      break;
    }
  }
  return found;
}

/** Lanes and runs of a mask, computed on demand. */
class MaskInfo {
  lanes: Int32Array | null = null;
  runs: number[] | null = null;

  constructor(public mask: Mask) {}
}

function runsIn(mask: Mask): number[] {
  const runs: number[] = [];
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
  launch = this.batch.launch;
  warps = this.batch.slots * this.numbers.length;
  lanes = this.warps * WARP;
  /** Slot of each lane's block. */
  slot = this.ofLanes((lane) => Math.floor(lane / WARP / this.numbers.length));
  /** Number of each lane's thread within its block. */
  thread = this.ofLanes((lane) => {
    const warp = this.numbers[Math.floor(lane / WARP) % this.numbers.length];
    return warp * WARP + (lane % WARP);
  });
  /** The same within the cluster of its block. */
  clusterThread = this.thread.map((thread, lane) => {
    const { cluster, warps } = this.launch;
    return (this.slot[lane] % cluster) * warps * WARP + thread;
  });
  exists = Uint8Array.from(this.thread, (thread) => (thread < this.launch.threads ? 1 : 0));
  /** Lanes that have not returned. */
  alive = this.exists.slice();
  /** Those that have read what is not held of a large array: what they do then is not known. */
  lost: Uint8Array | null = null;
  /** How often threads have returned. */
  exits = 0;
  /** How often they have asked for the time. */
  readings = 0;
  registers = new RegisterFile(this.launch.kernel, this.lanes, symbolsOf(this.batch));
  parameters = this.launch.parameters;
  sharedOffset = this.slot.map((slot) => slot * this.batch.shared.stride);
  local = localMemory(this.launch, this.lanes);
  localOffset = this.ofLanes((lane) => (this.local.size ? lane * this.local.stride : 0));
  /** Warp-level barriers that each lane has passed. Never changed in place. */
  warpEpoch = new Int32Array(this.lanes);
  /** Barriers that count, such as `__syncthreads_count()`, that each lane has come to. */
  votes = new Int32Array(this.lanes);
  /** What sums over several words carry from one to the next. */
  carry = new Uint8Array(this.lanes);
  /** The same at the last barrier of all lanes of its warp that were running. */
  wholeEpoch = new Int32Array(this.lanes);
  /** Lanes of each lane's last `__syncwarp`, a bit for each. */
  syncwarpMask = new Int32Array(this.lanes).fill(-1);
  /** Whether a barrier was for some lanes of a warp alone. */
  partialSyncwarp = false;
  /** Asynchronous-copy groups that each lane has committed. */
  committed = new Int32Array(this.lanes);
  pending: PendingCopy[] = [];
  /** Groups of `wgmma` products that each lane has committed. */
  committedProducts = new Int32Array(this.lanes);
  /** Those that may run, with the groups that their lane had committed before. */
  products: { ticket: number; read: TensorRead }[] = [];
  /** Whether a test of an mbarrier failed in the block that runs now. */
  testFailed = false;
  /** Whether it was an atomic that changed nothing: its loop may have an end of its own. */
  mayEnd = false;
  blockIndex = [0, 1, 2].map(() => new Int32Array(this.lanes));
  /** Where addresses and positions of an access are worked out, by operand. */
  addressScratch = [0, 1, 2, 3].map(() => new Float64Array(0));
  positionScratch = [0, 1].map(() => new Int32Array(0));
  aloneScratch = new Float64Array(this.lanes);
  /** What was found of the two masks that were asked about last, the latest first. */
  maskInfo = new MaskInfo(new Uint8Array(0));
  previousMaskInfo = this.maskInfo;

  /** @param numbers of its warps in their block, in ascending order */
  constructor(
    public batch: BlockBatch,
    public numbers: number[],
  ) {}

  /** A number for each lane. */
  ofLanes(value: (lane: number) => number) {
    return new Int32Array(this.lanes).map((_, lane) => value(lane));
  }

  /** Begin the blocks that are now in the batch's slots. */
  start() {
    this.alive.set(this.exists);
    this.lost = null;
    this.exits += 1;
    this.warpEpoch = new Int32Array(this.lanes);
    this.votes.fill(0);
    this.wholeEpoch.fill(0);
    this.syncwarpMask.fill(-1);
    this.committed.fill(0);
    this.pending.length = 0;
    this.committedProducts.fill(0);
    this.products = [];
    if (this.launch.localArrays.length) this.local.reset();
    const each = this.lanes / this.batch.slots;
    this.batch.blocks.forEach((block, slot) => {
      this.launch.blockIndex(block).forEach((index, axis) => {
        this.blockIndex[axis].fill(index, slot * each, (slot + 1) * each);
      });
    });
  }

  /**
   * Whether no barrier of a warp stands between a lane now and what another thread of its warp did.
   * @param other number of that thread
   * @param epoch warp-level barriers that it had passed then
   */
  inSameEpoch(lane: number, other: number, epoch: number) {
    if (epoch === this.warpEpoch[lane]) return true;
    if (!this.partialSyncwarp || epoch < this.wholeEpoch[lane]) return false;
    return ((this.syncwarpMask[lane] >>> (other % WARP)) & 1) === 0;
  }

  /** The lanes of a mask, in order. Masks are never changed once they are in use. */
  lanesOf(mask: Mask) {
    const maskInfo = this.infoOf(mask);
    maskInfo.lanes ??= flatnonzero(mask);
    return maskInfo.lanes;
  }

  /**
   * The runs of whole warps that a mask has lanes in, three numbers for each: the first lane, the
   * one after the last, and 1 where all of them are active.
   */
  runsOf(mask: Mask) {
    const maskInfo = this.infoOf(mask);
    maskInfo.runs ??= runsIn(mask);
    return maskInfo.runs;
  }

  /** Warps with at least one lane in a mask. */
  warpsOf(mask: Mask) {
    const runs = this.runsOf(mask);
    let lanes = 0;
    for (let at = 0; at < runs.length; at += 3) lanes += runs[at + 1] - runs[at];
    return lanes / WARP;
  }

  infoOf(mask: Mask) {
    if (this.maskInfo.mask === mask) return this.maskInfo;
    const found = this.previousMaskInfo.mask === mask ? this.previousMaskInfo : new MaskInfo(mask);
    this.previousMaskInfo = this.maskInfo;
    this.maskInfo = found;
    return found;
  }

  /**
   * The barriers that a lane's block has passed, or, where warps synchronise in parts, the epoch
   * of time that its warp is in.
   */
  epochOf(lane: number) {
    const { batch, slot } = this;
    if (!batch.clocks) return batch.epoch[slot[lane]];
    return batch.clocks.epochOf(batch.clusterOf(slot[lane]), this.warpOf(lane));
  }

  /** The number of a lane's warp in its cluster. */
  warpOf(lane: number) {
    return Math.floor(this.clusterThread[lane] / WARP);
  }

  /** Whether one of some lanes' addresses of shared memory names a block of the cluster. */
  namesBlock(addresses: Float64Array, lanes: Int32Array | null) {
    if (this.launch.cluster === 1) return false;
    const count = lanes === null ? this.lanes : lanes.length;
    for (let i = 0; i < count; i++) {
      if (addresses[lanes === null ? i : lanes[i]] >= 2 ** CLUSTER_SHIFT) return true;
    }
    return false;
  }

  /**
   * Addresses of shared memory without the block that they name, and where its slot starts. An
   * address of a block that the cluster has not is -1.
   */
  inCluster(addresses: Float64Array): [low: Float64Array, offsets: Int32Array] {
    const { cluster } = this.launch;
    const low = new Float64Array(this.lanes);
    const offsets = this.sharedOffset.slice();
    for (let lane = 0; lane < this.lanes; lane++) {
      const block = Math.floor(addresses[lane] / 2 ** CLUSTER_SHIFT);
      const known = block >= 0 && block <= cluster;
      low[lane] = known ? addresses[lane] - block * 2 ** CLUSTER_SHIFT : -1;
      if (known && block === 0) continue;
      const slot = this.slot[lane] - (this.slot[lane] % cluster) + block - 1;
      offsets[lane] = known ? slot * this.batch.shared.stride : 0;
    }
    return [low, offsets];
  }

  /** A memory space. */
  memory(space: string) {
    if (space === "shared") return this.batch.shared;
    return space === "local" ? this.local : this.launch.globalMemory;
  }

  /** Where each lane's slot of a memory space starts, in bytes; null where all share one. */
  offsets(space: string) {
    if (space === "shared") return this.sharedOffset;
    return space === "local" ? this.localOffset : null;
  }

  /** The values of a special register such as `%tid.x`: of all lanes, or one number. */
  special(name: string): Int32Array | number {
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
    const byLane: Record<string, (lane: number) => number> = {
      "%laneid": (lane) => lane,
      "%lanemask_eq": (lane) => 1 << lane,
      "%lanemask_lt": (lane) => (1 << lane) - 1,
      "%lanemask_le": (lane) => ((1 << lane) - 1) | (1 << lane),
      "%lanemask_gt": (lane) => ~(((1 << lane) - 1) | (1 << lane)),
      "%lanemask_ge": (lane) => ~((1 << lane) - 1),
    };
    if (byLane[name]) return thread.map((_, lane) => byLane[name](lane % WARP));
    if (name === "%cluster_ctarank" || name === "%cluster_ctaid.x") {
      return this.slot.map((slot) => slot % launch.cluster);
    }
    if (name === "%cluster_nctarank" || name === "%cluster_nctaid.x") return launch.cluster;
    if (name === "%envreg1") return Math.floor(launch.workspace / 2 ** 32);
    if (name === "%envreg2") return launch.workspace | 0;
    if (name === "%clock" || name === "%clock64" || name === "%globaltimer") return 0;
    if (name === "%warpid") return thread.map((one) => Math.floor(one / WARP));
    if (name === "%dynamic_smem_size") return launch.sharedBytes;
    if (name === "%total_smem_size") return this.batch.shared.size;
    if (name === "WARP_SZ") return WARP;
    throw new PtxError(sentence("run.special", { name }));
  }
}

/** Where a mask holds. */
export function flatnonzero(mask: Mask) {
  const found = new Int32Array(countNonzero(mask));
  for (let lane = 0, next = 0; lane < mask.length; lane++) if (mask[lane]) found[next++] = lane;
  return found;
}

/** How many lanes a mask holds. */
export function countNonzero(mask: Mask) {
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

/** A mask as words of four lanes. */
function fourAtOnce(mask: Mask) {
  return new Uint32Array(mask.buffer, mask.byteOffset, mask.length >> 2);
}

/** The lanes, of whole warps, where both masks hold. */
export function both(mask: Mask, other: Mask) {
  const found = new Uint8Array(mask.length);
  const [out, a, b] = [found, mask, other].map(fourAtOnce);
  for (let i = 0; i < out.length; i++) out[i] = a[i] & b[i];
  return found;
}

/** The lanes, of whole warps, where one mask holds and another does not. */
export function less(mask: Mask, other: Mask) {
  const found = new Uint8Array(mask.length);
  const [out, a, b] = [found, mask, other].map(fourAtOnce);
  for (let i = 0; i < out.length; i++) out[i] = a[i] & ~b[i];
  return found;
}
