// @ts-check
// Threads on their way through a kernel: who runs, who waits, and where the parted meet again.
// paths.py in JavaScript; there it says how.

import { LabError } from "../errors.js";
import { WARP } from "../hardware.py";
import { END } from "./control_flow.js";
import { both, countNonzero, less } from "./group.js";
import { sentence } from "./sentences.js";

/** @typedef {import("./control_flow.js").BasicBlock} BasicBlock */
/** @typedef {import("./group.js").ThreadGroup} ThreadGroup */
/** @typedef {import("./operations.js").Step} Step */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./registers.js").Mask} Mask */
/** @typedef {import("./execution_counts.js").Tally} Tally */

/** @typedef {(mask: Mask | null) => Mask} Condition gives the lanes of a mask where it holds */

/**
 * A barrier instruction: `bar.sync` and its kin. `number`: which of a block's 16 barriers, one
 * number or one for each lane; `threads`: how many it waits for, null for all that have not
 * returned; `waits`: false for `bar.arrive`, which only counts.
 * @typedef {{ instruction: Instruction, number: number | Uint32Array,
 *   threads: number | Uint32Array | null, waits: boolean, guard: Condition | null }} BlockBarrier
 *
 * Where a path waits: one barrier, by its number.
 * @typedef {{ instruction: Instruction, number: number, threads: number | null }} Wait
 *
 * Steps up to a barrier, or to the end of a basic block.
 * @typedef {{ steps: Step[], barrier: BlockBarrier | null }} Segment
 *
 * A kernel bound to the registers of a group of threads. `condition`: for each block, the lanes
 * that follow its guarded branch.
 * @typedef {{ blocks: BasicBlock[], segments: (block: BasicBlock) => Segment[],
 *   condition: (Condition | null)[] }} Code
 */

/** Basic blocks that a path may run before others that can run have their turn. */
const TURN = 4096;
/** Basic blocks that run before the clock is looked at again. */
const BLOCKS_BETWEEN_LOOKS = 32;

/** A kernel that ran on and on. The message says where it was. */
export class EndlessLoopError extends LabError {
  /**
   * @param {BasicBlock} block
   */
  constructor(block) {
    super(sentence("run.endless", { where: where(block) }));
  }
}

/** A simulation that took longer than it may. The message says how far it came. */
export class TimeLimitError extends LabError {
  /**
   * @param {ThreadGroup} group
   * @param {BasicBlock} block
   */
  constructor({ launch }, block) {
    const { timeLimit: seconds, blocksDone: done, blocks } = launch;
    super(sentence("run.time", { seconds, done, blocks, where: where(block) }));
  }
}

/** Threads that wait for something that no thread will do. */
export class StuckError extends LabError {
  /**
   * @param {BasicBlock} block
   */
  constructor(block) {
    super(sentence("run.stuck", { where: where(block) }));
  }
}

/**
 * @param {BasicBlock} block
 */
function where({ instructions, terminator }) {
  const all = terminator ? [...instructions, terminator] : instructions;
  const place = all.find(({ location }) => location.line)?.location;
  return place ? sentence("run.where", { place: `${place}` }) : "";
}

/** Threads that run together until they meet others. */
export class Path {
  /**
   * @param {number} block
   * @param {number} reconvergence
   * @param {Mask} mask
   * @param {Path | null} parent
   * @param {number} segment first segment of the block that is still to run
   */
  constructor(block, reconvergence, mask, parent, segment = 0) {
    this.block = block;
    this.reconvergence = reconvergence;
    this.mask = mask;
    this.parent = parent;
    this.segment = segment;
    /** @type {Wait | null} where the threads wait, if they wait */
    this.wait = null;
    /** @type {Mask | null} threads that have parted from here and not come back yet */
    this.away = null;
    /** Block in which a test of an mbarrier failed, and the news that there had been by then. */
    this.failedBlock = END;
    this.failedNews = -1;
    /** Blocks run since others had a turn. */
    this.turn = 0;
    /** The threads of the mask that have not returned, and how many they are. */
    this.living = mask;
    this.lanes = 0;
    this.exits = -1;
    this.counted = mask;
  }

  /**
   * Find the threads that have not returned, unless they are known: a mask that stays the same
   * object is not studied anew.
   * @param {ThreadGroup} group
   */
  countLiving(group) {
    if (this.exits === group.exits && this.counted === this.mask) return;
    this.living = both(this.mask, group.alive);
    this.lanes = countNonzero(this.living);
    this.exits = group.exits;
    this.counted = this.mask;
  }

  /**
   * Take some threads out into a path of their own at the same place.
   * @param {Mask} chosen
   */
  split(chosen) {
    this.mask = less(this.mask, chosen);
    return new Path(this.block, this.reconvergence, chosen, this.parent, this.segment);
  }
}

/** A group of threads that runs a kernel, path by path. */
export class Program {
  /**
   * @param {ThreadGroup} group
   * @param {Code} code
   * @param {Tally} tally
   */
  constructor(group, code, tally) {
    this.group = group;
    this.code = code;
    this.tally = tally;
    /** @type {Path[]} the last runs first */
    this.paths = [];
    this.left = 0;
    this.begun = 0;
  }

  /**
   * Begin the blocks that are now in the batch's slots; with `apart` thread by thread.
   * @param {boolean} apart
   */
  start(apart) {
    const { group } = this;
    group.start();
    const { alive } = group;
    /** @type {Mask[]} */
    let masks = [alive.slice()];
    if (apart) {
      const lanes = [...group.lanesOf(alive.slice())].reverse(); // the last path runs first
      masks = lanes.map((lane) => {
        const mask = new Uint8Array(alive.length);
        mask[lane] = 1;
        return mask;
      });
    }
    this.paths = masks.map((mask) => new Path(0, END, mask, null));
    this.left = group.launch.patience ?? Number.POSITIVE_INFINITY;
  }

  /** Run until every path is at its end or waits. */
  run() {
    for (let path = this.next(); path !== null; path = this.next()) this.advance(path);
  }

  /** Whether there is a path that does not wait. */
  canRun() {
    return this.next() !== null;
  }

  /** Paths that wait at a barrier of their block. */
  waiting() {
    return this.paths.filter(({ wait }) => wait !== null);
  }

  /**
   * Let warps go on that wait only for other warps to join them; tell whether there are any. The
   * hardware joins the threads of one warp, not those of several.
   */
  partWays() {
    let found = false;
    const { alive } = this.group;
    for (const path of [...this.paths]) {
      if (path.away === null) continue;
      const away = inWarps(both(path.away, alive));
      const free = less(both(path.mask, alive), away);
      if (free.includes(1)) {
        this.paths.push(path.split(free));
        found = true;
      }
    }
    return found;
  }

  /**
   * The block that a path is in.
   * @param {Path} path
   */
  placeOf(path) {
    return this.code.blocks.at(path.block) ?? this.code.blocks[0];
  }

  /**
   * The path whose turn it is, if one can run.
   * @returns {Path | null}
   */
  next() {
    const { news } = this.group.batch;
    for (let number = this.paths.length - 1; number >= 0; number--) {
      const path = this.paths[number];
      if (path.wait !== null) continue;
      if (path.failedNews === news && path.failedBlock === path.block) continue;
      if (path.away !== null) {
        if (meet(path.away, this.group.alive)) continue;
        path.away = null;
      }
      return path;
    }
    return null;
  }

  /**
   * Run a path to the end of its block, or to a barrier.
   * @param {Path} path
   */
  advance(path) {
    const { group } = this;
    if (path.block === END) {
      this.exit(both(path.mask, group.alive));
      this.remove(path);
      return;
    }
    if (path.block === path.reconvergence) {
      this.comeHome(path);
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
      path.failedNews = group.batch.news;
    }
    this.leave(block, mask, path);
  }

  /**
   * @param {Path} path
   * @param {BasicBlock} block
   * @param {Mask} mask
   * @param {number} lanes
   * @param {boolean} full
   */
  begin(path, block, mask, lanes, full) {
    const { group, tally } = this;
    this.left -= 1;
    if (this.left < 0) throw new EndlessLoopError(block);
    // To ask for the time takes longer than many a block.
    if (this.begun++ % BLOCKS_BETWEEN_LOOKS === 0 && performance.now() > group.launch.deadline) {
      throw new TimeLimitError(group, block);
    }
    tally.blockLanes[block.number] += lanes;
    tally.blockWarps[block.number] += full ? group.warps : group.warpsOf(mask);
    path.turn += 1;
    if (path.turn > TURN) {
      path.turn = 0;
      this.remove(path);
      this.paths.unshift(path);
    }
  }

  /**
   * Threads come to a barrier: those of one number go on waiting as one path.
   * @param {Path} path
   * @param {BlockBarrier} barrier
   * @param {Mask} mask
   */
  arrive(path, barrier, mask) {
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

  /**
   * @param {Path} path
   */
  comeHome(path) {
    this.remove(path);
    const { parent } = path;
    if (parent?.away) parent.away = less(parent.away, path.mask);
  }

  /**
   * Threads return. Those of their warp that wait at a barrier will wait for them in vain.
   * @param {Mask} leaving
   */
  exit(leaving) {
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

  /**
   * Follow the terminator of a block, parting the threads if they disagree.
   * @param {BasicBlock} block
   * @param {Mask} mask
   * @param {Path} path
   */
  leave(block, mask, path) {
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
    else this.part(block, mask, taken, path);
  }

  /**
   * @param {BasicBlock} block
   * @param {Mask} mask
   * @param {Mask} taken
   * @param {Path} path
   */
  part({ reconvergence, fallThrough, target }, mask, taken, path) {
    path.block = reconvergence;
    /** @type {Path | null} */
    let parent = path;
    if (path.block === path.reconvergence) {
      // Those who wait below already know these threads: no second wait is needed.
      this.remove(path);
      parent = path.parent;
    } else path.away = mask.slice();
    this.paths.push(new Path(fallThrough, reconvergence, less(mask, taken), parent));
    this.paths.push(new Path(target, reconvergence, taken, parent));
  }

  /**
   * @param {Path} path
   */
  remove(path) {
    this.paths.splice(this.paths.lastIndexOf(path), 1);
  }
}

/**
 * The barriers that threads have come to, by number and count.
 * @param {BlockBarrier} barrier
 * @param {Mask} arrived
 * @returns {[Mask, Wait][]}
 */
function waitsOf({ instruction, number, threads }, arrived) {
  if (typeof number === "number" && (threads === null || typeof threads === "number")) {
    return [[arrived, { instruction, number, threads }]];
  }
  /** @type {Map<string, { mask: Mask, number: number, threads: number }>} */
  const found = new Map();
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

/**
 * @param {Mask} mask
 * @param {Mask} other
 */
function meet(mask, other) {
  for (let lane = 0; lane < mask.length; lane++) if (mask[lane] & other[lane]) return true;
  return false;
}

/**
 * All lanes of the warps that have a lane in a mask.
 * @param {Mask} mask
 */
function inWarps(mask) {
  const found = new Uint8Array(mask.length);
  for (let lane = 0; lane < mask.length; lane++) {
    if (mask[lane]) {
      const first = lane - (lane % WARP);
      found.fill(1, first, first + WARP);
    }
  }
  return found;
}
