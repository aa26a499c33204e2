// Race detector for global memory: between blocks, and between threads of one block.
//
// Two accesses of one word race when two threads make them, at least one writes, and nothing orders
// them. Within a block barriers do. Between blocks of one launch it takes a fence and a flag: a
// thread writes, passes a fence and changes a word by an atomic or volatile access; a thread of
// another block has such an access of the same word later, before it reads. Barriers carry this on
// to other threads of both blocks. A store of the value that is already there is not reported.
// Volatile accesses race only if a flag says to one thread that the other is done, and no fence makes that
// true, or the flag is set before the word. A store of the smaller of two, or the like, that leaves what its
// thread found there is no write; one of a value that the thread made clashes with readers even if it is the
// same by chance.

import { WARP_BITS } from "./block_barrier_races.ts";
import type { Access, Kind, Observer, ThreadGroup } from "./group.ts";
import { ATOMIC, COPY_WRITE, LOAD, STORE } from "./group.ts";
import type { HazardLog, RaceSentence } from "./hazard_log.ts";
import { flagLoads, guessingLoads, storedValues } from "./loaded_values.ts";
import type { Memory } from "./memory.ts";
import { type Instruction, TYPE_BYTES } from "./ptx.ts";
import type { Mask } from "./registers.ts";
import { type Doer, doerOf, Releases } from "./releases.ts";
import { losers, type Stored, wordStored } from "./write_conflicts.ts";

/** Parts of the opcode of an access that others may make at the same time. */
const ORDERED = ["relaxed", "acquire", "release", "acq_rel"];
const ONE_WAY = ["min", "max", "and", "or"];
const WRITES: ReadonlySet<Kind> = new Set([STORE, ATOMIC, COPY_WRITE]);
const [USED, IS_ATOMIC, IS_VOLATILE, IN_BLOCK] = [1, 2, 4, 8];

/** Words of a page, and numbers of each. */
const [PAGE, FIELDS] = [2 ** 12, 7];

/** For each watched word: who used it last in one way, and when. Of most words of large arrays nobody did. */
class Uses {
  pages: Int32Array[] = [];

  note(word: number, { group, site, time, how }: Use, lane: number) {
    const slot = group.slot[lane];
    const number = Math.floor(word / PAGE);
    this.pages[number] ??= new Int32Array(PAGE * FIELDS);
    const page = this.pages[number];
    const at = (word % PAGE) * FIELDS;
    page[at] = how;
    page[at + 1] = group.batch.blocks[slot];
    page[at + 2] = group.thread[lane];
    page[at + 3] = group.batch.epoch[slot];
    page[at + 4] = group.warpEpoch[lane];
    page[at + 5] = site;
    page[at + 6] = time;
  }

  /**
   * The use of a word, null where there is none. `how`: the bits above. `epoch`: barriers that the block
   * had passed. `time`: the number of the access, in the order of the simulation.
   */
  of(word: number) {
    const page = this.pages[Math.floor(word / PAGE)];
    const at = (word % PAGE) * FIELDS;
    if (!page?.[at]) return null;
    const [how, block, thread] = [page[at], page[at + 1], page[at + 2]];
    const [epoch, warpEpoch, site] = [page[at + 3], page[at + 4], page[at + 5]];
    return { how, block, thread, epoch, warpEpoch, site, time: page[at + 6] };
  }
}

/**
 * One access of watched memory. `lanes`: those that ask for a watched array; for each of them `at`
 * is its place among the access's legal lanes, and `words` its first word.
 */
interface Use {
  access: Access;
  group: ThreadGroup;
  site: number;
  lanes: number[];
  at: number[];
  words: number[];
  time: number;
  how: number;
}

/** What a lane races with: the block, thread and instruction of an earlier use. */
interface Other {
  block: number;
  thread: number;
  site: number;
}

/** A lane's store that races, if it must, only where it changes anything; `before` is what was there. */
interface Clash {
  i: number;
  other: Other;
  before: bigint;
  mustChange: boolean;
}

/** Watches some arrays in global memory. An observer. */
export class GlobalRaceDetector implements Observer {
  forgetful = true;
  judges = true;
  wordBytes;
  fences;
  /** Whether an instruction compares and swaps. */
  swaps;
  /** Whether an atomic only moves a number one way, such as to the smaller one. */
  oneWay;
  /** Loads of what decides whether and what to change by an atomic, and is not stored. */
  guesses;
  /** What kinds of value stores store. */
  values;
  /** Of each watched array where it lies, and its first word among all that are watched. */
  spans: { start: number; end: number; first: number }[] | null = null;
  /** Those who wrote last, read last and read first. */
  writers = new Uses();
  readers = new Uses();
  firstReaders = new Uses();
  releases = new Releases();
  /** What a block would know of others if each volatile or atomic store were behind a fence. */
  told: Releases | null = null;
  /** Loads of words that say whether a thread may go on. */
  flags;
  time = 0;
  /** Of the last store, what races if it changes anything, by word of the lanes. */
  stored: { use: Use; word: number; clashes: Clash[]; lost: Other[] | null; kept?: bigint[] }[] =
    [];

  /** @param arrays names of those that are watched */
  constructor(
    public log: HazardLog,
    public instructions: Instruction[],
    public arrays: ReadonlySet<string>,
  ) {
    this.wordBytes = smallestGlobalAccess(instructions);
    this.fences = instructions.some(
      ({ parts }) => parts[0] === "membar" || parts[0] === "fence" || isOrdered(parts),
    );
    this.swaps = instructions.map(({ parts }) => parts[0] === "atom" && parts.includes("cas"));
    this.oneWay = instructions.map(({ parts }) => {
      const isAtomic = parts[0] === "atom" || parts[0] === "red";
      return isAtomic && ONE_WAY.some((one) => parts.includes(one));
    });
    this.guesses = guessingLoads(instructions);
    this.values = storedValues(instructions);
    this.flags = flagLoads(instructions);
    const isVolatile = instructions.some(({ parts }) => parts.includes("volatile"));
    if (isVolatile) this.told = new Releases();
  }

  /** Check one access of global memory against those before it. */
  onAccess(access: Access) {
    const { site, positions } = access;
    if (site.space === "shared" || site.space === "local" || !positions.length) return;
    this.time += 1;
    this.stored = [];
    const use = this.useOf(access);
    if (use && WRITES.has(site.kind)) this.write(use);
    else if (use) this.read(use);
    // Only now: what a thread reads itself does not order the reading.
    const { parts } = site.instruction;
    if (parts.includes("cta") || !(isAtomic(access) || parts.includes("volatile"))) return;
    const writes = site.kind !== LOAD;
    if (this.fences) {
      const isFence = parts.includes("release") || parts.includes("acq_rel");
      this.releases.note(access, this.time, { reads: site.kind !== STORE, writes, isFence });
    }
    const reads = site.kind === ATOMIC || this.flags.has(site.instruction.index);
    this.told?.note(access, this.time, { reads, writes, isFence: writes });
  }

  /** Threads pass a fence that other blocks see. */
  onFence(group: ThreadGroup, mask: Mask | null) {
    this.releases.fence(group, mask, this.time);
  }

  /** Report a store that changed what another thread had written or read. */
  onStored(access: Access, bits: Stored) {
    for (const { use, word, clashes, lost, kept } of this.stored) {
      if (use.access !== access) continue;
      const own = (i: number) => wordStored(access.site, word, this.wordBytes, bits, use.at[i]);
      const wrong: Map<number, Other> = new Map();
      for (const { i, other, before, mustChange } of clashes) {
        if (!mustChange || own(i) !== before) wrong.set(i, other);
      }
      kept?.forEach((before, i) => {
        if (own(i) !== before) this.writers.note(use.words[i] + word, use, use.lanes[i]);
      });
      // Of changes to what each has read all but one are lost, even if they store the same.
      const what = this.values.updating.has(use.site) ? BigInt : own;
      if (lost) for (const i of losers(use.words, what)) wrong.set(i, lost[i]);
      this.report(use, word, wrong);
    }
    this.stored = [];
  }

  /** The lanes of an access that ask for a watched array; null if none does. */
  useOf(access: Access): Use | null {
    const { group, site, positions } = access;
    const spans = this.spans ?? this.lookAt(access.memory);
    const [lanes, at, words]: number[][] = [[], [], []];
    for (let i = 0; i < positions.length; i++) {
      const position = positions[i];
      for (const { start, end, first } of spans) {
        if (position < start || position >= end) continue;
        lanes.push(access.lanes ? access.lanes[i] : i);
        at.push(i);
        words.push(first + Math.floor((position - start) / this.wordBytes));
      }
    }
    if (!lanes.length) return null;
    const { index, parts } = site.instruction;
    const volatile = parts.includes("volatile") ? IS_VOLATILE : 0;
    const inBlock = parts.includes("cta") ? IN_BLOCK : 0;
    const how = USED | (isAtomic(access) ? IS_ATOMIC : 0) | volatile | inBlock;
    return { access, group, site: index, lanes, at, words, time: this.time, how };
  }

  lookAt({ arrays }: Memory) {
    let first = 0;
    this.spans = arrays
      .filter(({ name }) => this.arrays.has(name))
      .map(({ start, bytes }) => {
        const span = { start, end: start + bytes, first };
        first += Math.ceil(bytes / this.wordBytes);
        return span;
      });
    return this.spans;
  }

  wordsOf({ access }: Use) {
    const count = Math.max(1, Math.floor(access.site.width / this.wordBytes));
    return Array.from({ length: count }, (_, word) => word);
  }

  /** The lanes for which another thread used a word, and nothing orders the two. */
  races(uses: Uses, use: Use, word: number): Map<number, Other> {
    const { group } = use;
    const found: Map<number, Other> = new Map();
    use.words.forEach((first, i) => {
      const before = uses.of(first + word);
      if (!before) return;
      const { how, block, thread, epoch, site, time } = before;
      const lane = use.lanes[i];
      const [slot, own] = [group.slot[lane], group.thread[lane]];
      const here = group.batch.blocks[slot];
      if (block === here) {
        if (thread === own || epoch !== group.batch.epoch[slot]) return;
        const sameWarp = thread >> WARP_BITS === own >> WARP_BITS;
        if (sameWarp && !group.inSameEpoch(lane, thread, before.warpEpoch)) return;
      }
      const other = { block, warp: thread >> WARP_BITS, epoch };
      const isTold = this.isTold(uses, use, other, time, lane);
      if (this.meantForOthers(use, how, site, block !== here, isTold)) return;
      if (this.fences && this.releases.ordered(other, time, group, lane)) return;
      found.set(i, { block, thread, site });
    });
    return found;
  }

  /**
   * Whether a flag says that an earlier access was made; with fences, whether the reader of a word has
   * heard of its writer by some flag, which may have come before the word.
   */
  isTold(uses: Uses, { group, site }: Use, other: Doer, time: number, lane: number) {
    if (!this.fences) return this.told?.ordered(other, time + 1, group, lane) ?? false;
    const own = doerOf(group, lane);
    const reads = this.instructions[site].parts[0] === "ld";
    if (!reads && uses === this.writers) return false;
    const [writer, reader] = reads ? [other, own] : [own, other];
    return this.told?.heard(writer.block, reader) ?? false;
  }

  /**
   * Whether two accesses are such that others may have the word at the same time.
   * @param how the earlier of the two
   * @param site its instruction
   * @param apart whether they are of two blocks
   * @param isTold whether a flag says that one was made, as `isTold` has it
   */
  meantForOthers(use: Use, how: number, site: number, apart: boolean, isTold: boolean) {
    if (apart && (use.how | how) & IN_BLOCK) return false;
    if (use.how & IS_ATOMIC) return (how & (IS_ATOMIC | IS_VOLATILE)) !== 0;
    if (!(use.how & IS_VOLATILE)) return false;
    if (how & IS_ATOMIC) return true;
    const bothUpdate = this.values.updating.has(use.site) && this.values.updating.has(site);
    const isFlag = this.flags.has(use.site) || this.flags.has(site);
    return (isFlag || !isTold) && (how & IS_VOLATILE) !== 0 && !bothUpdate;
  }

  read(use: Use) {
    for (const word of this.wordsOf(use)) {
      const wrong = this.races(this.writers, use, word);
      // What a compare-and-swap wrote is read as a first guess: the next one compares again.
      // So is what only falls or only rises, where it is not handed on.
      const guesses = this.guesses.has(use.site);
      for (const [i, { site }] of wrong) {
        if (this.swaps[site] || (guesses && this.oneWay[site])) wrong.delete(i);
      }
      this.report(use, word, wrong);
      const fresh = use.words.map((first) => !this.firstReaders.of(first + word));
      use.words.forEach((first, i) => {
        if (fresh[i]) this.firstReaders.note(first + word, use, use.lanes[i]);
        this.readers.note(first + word, use, use.lanes[i]);
      });
    }
  }

  write(use: Use) {
    const { writers, readers, firstReaders } = this;
    const { access, group } = use;
    const view = new DataView(access.memory.bytes.buffer);
    for (const word of this.wordsOf(use)) {
      const before = (i: number) =>
        readWord(view, access.positions[use.at[i]] + word * this.wordBytes, this.wordBytes);
      // Who reads beside an atomic takes what comes.
      for (const uses of use.how & IS_ATOMIC ? [writers] : [writers, readers, firstReaders]) {
        const wrong = [...this.races(uses, use, word)];
        const mustChange = uses === writers || !this.values.computed.has(use.site);
        const clashes = wrong.map(([i, other]) => ({ i, other, before: before(i), mustChange }));
        if (clashes.length) this.stored.push({ use, word, clashes, lost: null });
      }
      const { size } = new Set(use.words);
      if (this.values.keeping.has(use.site) && size === use.words.length) {
        this.stored.push({
          use,
          word,
          clashes: [],
          lost: null,
          kept: use.words.map((_, i) => before(i)),
        });
        continue;
      }
      use.words.forEach((first, i) => {
        writers.note(first + word, use, use.lanes[i]);
      });
      const blockOf = (i: number) => group.batch.blocks[group.slot[use.lanes[i]]];
      // Two lanes of one instruction that write one word: one of them is lost.
      const last = use.words.map((first) => writers.of(first + word) as Other);
      if (use.how & IS_ATOMIC) {
        const apart = [...last.entries()].filter(([i, { block }]) => block !== blockOf(i));
        if (use.how & IN_BLOCK) this.report(use, word, new Map(apart));
        continue;
      }
      const isLost = last.some(
        ({ block, thread }, i) => thread !== group.thread[use.lanes[i]] || block !== blockOf(i),
      );
      if (isLost) this.stored.push({ use, word, clashes: [], lost: last });
    }
  }

  /** Report the first lane that is wrong, best one whose other thread is of another block. */
  report({ access, group, lanes, at }: Use, word: number, wrong: Map<number, Other>) {
    const blockOf = (i: number) => group.batch.blocks[group.slot[lanes[i]]];
    const found = [...wrong].sort(([one], [other]) => one - other);
    const first = found.find(([i, { block }]) => block !== blockOf(i)) ?? found[0];
    if (!first) return;
    const [i, { block, thread, site }] = first;
    const position = access.positions[at[i]] + word * this.wordBytes;
    const start = position - (position % this.wordBytes);
    const other = this.instructions[site];
    const key = this.sentenceOf(access.site.instruction, other, block !== blockOf(i));
    this.log.raceInGlobal(access, lanes[i], start, block, thread, other, key);
  }

  /** @param apart whether they are of two blocks */
  sentenceOf(one: Instruction, other: Instruction, apart: boolean): RaceSentence | null {
    if (this.values.updating.has(one.index) && this.values.updating.has(other.index))
      return "hazard.update";
    const atomics = [one, other].filter(({ parts }) => parts[0] === "atom" || parts[0] === "red");
    return apart && atomics.some(({ parts }) => parts.includes("cta")) ? "hazard.scope" : null;
  }
}

function readWord(view: DataView, position: number, bytes: number) {
  if (bytes === 1) return BigInt(view.getUint8(position));
  return BigInt(bytes === 2 ? view.getUint16(position, true) : view.getUint32(position, true));
}

const isOrdered = (parts: string[]) => parts.some((part) => ORDERED.includes(part));

function isAtomic({ site }: Access) {
  return site.kind === ATOMIC || isOrdered(site.instruction.parts);
}

/** Bytes of the narrowest access that may go to global memory, at most 4. */
function smallestGlobalAccess(instructions: Instruction[]) {
  let narrowest = 4;
  for (const { parts } of instructions) {
    const elsewhere = ["shared", "local", "param"].some((space) => parts.includes(space));
    if (["ld", "st", "atom", "red"].includes(parts[0]) && !elsewhere) {
      narrowest = Math.min(narrowest, TYPE_BYTES.get(parts[parts.length - 1]) ?? 4);
    } else if (parts[0] === "suld" || parts[0] === "sust") {
      narrowest = Math.min(narrowest, ...parts.flatMap((part) => TYPE_BYTES.get(part) ?? []));
    }
  }
  return narrowest;
}
