// The demand of global loads and stores on L1: requests, wavefronts in its data pipe, and lookups.

import { LINES_PER_LOOKUP, WARP, WAVEFRONT_BYTES } from "../../hardware.py";
import { getOrInsert } from "../get_or_insert.ts";
import { type Access, COPY_READ, COPY_WRITE, LOAD, type Observer } from "../group.ts";
import { RequestCosts } from "../request_costs.ts";

/**
 * Adds up what global loads and stores ask of L1. An observer. Asynchronous copies are left out: an
 * H200 counted fewer wavefronts for them than a read and a write would take, and no rule is known.
 * So the counts are a lower bound.
 */
export class GlobalPipe implements Observer {
  requests = 0;
  wavefronts = 0;
  lookups = 0;
  forgetful = true;
  costs = new RequestCosts();

  found() {
    const { requests, wavefronts, lookups } = this;
    return { requests, wavefronts, lookups };
  }

  /** Count the requests of one memory instruction. */
  onAccess(access: Access) {
    const { site, memory, group } = access;
    if (site.space !== "global" || site.kind === COPY_READ || site.kind === COPY_WRITE) return;
    const active = access.mask ?? group.alive;
    const lanes = Int32Array.from(active.keys()).filter((lane) => active[lane]);
    const addresses = Float64Array.from(lanes, (lane) => access.addresses[lane]);
    if (!lanes.length) return;
    const isLoad = site.kind === LOAD;
    const asked = { addresses, lanes, from: 0 };
    this.costs.ofShared(asked, lanes.length, site.width, isLoad, memory.bytes.length);
    this.requests += this.costs.requests;
    this.wavefronts += this.costs.wavefronts;
    if (isLoad) this.lookups += lookups(addresses, lanes);
  }
}

/**
 * The lookups of a global load: different 128-byte lines of each warp over four.
 * @param addresses of the lanes
 * @param lanes in order
 */
function lookups(addresses: Float64Array, lanes: Int32Array) {
  const lines: Map<number, Set<number>> = new Map();
  for (const [i, lane] of lanes.entries()) {
    const warp = Math.floor(lane / WARP);
    const own = getOrInsert(lines, warp, () => new Set<number>());
    own.add(Math.floor(addresses[i] / WAVEFRONT_BYTES));
  }
  let found = 0;
  for (const { size } of lines.values()) found += Math.ceil(size / LINES_PER_LOOKUP);
  return found;
}
