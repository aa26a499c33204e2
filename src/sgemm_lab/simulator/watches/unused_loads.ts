// What is loaded from global memory and reaches no result: a reduction that leaves lanes or warps out.
//
// Marks follow the values as those of uninitialized values do: one for all that the lanes of a number
// load, or all warps. A mark is where its value has no part in more often than not, so what no mark shows
// was not used.

import type { Access, HazardSink, Observer } from "../group.ts";
import { LOAD } from "../group.ts";
import { warpOf } from "../hazards.ts";
import type { Location } from "../source_locations.ts";
import { both, UninitializedValues } from "../uninitialized_values.ts";

const WARP = 32;

/** Follows values by who loads them. */
class LoadedValues extends UninitializedValues {
  override active = true;
  override live = -1;
  /** by byte of global memory, who loads what begins there, a bit for each, and where first */
  loads: Map<number, { by: number; location: Location }> = new Map();

  constructor(
    hazards: HazardSink,
    public numberOf: (thread: number) => number,
  ) {
    super(hazards);
  }

  override start() {
    this.registers.clear();
    this.memories.clear();
  }

  override onRead() {}
  override onEmpty() {}
  override reportAll() {}

  override report(marked: number) {
    this.live &= ~marked;
  }

  override loaded(access: Access) {
    const found = super.loaded(access);
    const { site, group, lanes, positions } = access;
    if (site.space !== "global" || site.kind !== LOAD) return found;
    const { location } = site.instruction;
    const marks = Int32Array.from(positions, (position, i) => {
      const own = 1 << this.numberOf(group.thread[lanes ? lanes[i] : i]);
      const one = this.loads.get(position) ?? { by: 0, location };
      one.by |= own;
      this.loads.set(position, one);
      return own;
    });
    return found.map((one) => both(one, marks));
  }

  /** Who loads something that nobody else does, and of whose loads nothing is used; null if nobody. */
  unused() {
    let [seen, wasted] = [0, 0];
    let place: Location | null = null;
    for (const { by, location } of this.loads.values()) {
      seen |= by;
      if (by & ~this.live) continue;
      wasted |= by;
      place ??= location;
    }
    if (!place || !(seen & ~this.live)) return null;
    const numbers = Array.from({ length: WARP }, (_, one) => one);
    return { location: place, numbers: numbers.filter((one) => (wasted >>> one) & 1) };
  }
}

/** A watch: which lanes of the warps, or which warps of the blocks, load for nothing. */
export class UnusedLoads implements Observer {
  forgetful = true;
  #values: LoadedValues | null = null;

  constructor(public numberOf: (thread: number) => number) {}

  follow(hazards: HazardSink) {
    this.#values = new LoadedValues(hazards, this.numberOf);
    return this.#values;
  }

  found() {
    return this.#values?.unused() ?? null;
  }
}

export class UnusedLanes extends UnusedLoads {
  constructor() {
    super((thread) => thread % WARP);
  }
}

export class UnusedWarps extends UnusedLoads {
  constructor() {
    super(warpOf);
  }
}
