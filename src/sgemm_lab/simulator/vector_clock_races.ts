// Race detector for shared memory by vector clocks, chosen where warps synchronise in parts (mbarriers,
// named barriers, flags); all other kernels have the one of block_barrier_races.ts.

import { WARP } from "../hardware.py";
import { COPY_WORD, NO_THREAD, smallestSharedAccess, WARP_BITS } from "./block_barrier_races.ts";
import type { Access, BlockBatch, BulkCopy, Observer, TensorRead, ThreadGroup } from "./group.ts";
import { ATOMIC, COPY_WRITE, LOAD } from "./group.ts";
import type { HazardLog } from "./hazard_log.ts";
import type { Memory } from "./memory.ts";
import type { Instruction } from "./ptx.ts";
import {
  clocksOf,
  handsOnByFlags,
  mergeClock,
  type Row,
  type VectorClocks,
} from "./vector_clocks.ts";
import { PIECE } from "./wgmma_operations.ts";
import { reportTies, type Stored } from "./write_conflicts.ts";

/** Who uses words of shared memory: a lane for each word. */
interface Use {
  access: Access;
  group: ThreadGroup;
  clocks: VectorClocks;
  lanes: Int32Array;
  /** Whether the words are meant for several warps at once. */
  volatile: boolean;
}

/** An access of shared memory of another block of the cluster. */
interface Visit {
  access: Access;
  lane: number;
  time: number;
}

/** The time of a read that goes on. */
const READING = 2 ** 31 - 1;

/** For each word of a batch's shared memory: who used it last, and at what time. */
class Shadow {
  writer;
  writeTime;
  writeWarpEpoch;
  writeSite;
  reader;
  /** When each warp last read a word, word by word. */
  readTime;
  readWarpEpoch;
  readSite;
  inFlight;
  /** By word: the clock that a volatile store to it hands on. */
  handed: Map<number, Row> = new Map();

  /** @param warps of a cluster */
  constructor(
    memory: Memory,
    wordBytes: number,
    public warps: number,
  ) {
    const words = memory.bytes.length / wordBytes;
    this.writer = new Int32Array(words).fill(NO_THREAD);
    this.writeTime = new Int32Array(words);
    this.writeWarpEpoch = new Int32Array(words);
    this.writeSite = new Int32Array(words);
    this.reader = new Int32Array(words).fill(NO_THREAD);
    this.readTime = new Int32Array(words * warps);
    this.readWarpEpoch = new Int32Array(words);
    this.readSite = new Int32Array(words);
    this.inFlight = new Int32Array(words);
  }
}

/** Watches shared memory for accesses that nothing orders. An observer. */
export class VectorClockRaceDetector implements Observer {
  judges = true;
  wordBytes;
  /** Whether volatile words are flags. */
  flags;
  shadow: Shadow | null = null;
  blocks = "";
  /** words of the last store that race if its lanes stored different values */
  sameStore: number[] = [];
  /** by slot and warp: the last access of another block's shared memory, by a warp of the cluster */
  visits: Map<string, Visit> = new Map();

  constructor(
    public log: HazardLog,
    public instructions: Instruction[],
  ) {
    this.wordBytes = smallestSharedAccess(instructions);
    this.flags = handsOnByFlags({ instructions });
  }

  /** Check one access of shared memory against those before it. */
  onAccess(access: Access) {
    const { site, positions } = access;
    if (site.space !== "shared") return;
    if (access.elsewhere) this.noteVisits(access);
    if (site.kind === ATOMIC) return;
    const [shadow, use] = [this.shadowOf(access.group), this.useOf(access)];
    if (site.kind !== LOAD) this.sameStore = [];
    for (let word = 0; word < site.width / this.wordBytes; word++) {
      const index = positions.map((position) => position / this.wordBytes + word);
      if (site.kind === LOAD) this.read(shadow, use, index);
      else {
        this.write(shadow, use, index);
        this.checkSameStore(shadow, use, index, word);
      }
      if (site.kind === COPY_WRITE) for (const one of index) shadow.inFlight[one] += 1;
    }
  }

  /** The words are no longer in flight; their writers wrote them just now. */
  onCopiesLanded(group: ThreadGroup, lanes: Int32Array, positions: Int32Array) {
    const [shadow, clocks] = [this.shadowOf(group), clocksOf(group)];
    for (let word = 0; word < COPY_WORD / this.wordBytes; word++) {
      positions.forEach((position, i) => {
        const [index, lane] = [Math.floor(position / this.wordBytes) + word, lanes[i]];
        shadow.inFlight[index] -= 1;
        shadow.writer[index] = group.clusterThread[lane];
        shadow.writeTime[index] = timeOf(group, clocks, lane);
        shadow.writeWarpEpoch[index] = group.warpEpoch[lane];
      });
    }
  }

  /** A bulk copy starts: it writes as the thread would that starts it. */
  onBulkCopy(copy: BulkCopy) {
    const shadow = this.shadowOf(copy.access.group);
    const [use, index] = [this.useOf(copy.access), this.wordsOf(copy)];
    const lanes = new Int32Array(index.length).fill(use.lanes[use.lanes.length - 1]);
    this.write(shadow, { ...use, lanes }, index);
    for (const one of index) {
      shadow.writer[one] = use.clocks.engine * WARP;
      shadow.writeTime[one] = copy.time;
      shadow.inFlight[one] += 1;
    }
  }

  /** The words of a bulk copy are there for who waits for its mbarrier. */
  onBulkLanded(copy: BulkCopy) {
    const shadow = this.shadowOf(copy.access.group);
    for (const one of this.wordsOf(copy)) shadow.inFlight[one] -= 1;
  }

  /** A product of a warp group reads from its start until it is waited for. */
  onTensorRead(read: TensorRead) {
    const [shadow, use] = [this.shadowOf(read.access.group), this.useOf(read.access)];
    const index = this.wordsOf(read);
    this.read(shadow, { ...use, lanes: new Int32Array(index.length).fill(read.lane) }, index);
    this.setReadTime(read, index, READING);
  }

  /** Products have read their factors just now; others of the group still read theirs. */
  onTensorDone(done: TensorRead[], running: TensorRead[]) {
    for (const read of done) {
      const { group } = read.access;
      this.setReadTime(read, this.wordsOf(read), timeOf(group, clocksOf(group), read.lane));
    }
    for (const read of running) this.setReadTime(read, this.wordsOf(read), READING);
  }

  noteVisits(access: Access) {
    const { group, memory, lanes, positions } = access;
    const clocks = clocksOf(group);
    positions.forEach((position, i) => {
      const lane = lanes ? lanes[i] : i;
      const slot = Math.floor(position / memory.stride);
      if (slot === group.slot[lane]) return;
      const visit = { access, lane, time: timeOf(group, clocks, lane) };
      this.visits.set(`${slot} ${group.warpOf(lane)}`, visit);
    });
  }

  /** Report accesses of shared memory whose block need not have waited for them. */
  onBlocksDone({ clocks, launch }: BlockBatch) {
    for (const [key, { access, lane, time }] of this.visits) {
      const [slot, warp] = key.split(" ").map(Number);
      const first = (slot % launch.cluster) * launch.warps;
      const cluster = Math.floor(slot / launch.cluster);
      const knows = Array.from({ length: launch.warps }, (_, own) => {
        return clocks && clocks.seen[clocks.at(cluster, first + own) + warp] >= time;
      });
      if (!knows.includes(true)) this.log.blockGone(access, lane);
    }
    this.visits.clear();
  }

  setReadTime({ access, lane }: TensorRead, index: Int32Array, time: number) {
    const shadow = this.shadowOf(access.group);
    const warp = access.group.clusterThread[lane] >> WARP_BITS;
    for (const word of index) shadow.readTime[word * shadow.warps + warp] = time;
  }

  /** The words of what a product reads or a copy writes. */
  wordsOf({ positions }: TensorRead | BulkCopy) {
    const words = PIECE / this.wordBytes;
    return new Int32Array(positions.length * words).map(
      (_, at) => positions[Math.floor(at / words)] / this.wordBytes + (at % words),
    );
  }

  useOf(access: Access): Use {
    const { group } = access;
    const lanes = access.lanes ?? group.slot.map((_, lane) => lane);
    const volatile = this.flags && access.site.instruction.parts.includes("volatile");
    return { access, group, clocks: clocksOf(group), lanes, volatile };
  }

  shadowOf({ batch }: ThreadGroup) {
    const blocks = batch.blocks.join();
    if (!this.shadow || this.blocks !== blocks) {
      const { warps, cluster } = batch.launch;
      this.shadow = new Shadow(batch.shared, this.wordBytes, warps * cluster);
      this.blocks = blocks;
    }
    return this.shadow;
  }

  read(shadow: Shadow, use: Use, index: Int32Array) {
    const { group, clocks, lanes } = use;
    let waits = -1;
    const wrong = new Uint8Array(index.length);
    index.forEach((word, i) => {
      const unordered = afterWriter(shadow, use, word, lanes[i]);
      const byEngine = unordered && shadow.writer[word] >> WARP_BITS === clocks.engine;
      const waiting = shadow.inFlight[word] > 0 || byEngine;
      if (waiting && waits < 0) waits = i;
      wrong[i] = unordered && !waiting ? 1 : 0;
    });
    if (waits >= 0) this.log.inFlight(use.access, lanes[waits], index[waits] * this.wordBytes);
    this.report(use, index, wrong, shadow.writer, shadow.writeSite);
    const site = use.access.site.instruction.index;
    index.forEach((word, i) => {
      const thread = group.clusterThread[lanes[i]];
      const handed = use.volatile && shadow.handed.get(word);
      if (handed) {
        const at = clocks.at(group.batch.clusterOf(group.slot[lanes[i]]), thread >> WARP_BITS);
        const told = clocks.told.get(at) ?? handed.slice();
        mergeClock(told, handed);
        clocks.told.set(at, told);
      }
      shadow.reader[word] = thread;
      const now = timeOf(group, clocks, lanes[i]);
      shadow.readTime[word * shadow.warps + (thread >> WARP_BITS)] = now;
      shadow.readWarpEpoch[word] = group.warpEpoch[lanes[i]];
      shadow.readSite[word] = site;
    });
  }

  write(shadow: Shadow, use: Use, index: Int32Array) {
    const { group, clocks, lanes } = use;
    const afterWrite = Uint8Array.from(index, (word, i) =>
      Number(afterWriter(shadow, use, word, lanes[i])),
    );
    this.report(use, index, afterWrite, shadow.writer, shadow.writeSite);
    const afterRead = Uint8Array.from(index, (word, i) =>
      Number(afterReaders(shadow, use, word, lanes[i])),
    );
    this.report(use, index, afterRead, shadow.reader, shadow.readSite);
    const site = use.access.site.instruction.index;
    index.forEach((word, i) => {
      const thread = group.clusterThread[lanes[i]];
      const at = clocks.at(group.batch.clusterOf(group.slot[lanes[i]]), thread >> WARP_BITS);
      const fenced = use.volatile && clocks.fenced.get(at);
      if (fenced) shadow.handed.set(word, fenced);
      shadow.writer[word] = thread;
      shadow.writeTime[word] = timeOf(group, clocks, lanes[i]);
      shadow.writeWarpEpoch[word] = group.warpEpoch[lanes[i]];
      shadow.writeSite[word] = site;
    });
  }

  /**
   * See to lanes of one access that write one word, as others of its lanes do.
   * @param number which of their words
   */
  checkSameStore(shadow: Shadow, use: Use, index: Int32Array, number: number) {
    const { group, lanes } = use;
    const lost = Uint8Array.from(index, (word, i) =>
      Number(shadow.writer[word] !== group.clusterThread[lanes[i]]),
    );
    const apart = lost.map((one, i) =>
      shadow.writer[index[i]] >> WARP_BITS === group.clusterThread[lanes[i]] >> WARP_BITS ? 0 : one,
    );
    this.report(use, index, apart, shadow.writer, shadow.writeSite);
    if (lost.includes(1) && !apart.includes(1)) this.sameStore.push(number);
  }

  /** Tell of lanes of one warp that stored different values to one word. */
  onStored(access: Access, bits: Stored) {
    if (!this.sameStore.length || access.site.space !== "shared") return;
    const shadow = this.shadowOf(access.group);
    reportTies(this.log, access, this.sameStore, this.wordBytes, bits, (index) => [
      shadow.writer[index],
      this.instructions[shadow.writeSite[index]],
    ]);
    this.sameStore = [];
  }

  /**
   * Tell of the first wrong word whose two threads are of different warps, or the first.
   * @param others thread of each word
   * @param sites instruction of each word
   */
  report(use: Use, index: Int32Array, wrong: Uint8Array, others: Int32Array, sites: Int32Array) {
    if (!wrong.includes(1)) return;
    const { group, lanes } = use;
    const warpsDiffer = (i: number) =>
      others[index[i]] >> WARP_BITS !== group.clusterThread[lanes[i]] >> WARP_BITS;
    const apart = wrong.findIndex((one, i) => one === 1 && warpsDiffer(i));
    const first = apart < 0 ? wrong.indexOf(1) : apart;
    const word = index[first];
    const before = this.instructions[sites[word]];
    this.log.race(use.access, lanes[first], word * this.wordBytes, others[word], before);
  }
}

/** Whether who wrote a word last is not ordered before a lane now. */
function afterWriter(shadow: Shadow, use: Use, word: number, lane: number) {
  const { group, clocks } = use;
  const writer = shadow.writer[word];
  if (writer === NO_THREAD) return false;
  const [thread, who] = [group.clusterThread[lane], writer >> WARP_BITS];
  const warp = thread >> WARP_BITS;
  const row = clocks.at(group.batch.clusterOf(group.slot[lane]), warp);
  const time = shadow.writeTime[word];
  if (who !== warp) return !use.volatile && time > clocks.seen[row + who];
  const alone = shadow.writeWarpEpoch[word] === group.warpEpoch[lane];
  return alone && time === clocks.seen[row + warp] && writer !== thread;
}

/** Whether somebody read a word who is not ordered before a lane now. */
function afterReaders(shadow: Shadow, use: Use, word: number, lane: number) {
  const { group, clocks } = use;
  const reader = shadow.reader[word];
  if (reader === NO_THREAD) return false;
  const thread = group.clusterThread[lane];
  const warp = thread >> WARP_BITS;
  const row = clocks.at(group.batch.clusterOf(group.slot[lane]), warp);
  const times = word * shadow.warps;
  for (let other = 0; !use.volatile && other < shadow.warps; other++) {
    if (other !== warp && shadow.readTime[times + other] > clocks.seen[row + other]) return true;
  }
  if (shadow.readTime[times + warp] === READING) return true;
  return (
    shadow.readTime[times + warp] === clocks.seen[row + warp] &&
    reader >> WARP_BITS === warp &&
    reader !== thread &&
    shadow.readWarpEpoch[word] === group.warpEpoch[lane]
  );
}

/** A lane's own time. */
function timeOf(group: ThreadGroup, clocks: VectorClocks, lane: number) {
  const warp = group.clusterThread[lane] >> WARP_BITS;
  return clocks.seen[clocks.at(group.batch.clusterOf(group.slot[lane]), warp) + warp];
}
