// What is loaded from global memory and reaches no result: a reduction that leaves lanes or warps out.
//
// Marks follow the values as those of uninitialized values do: one for all that the lanes of a number
// load, or all that warps of a number do. Marks may be where the values have no part, never missing where
// they have: what no mark reaches was used for nothing.

import { WARP } from "../../hardware.py";
import { type Access, type HazardSink, LOAD, type Observer } from "../group.ts";
import { warpOf } from "../hazard_log.ts";
import type { Location } from "../source_locations.ts";
import { both, UninitializedValues } from "../uninitialized_values.ts";

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

  /**
   * Who loads something that nobody else does, and of whose loads nothing is used; null if nobody, or more
   * than half of all: the others then have nothing to do at these sizes.
   */
  unused() {
    let [seen, wasted] = [0, 0];
    let place: Location | null = null;
    for (const { by, location } of this.loads.values()) {
      seen |= by;
      if (by & ~this.live) continue;
      wasted |= by;
      place ??= location;
    }
    const numbers = bitsOf(wasted);
    if (!place || 2 * numbers.length > bitsOf(seen).length) return null;
    return { location: place, numbers };
  }
}

const bitsOf = (bits: number) =>
  Array.from({ length: WARP }, (_, one) => one).filter((one) => (bits >>> one) & 1);

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
