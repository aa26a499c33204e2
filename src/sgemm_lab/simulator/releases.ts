// What blocks know of each other by fences and flags.
//
// A release: a thread passes a fence, and it or another that a barrier leads to changes a word. All
// that was done before the fence is known to each block that has this word later. This takes all
// releases until then as known to that block, not only those of this word.

import { WARP_BITS } from "./block_barrier_races.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { Access, ThreadGroup } from "./group.ts";
import type { Mask } from "./registers.ts";

const MAX_LANES = 2 ** 20;
const WORD = 4;
const NEVER = -1;

/** The last fence of a warp, and its last in an earlier stretch between barriers. */
interface Fence {
  time: number;
  epoch: number;
  before: Fence | null;
}

/**
 * A change of a word after fences. `when`: its place in the order of all; `fenced`: for each warp
 * the time of the fence; `epoch`: what the block did before this barrier was done before the fence.
 */
interface Release {
  when: number;
  fenced: Map<number, number>;
  epoch: number;
}

/** Until when a block knows of the others: by a warp of its own, and by a barrier. */
class Known {
  byWarp: Map<number, number> = new Map();
  epoch = NEVER;
  now = NEVER;
  before = NEVER;

  learn(warp: number, epoch: number, when: number) {
    this.byWarp.set(warp, Math.max(when, this.byWarp.get(warp) ?? NEVER));
    if (epoch > this.epoch) {
      this.before = Math.max(this.before, this.now);
      this.epoch = epoch;
    }
    this.now = Math.max(this.now, when);
  }

  of(warp: number, epoch: number) {
    const byBarrier = epoch > this.epoch ? this.now : this.before;
    return Math.max(byBarrier, this.byWarp.get(warp) ?? NEVER);
  }
}

/** Who did something: a warp of a block, between two of the block's barriers. */
export interface Doer {
  block: number;
  warp: number;
  epoch: number;
}

/** Fences and the words that are changed after them. */
export class Releases {
  #fences: Map<number, Map<number, Fence>> = new Map();
  /** By block, in order. */
  #releases: Map<number, Release[]> = new Map();
  #known: Map<number, Known> = new Map();
  /** By word: when it was last changed after a fence. */
  #changed: Map<number, number> = new Map();

  /** Threads pass a fence at a time. */
  fence(group: ThreadGroup, mask: Mask | null, time: number) {
    for (let lane = 0; lane < group.lanes; lane++) {
      if (mask === null || mask[lane]) this.#fence(doerOf(group, lane), time);
    }
  }

  #fence({ block, warp, epoch }: Doer, time: number) {
    const fences = getOrInsert(this.#fences, block, () => new Map<number, Fence>());
    const last = fences.get(warp);
    if (last?.time === time && last.epoch === epoch) return;
    const before = last && (last.epoch < epoch ? { ...last, before: null } : last.before);
    fences.set(warp, { time, epoch, before: before ?? null });
  }

  /** Threads read or change words that other blocks may have at the same time. */
  note(access: Access, time: number, does: { reads: boolean; writes: boolean; isFence: boolean }) {
    const { group, lanes, positions, site } = access;
    for (let i = 0; i < positions.length; i++) {
      const lane = lanes ? lanes[i] : i;
      const doer = doerOf(group, lane);
      const when = time * MAX_LANES + lane;
      if (does.isFence) this.#fence(doer, time);
      const first = Math.floor(positions[i] / WORD);
      for (let word = first; word <= first + (site.width - 1) / WORD; word++) {
        const changed = does.reads ? this.#changed.get(word) : undefined;
        if (changed !== undefined) {
          const known = getOrInsert(this.#known, doer.block, () => new Known());
          known.learn(doer.warp, doer.epoch, changed);
        }
        if (does.writes && this.#fences.has(doer.block)) this.#changed.set(word, when);
      }
      if (does.writes) this.#release(doer, when, group.batch.clocks !== null);
    }
  }

  /** @param inParts whether warps may wait for each other without a barrier of the block */
  #release({ block, warp, epoch }: Doer, when: number, inParts: boolean) {
    const fences = this.#fences.get(block);
    if (!fences) return;
    const releases = getOrInsert(this.#releases, block, () => [] as Release[]);
    const last = releases.at(-1);
    const made: Release = { when, fenced: new Map(), epoch: NEVER };
    let isNew = false;
    for (const [other, fence] of fences) {
      const counts = inParts || other === warp || fence.epoch < epoch;
      const passed = counts ? fence : fence.before;
      if (!passed) continue;
      made.fenced.set(other, passed.time);
      made.epoch = Math.max(made.epoch, inParts ? Number.POSITIVE_INFINITY : passed.epoch);
      isNew ||= (last?.fenced.get(other) ?? NEVER) < passed.time;
    }
    if (isNew) releases.push(made);
  }

  /** Whether what was done at a time is known to a lane. */
  ordered({ block, warp, epoch }: Doer, time: number, group: ThreadGroup, lane: number) {
    const own = doerOf(group, lane);
    const known = this.#known.get(own.block)?.of(own.warp, own.epoch) ?? NEVER;
    const releases = this.#releases.get(block) ?? [];
    for (let at = releases.length - 1; at >= 0; at--) {
      const { when, fenced, epoch: barrier } = releases[at];
      if (when < time * MAX_LANES) return false;
      const passed = barrier > epoch || (fenced.get(warp) ?? NEVER) >= time;
      if (passed && when <= known && releasedAfter(fenced, time)) return true;
    }
    return false;
  }

  /** Whether a warp has read what a block wrote after some fence. */
  heard(block: number, reader: Doer) {
    const known = this.#known.get(reader.block)?.of(reader.warp, reader.epoch) ?? NEVER;
    return (this.#releases.get(block)?.[0].when ?? Number.POSITIVE_INFINITY) <= known;
  }
}

/** Whether some fence of a release came after a time. */
function releasedAfter(fenced: Map<number, number>, time: number) {
  for (const one of fenced.values()) if (one >= time) return true;
  return false;
}

export function doerOf({ batch, slot, thread }: ThreadGroup, lane: number): Doer {
  return {
    block: batch.blocks[slot[lane]],
    warp: thread[lane] >> WARP_BITS,
    epoch: batch.epoch[slot[lane]],
  };
}
