// Divergent threads: which run, which wait, and where they reconverge.
//
// A path is a set of threads that run in lockstep. Where they part at a branch, both sides become
// paths of their own, and the threads join again at the branch's immediate post-dominator, as the
// hardware's convergence barriers make them do. A path waits at a barrier, or in a loop around
// `mbarrier.try_wait`, while other paths go on.

import { LabError } from "../errors.ts";
import { WARP } from "../hardware.py";
import { secondsNow } from "./clock.ts";
import { type BasicBlock, END } from "./control_flow.ts";
import type { Tally } from "./execution_counts.ts";
import { both, countNonzero, less, type ThreadGroup } from "./group.ts";
import { RACE } from "./hazard_log.ts";
import type { Hazard } from "./hazard_types.ts";
import type { Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";
import type { Location } from "./source_locations.ts";

/** gives the lanes of a mask where it holds */
export type Condition = (mask: Mask | null) => Mask;

/**
 * A barrier instruction: `bar.sync` and its kin. `number`: which of a block's 16 barriers, one
 * number or one for each lane; `threads`: how many it waits for, null for all that have not
 * returned; `waits`: false for `bar.arrive`, which only counts.
 */
export interface BlockBarrier {
  instruction: Instruction;
  number: number | Uint32Array;
  threads: number | Uint32Array | null;
  waits: boolean;
  guard: Condition | null;
}

/** Where a path waits: one barrier, by its number. */
export interface Wait {
  instruction: Instruction;
  number: number;
  threads: number | null;
}

/** Steps up to a barrier, or to the end of a basic block. */
export interface Segment {
  steps: Step[];
  barrier: BlockBarrier | null;
}

/**
 * A kernel bound to the registers of a group of threads. `condition`: for each block, the lanes
 * that follow its guarded branch.
 */
interface Code {
  blocks: BasicBlock[];
  segments: (block: BasicBlock) => Segment[];
  condition: (Condition | null)[];
}

/** Basic blocks that a path may run before others that can run have their turn. */
const TURN = 4096;
/** The same once one was that long while others could run: it may wait for what those write. */
const SHORT_TURN = 64;
/** Seconds for so many lanes, after the time is over, to see whether threads do the same again and again. */
const [GRACE, OF_LANES] = [1, 2 ** 16];
/** Lanes of basic blocks that run before the clock is looked at again. */
const LANES_BETWEEN_LOOKS = 2 ** 15;

/** Threads that never come to an end. `location`: the first line of the code that they are in. */
class StuckError extends LabError {
  location: Location | null;

  constructor(key: "run.endless" | "run.stuck", block: BasicBlock) {
    super(sentence(key, { where: where(block) }));
    this.location = placeOf(block);
  }
}

/** A kernel that ran on and on. The message says where it was. */
export class EndlessLoopError extends StuckError {
  constructor(block: BasicBlock) {
    super("run.endless", block);
  }
}

/** Of its time a hasty launch takes this part at least. */
const TRIED = 1 / 4;
/** It gives up where all of its blocks took so many times as long, and after an error. */
const [HOPELESS, WRONG] = [8, 2];

/** Whether the time of a launch is over, or it is hasty and its blocks take far longer. */
function isOver({ launch, batch }: ThreadGroup) {
  const { deadline, timeLimit, blocks, blocksDone, isHasty, hazards } = launch;
  const spent = secondsNow() - (deadline - timeLimit);
  if (spent > timeLimit || !isHasty || spent < TRIED * timeLimit) return spent > timeLimit;
  const times = (spent * blocks) / (blocksDone + batch.slots) / timeLimit;
  // What looks like a race may turn out to be none.
  const isWrong = times > WRONG && hazards.found.some(({ kind }) => kind !== RACE);
  return isWrong || times > HOPELESS;
}

/** Threads that wait for something that no thread will do. */
export class DeadlockError extends StuckError {
  constructor(block: BasicBlock) {
    super("run.stuck", block);
  }
}

/** A simulation that took longer than it may. The message says how far it came. */
export class TimeLimitError extends LabError {
  /** What was found until then. */
  hazards: Hazard[] = [];

  constructor({ launch }: ThreadGroup, block: BasicBlock) {
    const { timeLimit: seconds, blocksDone: done, blocks } = launch;
    super(sentence("run.time", { seconds, done, blocks, where: where(block) }));
  }
}

function where(block: BasicBlock) {
  const place = placeOf(block);
  return place ? sentence("run.where", { place: `${place}` }) : "";
}

function placeOf({ instructions, terminator }: BasicBlock) {
  const all = terminator ? [...instructions, terminator] : instructions;
  return all.find(({ location }) => location.line)?.location ?? null;
}

/** Threads that run together until they reconverge with others. */
export class Path {
  /** where the threads wait, if they wait */
  wait: Wait | null = null;
  /** threads that have parted from here and not come back yet */
  pending: Mask | null = null;
  /** Block in which a test of an mbarrier failed, and `progressCount` at that time. */
  failedBlock;
  failedProgress;
  /** Whether the loop of that test may have an end of its own. */
  mayEnd = false;
  /** Blocks run since others had a turn. */
  turn = 0;
  /** The threads of the mask that have not returned, and how many they are. */
  living: Mask;
  lanes = 0;
  exits;
  counted: Mask;

  /** @param segment first segment of the block that is still to run */
  constructor(
    public block: number,
    public reconvergence: number,
    public mask: Mask,
    public parent: Path | null,
    public segment: number = 0,
  ) {
    this.failedBlock = END;
    this.failedProgress = -1;
    this.living = mask;
    this.exits = -1;
    this.counted = mask;
  }

  /**
   * Find the threads that have not returned, unless they are known: a mask that stays the same
   * object is not studied anew.
   */
  countLiving(group: ThreadGroup) {
    if (this.exits === group.exits && this.counted === this.mask) return;
    this.living = both(this.mask, group.alive);
    this.lanes = countNonzero(this.living);
    this.exits = group.exits;
    this.counted = this.mask;
  }

  /** Take some threads out into a path of their own at the same place. */
  split(chosen: Mask) {
    this.mask = less(this.mask, chosen);
    return new Path(this.block, this.reconvergence, chosen, this.parent, this.segment);
  }
}

/** A group of threads that runs a kernel, path by path. */
export class Program {
  /** the last runs first */
  paths: Path[] = [];
  left = 0;
  unseen = LANES_BETWEEN_LOOKS;
  longestTurn = TURN;
  /** whether a turn is over, so that barriers are looked at */
  hasTurned = false;
  /** Whether the time is over; what a path came to a block with then, and whether others ran since. */
  isLate = false;
  seen: { path: Path; block: BasicBlock; state: Uint8Array[]; isOver: boolean } | null = null;

  constructor(
    public group: ThreadGroup,
    public code: Code,
    public tally: Tally,
  ) {}

  /** Begin the blocks that are now in the batch's slots; with `threadByThread` thread by thread. */
  start(threadByThread: boolean) {
    const { group } = this;
    group.start();
    const { alive } = group;
    let masks: Mask[] = [alive.slice()];
    if (threadByThread) {
      const lanes = [...group.lanesOf(alive.slice())].reverse(); // the last path runs first
      masks = lanes.map((lane) => {
        const mask = new Uint8Array(alive.length);
        mask[lane] = 1;
        return mask;
      });
    }
    this.paths = masks.map((mask) => new Path(0, END, mask, null));
    this.left = group.launch.maxBasicBlocks ?? Number.POSITIVE_INFINITY;
    this.longestTurn = TURN;
    this.isLate = false;
    this.seen = null;
  }

  /** Run until every path is at its end or waits, or one that may wait for them has had its turn. */
  run() {
    this.hasTurned = false;
    for (let path = this.next(); path && !this.hasTurned; path = this.next()) this.advance(path);
  }

  /** Whether there is a path that does not wait. */
  canRun() {
    return this.next() !== null;
  }

  /** Paths that wait at a barrier of their block. */
  waiting() {
    return this.paths.filter(({ wait }) => wait !== null);
  }

  /** A path that asks in a loop for what has not come; undefined if none does. */
  asking() {
    return this.paths.find(({ wait, failedProgress }) => !wait && failedProgress >= 0);
  }

  /** Resume threads whose test of an atomic failed; return whether there are any. */
  retryFailedTests() {
    const found = this.paths.filter((one) => !one.wait && one.failedProgress >= 0 && one.mayEnd);
    for (const path of found) path.failedProgress = -1;
    return found.length > 0;
  }

  /**
   * Resume threads that wait for others to reconverge; return whether there are any. First whole warps: the
   * hardware joins the threads of one warp, not those of several. Since Volta threads of one warp go on
   * alone, too, where others ask in a loop for what they will do, say for a lock.
   * @param within whether to part the threads of a warp
   * @param isAsked whether some ask in a loop
   */
  split(within: boolean, isAsked = this.asking() !== undefined) {
    if (within && !isAsked) return false;
    let found = false;
    const { alive } = this.group;
    for (const path of [...this.paths]) {
      if (path.pending === null) continue;
      const pending = both(path.pending, alive);
      const free = less(both(path.mask, alive), within ? pending : inWarps(pending));
      if (free.includes(1)) {
        this.paths.push(path.split(free));
        found = true;
      }
    }
    return found;
  }

  /** The block that a path is in. */
  placeOf(path: Path) {
    return this.code.blocks.at(path.block) ?? this.code.blocks[0];
  }

  /** The path whose turn it is, if one can run. */
  next(): Path | null {
    const { progressCount } = this.group.batch;
    for (let number = this.paths.length - 1; number >= 0; number--) {
      const path = this.paths[number];
      if (path.wait !== null) continue;
      if (path.failedProgress === progressCount && path.failedBlock === path.block) continue;
      if (path.pending !== null) {
        if (overlap(path.pending, this.group.alive)) continue;
        path.pending = null;
      }
      return path;
    }
    return null;
  }

  /** Run a path to the end of its block, or to a barrier. */
  advance(path: Path) {
    const { group } = this;
    if (path.block === END) {
      this.exit(both(path.mask, group.alive));
      this.remove(path);
      return;
    }
    if (path.block === path.reconvergence) {
      this.reconverge(path);
      return;
    }
    path.countLiving(group);
    const { living: mask, lanes } = path;
    if (lanes === 0) {
      this.remove(path);
      return;
    }
    const block = this.code.blocks[path.block];
    const full = lanes === group.lanes;
    if (path.segment === 0) this.begin(path, block, mask, lanes, full);
    const segments = this.code.segments(block);
    const stepMask = full ? null : mask;
    group.testFailed = false;
    group.mayEnd = false;
    for (let number = path.segment; number < segments.length; number++) {
      const { steps, barrier } = segments[number];
      for (const step of steps) step(stepMask);
      if (barrier !== null) {
        path.segment = number + 1;
        this.arrive(path, barrier, mask);
        return;
      }
    }
    path.segment = 0;
    if (group.testFailed) {
      path.failedBlock = block.number;
      path.failedProgress = group.batch.progressCount;
      path.mayEnd = group.mayEnd;
    }
    this.takeBranch(block, mask, path);
  }

  begin(path: Path, block: BasicBlock, mask: Mask, lanes: number, full: boolean) {
    const { group, tally } = this;
    this.left -= 1;
    if (this.left < 0) throw new EndlessLoopError(block);
    // To ask for the time takes longer than many a block.
    this.unseen += lanes;
    if (this.unseen > LANES_BETWEEN_LOOKS) {
      this.unseen = 0;
      this.isLate ||= isOver(group);
    }
    if (this.isLate) this.judge(path, block);
    tally.blockLanes[block.number] += lanes;
    tally.blockWarps[block.number] += full ? group.warps : group.warpsOf(mask);
    path.turn += 1;
    if (path.turn > (this.isLate ? SHORT_TURN : this.longestTurn)) {
      path.turn = 0;
      if (this.seen?.path === path) this.seen.isOver = true;
      this.hasTurned = true;
      this.remove(path);
      this.paths.unshift(path);
      if (this.split(false) || this.next() !== path) this.longestTurn = SHORT_TURN;
    }
  }

  /**
   * The time is over. If threads come to where they were, after all others had a turn, and no register has
   * changed, nothing ever will. Other blocks or warps that run later could change it.
   */
  judge(path: Path, block: BasicBlock) {
    const { group, seen } = this;
    const { batch, launch, registers, exits } = group;
    const blocks = launch.cooperative ? launch.numbers().length : launch.blocks;
    const isAll = batch.slots >= blocks && group.warps === batch.slots * launch.warps;
    const grace = GRACE * Math.max(1, group.lanes / OF_LANES);
    if (!isAll || secondsNow() > launch.deadline + grace) {
      throw new TimeLimitError(group, block);
    }
    if (seen && !(seen.path === path && seen.block === block && seen.isOver)) return;
    const counts = new Uint32Array([exits, batch.progressCount, group.readings]).buffer;
    const buffers = [counts, ...Object.values(registers.buffers)];
    const state = [registers.predicates, ...buffers.map((one) => new Uint8Array(one))];
    const isSame = (one: Uint8Array, at: number) =>
      one.every((byte, place) => byte === state[at][place]);
    if (seen?.state.every(isSame) && !this.split(true, true)) throw new EndlessLoopError(block);
    this.seen = { path, block, state: state.map((one) => one.slice()), isOver: false };
  }

  /** Threads come to a barrier: those of one number go on waiting as one path. */
  arrive(path: Path, barrier: BlockBarrier, mask: Mask) {
    const { group } = this;
    const arrived = barrier.guard === null ? mask : barrier.guard(mask);
    const others = less(mask, arrived);
    if (others.includes(1)) this.paths.push(path.split(others));
    for (const [lanes, wait] of waitsOf(barrier, arrived)) {
      if (!barrier.waits) {
        group.batch.arrive(group, lanes, wait.number);
        continue;
      }
      let one = path;
      if (countNonzero(lanes) !== countNonzero(both(path.mask, group.alive))) {
        one = path.split(lanes);
        this.paths.push(one);
      }
      one.wait = wait;
    }
  }

  reconverge(path: Path) {
    this.remove(path);
    const { parent } = path;
    if (parent?.pending) parent.pending = less(parent.pending, path.mask);
  }

  /** Threads return. Those of their warp that wait at a barrier will wait for them in vain. */
  exit(leaving: Mask) {
    const { group } = this;
    const { hazards } = group.launch;
    for (let lane = 0; lane < leaving.length; lane++) if (leaving[lane]) group.alive[lane] = 0;
    group.exits += 1;
    for (const { mask, wait } of this.waiting()) {
      if (wait === null || wait.threads !== null) continue;
      const fellows = inWarps(mask);
      const missing = both(leaving, fellows);
      if (missing.includes(1)) hazards.barrierMissed(group, wait.instruction, missing);
      const slots = new Set(Array.from(group.lanesOf(mask), (lane) => group.slot[lane]));
      const others = less(leaving, fellows).map((one, lane) => one && +slots.has(group.slot[lane]));
      if (others.includes(1)) {
        hazards.barrierSkipped(group, others.indexOf(1), wait.instruction);
      }
    }
  }

  /** Follow the terminator of a block, parting the threads if they disagree. */
  takeBranch(block: BasicBlock, mask: Mask, path: Path) {
    const condition = this.code.condition[block.number];
    if (condition === null) {
      if (block.terminator !== null && block.target === END) this.exit(mask);
      path.block = block.terminator === null ? block.fallThrough : block.target;
      return;
    }
    const taken = condition(mask);
    const count = countNonzero(taken);
    const exits = block.target === END;
    if (exits && count) this.exit(taken);
    if (exits || count === 0) path.block = block.fallThrough;
    else if (count === path.lanes) path.block = block.target;
    else this.diverge(block, mask, taken, path);
  }

  diverge({ reconvergence, fallThrough, target }: BasicBlock, mask: Mask, taken: Mask, path: Path) {
    path.block = reconvergence;
    let parent: Path | null = path;
    if (path.block === path.reconvergence) {
      // Those who wait below already know these threads: no second wait is needed.
      this.remove(path);
      parent = path.parent;
    } else path.pending = mask.slice();
    this.paths.push(new Path(fallThrough, reconvergence, less(mask, taken), parent));
    this.paths.push(new Path(target, reconvergence, taken, parent));
  }

  remove(path: Path) {
    this.paths.splice(this.paths.lastIndexOf(path), 1);
  }
}

/** The barriers that threads have come to, by number and count. */
function waitsOf({ instruction, number, threads }: BlockBarrier, arrived: Mask): [Mask, Wait][] {
  if (typeof number === "number" && (threads === null || typeof threads === "number")) {
    return [[arrived, { instruction, number, threads }]];
  }
  const found: Map<string, { mask: Mask; number: number; threads: number }> = new Map();
  for (let lane = 0; lane < arrived.length; lane++) {
    if (!arrived[lane]) continue;
    const which = typeof number === "number" ? number : number[lane];
    const count = threads === null ? -1 : typeof threads === "number" ? threads : threads[lane];
    const key = `${which} ${count}`;
    const mask = found.get(key)?.mask ?? new Uint8Array(arrived.length);
    mask[lane] = 1;
    found.set(key, { mask, number: which, threads: count });
  }
  return [...found.values()]
    .sort((a, b) => a.number - b.number || a.threads - b.threads)
    .map(({ mask, number: which, threads: count }) => [
      mask,
      { instruction, number: which, threads: count < 0 ? null : count },
    ]);
}

function overlap(mask: Mask, other: Mask) {
  for (let lane = 0; lane < mask.length; lane++) if (mask[lane] & other[lane]) return true;
  return false;
}

/** All lanes of the warps that have a lane in a mask. */
function inWarps(mask: Mask) {
  const found = new Uint8Array(mask.length);
  for (let lane = 0; lane < mask.length; lane++) {
    if (mask[lane]) {
      const first = lane - (lane % WARP);
      found.fill(1, first, first + WARP);
    }
  }
  return found;
}
