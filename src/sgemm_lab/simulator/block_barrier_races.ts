// Race detector for shared memory, chosen where every barrier is one of the whole block; all other
// kernels have the one of vector_clock_races.ts.

import { WARP } from "../hardware.py";
import type { Access, Observer, Site, ThreadGroup } from "./group.ts";
import { ATOMIC, COPY_WRITE, LOAD } from "./group.ts";
import type { HazardLog } from "./hazard_log.ts";
import type { Memory } from "./memory.ts";
import { type Instruction, TYPE_BYTES } from "./ptx.ts";
import { reportTies, type Stored } from "./write_conflicts.ts";

/** A thread's number, shifted by this, is that of its warp; NO_THREAD is of no warp. */
export const WARP_BITS = Math.log2(WARP);
export const NO_THREAD = -1;
export const COPY_WORD = 4;

/** Words of reads put by. Above this they would take more memory than they save time. */
const MAX_PENDING_WORDS = 1 << 23;

/**
 * One access of shared memory, and when each lane made it. `lanes`: those that made it, null for
 * all; `positions`: for each of them, index of the first byte. `epoch`: barriers that each slot's
 * block had passed; `warpEpoch`: warp-level barriers that each lane of the group had passed.
 */
interface Use {
  site: Site;
  group: ThreadGroup;
  lanes: Int32Array | null;
  positions: Int32Array;
  epoch: Int32Array;
  warpEpoch: Int32Array;
}

/** Bytes of the narrowest load or store that may go to shared memory, at most 4. */
export function smallestSharedAccess(instructions: Instruction[]) {
  let narrowest = 4;
  for (const { parts } of instructions) {
    const elsewhere = ["global", "local", "param"].some((space) => parts.includes(space));
    if (["ld", "st", "atom", "red"].includes(parts[0]) && !elsewhere) {
      narrowest = Math.min(narrowest, TYPE_BYTES.get(parts[parts.length - 1]) ?? narrowest);
    }
  }
  return narrowest;
}

/** For each word of a batch's shared memory: who used it last, and when. */
class Shadow {
  writer;
  writeEpoch;
  writeWarpEpoch;
  writeSite;
  /** Whether an atomic wrote the word last. */
  atomic;
  reader;
  /** Where there are several readers: another, of another warp if there are several warps. */
  otherReader;
  readEpoch;
  readWarpEpoch;
  readSite;
  severalReaders;
  severalWarps;
  inFlight;
  wordsInFlight = 0;
  blocks;

  constructor(
    public memory: Memory,
    wordBytes: number,
  ) {
    const words = memory.bytes.length / wordBytes;
    this.writer = new Int32Array(words);
    this.writeEpoch = new Int32Array(words);
    this.writeWarpEpoch = new Int32Array(words);
    this.writeSite = new Int32Array(words);
    this.atomic = new Uint8Array(words);
    this.reader = new Int32Array(words);
    this.otherReader = new Int32Array(words);
    this.readEpoch = new Int32Array(words);
    this.readWarpEpoch = new Int32Array(words);
    this.readSite = new Int32Array(words);
    this.severalReaders = new Uint8Array(words);
    this.severalWarps = new Uint8Array(words);
    this.inFlight = new Int32Array(words);
    this.blocks = new Int32Array(0);
  }

  /** Begin anew with other blocks. */
  start(blocks: Int32Array) {
    for (const row of [this.writer, this.writeEpoch, this.reader, this.otherReader]) {
      row.fill(NO_THREAD);
    }
    this.readEpoch.fill(NO_THREAD);
    for (const row of [this.writeWarpEpoch, this.writeSite, this.readWarpEpoch, this.readSite]) {
      row.fill(0);
    }
    this.atomic.fill(0);
    this.severalReaders.fill(0);
    this.severalWarps.fill(0);
    this.inFlight.fill(0);
    this.wordsInFlight = 0;
    this.blocks = blocks.slice();
  }
}

/**
 * Watches shared memory for accesses that no barrier orders. An observer.
 *
 * Two accesses of one word race when two threads make them in the same stretch between barriers and
 * at least one writes. Threads of one warp are also ordered by `__syncwarp()`. Most stretches of
 * most kernels only read, or only write. So reads are put by, and looked at word by word only when
 * a write follows in their stretch.
 */
export class BlockBarrierRaceDetector implements Observer {
  judges = true;
  wordBytes;
  /** A position, shifted by this, is the number of its word. */
  shift;
  shadow: Shadow | null = null;
  /** reads that have not been noted word by word */
  reads: Use[] = [];
  pendingWords = 0;
  /** words of the last store that race if its lanes stored different values */
  sameStore: number[] = [];
  lastWrite;
  lastRead;
  before;

  constructor(
    public log: HazardLog,
    public instructions: Instruction[],
  ) {
    this.wordBytes = smallestSharedAccess(instructions);
    this.shift = Math.log2(this.wordBytes);
    // For each slot the stretch in which shared memory was last written, or a read noted.
    this.lastWrite = new Int32Array(0);
    this.lastRead = new Int32Array(0);
    this.before = new Int32Array(0);
  }

  /** Check one access of shared memory against those before it. */
  onAccess(access: Access) {
    const { group, site, lanes, positions } = access;
    if (site.space !== "shared") return;
    const shadow = this.shadowOf(group, access.memory);
    const { epoch } = group.batch;
    const use = { site, group, lanes, positions, epoch, warpEpoch: group.warpEpoch };
    if (site.kind === LOAD) {
      this.checkRead(shadow, use, access);
      this.deferRead(shadow, use);
    } else {
      this.noteReads(shadow, epoch);
      this.sameStore = [];
      this.checkWrite(shadow, use, access);
      this.lastWrite = epoch;
    }
  }

  /** The words are no longer in flight; their writers wrote them just now. */
  onCopiesLanded(group: ThreadGroup, lanes: Int32Array, positions: Int32Array) {
    const shadow = this.shadowOf(group, group.batch.shared);
    const { thread, slot, warpEpoch } = group;
    const { epoch } = group.batch;
    for (let word = 0; word < COPY_WORD / this.wordBytes; word++) {
      for (let i = 0; i < positions.length; i++) {
        const [index, lane] = [(positions[i] >> this.shift) + word, lanes[i]];
        shadow.inFlight[index] -= 1;
        shadow.writer[index] = thread[lane];
        shadow.writeEpoch[index] = epoch[slot[lane]];
        shadow.writeWarpEpoch[index] = warpEpoch[lane];
      }
      shadow.wordsInFlight -= positions.length;
    }
    this.lastWrite = epoch;
  }

  shadowOf(group: ThreadGroup, memory: Memory) {
    const { blocks, slots } = group.batch;
    if (this.shadow?.memory !== memory) this.shadow = new Shadow(memory, this.wordBytes);
    if (!same(this.shadow.blocks, blocks)) {
      this.shadow.start(blocks);
      this.lastWrite = new Int32Array(slots).fill(NO_THREAD);
      this.lastRead = this.lastWrite;
      this.reads = [];
      this.pendingWords = 0;
    }
    return this.shadow;
  }

  checkRead(shadow: Shadow, use: Use, access: Access) {
    const { positions, lanes, site } = use;
    const words = site.width / this.wordBytes;
    for (let word = 0; shadow.wordsInFlight && word < words; word++) {
      for (let i = 0; i < positions.length; i++) {
        const index = (positions[i] >> this.shift) + word;
        if (shadow.inFlight[index] <= 0) continue;
        this.log.inFlight(access, lanes ? lanes[i] : i, index * this.wordBytes);
        break;
      }
    }
    if (!shareEpoch(this.lastWrite, use.epoch)) return;
    for (let word = 0; word < words; word++) this.checkWriter(shadow, use, word, access);
  }

  /** Tell of the first lane for which another thread wrote its word in the same stretch. */
  checkWriter(shadow: Shadow, use: Use, word: number, access: Access) {
    const { group, positions, lanes, epoch } = use;
    const { thread, slot } = group;
    const { writer, writeEpoch, writeWarpEpoch, atomic } = shadow;
    const { shift } = this;
    const forOthers = use.site.kind === ATOMIC || use.site.instruction.parts.includes("volatile");
    let first = -1;
    for (let i = 0; i < positions.length; i++) {
      const index = (positions[i] >> shift) + word;
      const lane = lanes === null ? i : lanes[i];
      if (forOthers && atomic[index] !== 0) continue;
      if (writeEpoch[index] !== epoch[slot[lane]] || writer[index] === thread[lane]) continue;
      if (writer[index] >> WARP_BITS !== thread[lane] >> WARP_BITS) {
        first = i;
        break;
      }
      if (first < 0 && group.inSameEpoch(lane, writer[index], writeWarpEpoch[index])) first = i;
    }
    if (first < 0) return;
    const index = (positions[first] >> shift) + word;
    this.report(use, first, index, writer[index], shadow.writeSite, access);
  }

  deferRead(shadow: Shadow, use: Use) {
    const last = this.reads[this.reads.length - 1];
    if (last && last.epoch !== use.epoch) this.forgetReads(use.epoch);
    // Positions hold only until the next access.
    this.reads.push({ ...use, positions: use.positions.slice() });
    this.pendingWords += use.positions.length * use.site.words;
    if (this.pendingWords > MAX_PENDING_WORDS) this.noteReads(shadow, use.epoch);
  }

  /** Drop the reads that a barrier has ordered before everything to come. */
  forgetReads(epoch: Int32Array) {
    this.reads = this.reads.filter((read) => shareEpoch(read.epoch, epoch));
    this.pendingWords = this.reads.reduce(
      (sum, { positions, site }) => sum + positions.length * site.words,
      0,
    );
  }

  noteReads(shadow: Shadow, epoch: Int32Array) {
    this.forgetReads(epoch);
    for (const use of this.reads) {
      const words = use.site.width / this.wordBytes;
      for (let word = 0; word < words; word++) this.noteRead(shadow, use, word);
      const { lastRead } = this;
      this.lastRead = use.epoch.map((one, slot) => Math.max(one, lastRead[slot]));
    }
    this.reads = [];
    this.pendingWords = 0;
  }

  /** Forget readers of earlier stretches, then note who reads now. */
  noteRead(shadow: Shadow, use: Use, word: number) {
    const { positions, lanes, epoch, warpEpoch } = use;
    const { thread, slot } = use.group;
    const { reader, readEpoch, readWarpEpoch, severalReaders, severalWarps, readSite } = shadow;
    const { shift } = this;
    const site = use.site.instruction.index;
    const count = positions.length;
    if (this.before.length < count) this.before = new Int32Array(count);
    const { before } = this;
    // All lanes look before any is noted: several may read one word.
    for (let i = 0; i < count; i++) {
      const index = (positions[i] >> shift) + word;
      const lane = lanes === null ? i : lanes[i];
      const stale =
        readEpoch[index] !== epoch[slot[lane]] ||
        (severalWarps[index] === 0 &&
          reader[index] >> WARP_BITS === thread[lane] >> WARP_BITS &&
          readWarpEpoch[index] !== warpEpoch[lane]);
      before[i] = stale ? thread[lane] : reader[index];
      if (stale) {
        severalReaders[index] = 0;
        severalWarps[index] = 0;
      }
    }
    for (let i = 0; i < count; i++) {
      const index = (positions[i] >> shift) + word;
      const lane = lanes === null ? i : lanes[i];
      reader[index] = thread[lane];
      readEpoch[index] = epoch[slot[lane]];
      readWarpEpoch[index] = warpEpoch[lane];
      readSite[index] = site;
      if (before[i] !== thread[lane]) noteOther(shadow, index, thread[lane], before[i]);
    }
    for (let i = 0; i < count; i++) {
      const index = (positions[i] >> shift) + word;
      const own = thread[lanes === null ? i : lanes[i]];
      if (reader[index] !== own) noteOther(shadow, index, reader[index], own);
    }
  }

  checkWrite(shadow: Shadow, use: Use, access: Access) {
    const words = use.site.width / this.wordBytes;
    const written = shareEpoch(this.lastWrite, use.epoch);
    const read = shareEpoch(this.lastRead, use.epoch);
    for (let word = 0; word < words; word++) {
      if (written) this.checkWriter(shadow, use, word, access);
      if (read) this.checkReaders(shadow, use, word, access);
      this.noteWrite(shadow, use, word, access);
    }
  }

  /** Tell of the first lane that writes a word which another thread reads in the same stretch. */
  checkReaders(shadow: Shadow, use: Use, word: number, access: Access) {
    const { group, positions, lanes, epoch } = use;
    const { thread, slot } = group;
    const { reader, readEpoch, readWarpEpoch, severalReaders, severalWarps } = shadow;
    const { shift } = this;
    let first = -1;
    for (let i = 0; i < positions.length; i++) {
      const index = (positions[i] >> shift) + word;
      const lane = lanes === null ? i : lanes[i];
      if (readEpoch[index] !== epoch[slot[lane]]) continue;
      const own = thread[lane];
      const apart = reader[index] >> WARP_BITS !== own >> WARP_BITS;
      const alone = severalReaders[index] === 0 && reader[index] === own;
      const together = !alone && group.inSameEpoch(lane, reader[index], readWarpEpoch[index]);
      if (!apart && severalWarps[index] === 0 && !together) continue;
      if (first < 0) first = i;
      const other = readerBefore(shadow, index, own);
      if (other >> WARP_BITS === own >> WARP_BITS) continue;
      first = i;
      break;
    }
    if (first < 0) return;
    const index = (positions[first] >> shift) + word;
    const other = readerBefore(shadow, index, thread[lanes === null ? first : lanes[first]]);
    this.report(use, first, index, other, shadow.readSite, access);
  }

  noteWrite(shadow: Shadow, use: Use, word: number, access: Access) {
    const { positions, lanes, epoch, warpEpoch } = use;
    const { thread, slot } = use.group;
    const { writer, writeEpoch, writeWarpEpoch, writeSite } = shadow;
    const { shift } = this;
    const site = use.site.instruction.index;
    const count = positions.length;
    const copies = use.site.kind === COPY_WRITE ? 1 : 0;
    const isAtomic = use.site.kind === ATOMIC ? 1 : 0;
    for (let i = 0; i < count; i++) {
      const index = (positions[i] >> shift) + word;
      const lane = lanes === null ? i : lanes[i];
      writer[index] = thread[lane];
      writeEpoch[index] = epoch[slot[lane]];
      writeWarpEpoch[index] = warpEpoch[lane];
      writeSite[index] = site;
      shadow.atomic[index] = isAtomic;
      shadow.inFlight[index] += copies;
    }
    shadow.wordsInFlight += copies * count;
    if (isAtomic) return;
    // Lanes of one access that write one word: of one warp they race if they write different
    // values.
    let lost = false;
    for (let i = 0; i < count; i++) {
      const index = (positions[i] >> shift) + word;
      const own = thread[lanes === null ? i : lanes[i]];
      if (writer[index] === own) continue;
      lost = true;
      if (writer[index] >> WARP_BITS === own >> WARP_BITS) continue;
      this.report(use, i, index, writer[index], writeSite, access);
      return;
    }
    if (lost) this.sameStore.push(word);
  }

  /** Tell of lanes of one warp that stored different values to one word. */
  onStored(access: Access, bits: Stored) {
    const { shadow } = this;
    if (!this.sameStore.length || access.site.space !== "shared" || !shadow) return;
    reportTies(this.log, access, this.sameStore, this.wordBytes, bits, (index) => [
      shadow.writer[index],
      this.instructions[shadow.writeSite[index]],
    ]);
    this.sameStore = [];
  }

  /**
   * @param i of its lanes
   * @param index of a word
   * @param other thread
   */
  report(use: Use, i: number, index: number, other: number, sites: Int32Array, access: Access) {
    const lane = use.lanes ? use.lanes[i] : i;
    const before = this.instructions[sites[index]];
    this.log.race(access, lane, index * this.wordBytes, other, before);
  }
}

/** Note that beside `one` another thread reads a word. */
function noteOther(shadow: Shadow, index: number, one: number, other: number) {
  const apart = one >> WARP_BITS !== other >> WARP_BITS;
  shadow.severalReaders[index] = 1;
  if (apart || shadow.severalWarps[index] === 0) shadow.otherReader[index] = other;
  if (apart) shadow.severalWarps[index] = 1;
}

/** Of several readers of a word one who is somebody else, best of another warp. */
function readerBefore(shadow: Shadow, index: number, thread: number) {
  const reader = shadow.reader[index];
  const alike =
    (shadow.severalWarps[index] !== 0 && reader >> WARP_BITS === thread >> WARP_BITS) ||
    (shadow.severalReaders[index] !== 0 && reader === thread);
  return alike ? shadow.otherReader[index] : reader;
}

/** Whether two rows agree in any slot. */
function shareEpoch(one: Int32Array, other: Int32Array) {
  for (let slot = 0; slot < one.length; slot++) if (one[slot] === other[slot]) return true;
  return false;
}

/** Whether two rows agree in all slots. */
function same(one: Int32Array, other: Int32Array) {
  if (one.length !== other.length) return false;
  for (let slot = 0; slot < one.length; slot++) if (one[slot] !== other[slot]) return false;
  return true;
}
