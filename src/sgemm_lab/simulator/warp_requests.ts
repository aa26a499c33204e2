// The memory requests of one warp, address by address, as the machine code makes them.

import { WARP } from "../hardware.py";
import type { Merged } from "./access_merging.ts";
import { type Access, COPY_READ, LOAD } from "./group.ts";
import type { NamedArray } from "./memory.ts";

/**
 * One memory instruction of one warp. `array`: the one that the first active lane addresses.
 * `width`: bytes that each lane asks for. `addresses`: first byte that each of the 32 lanes asks
 * for, null where the lane is inactive: counted from the start of the array in global memory, of
 * the block's memory in shared memory. `epoch`: barriers the block had passed.
 */
export interface WarpRequest {
  line: number;
  space: string;
  array: NamedArray;
  isLoad: boolean;
  width: number;
  addresses: Lanes;
  epoch: number;
}

/**
 * Records the global and shared requests of one warp of one block. An observer. Shared accesses are
 * recorded as compiled, with neighbours merged as ptxas merges them.
 */
export class WarpRecorder {
  requests: WarpRequest[] = [];

  constructor(
    public merged: Merged,
    public block: number,
    public warp: number,
  ) {}

  /** Record what the warp's lanes ask for. */
  onAccess(access: Access) {
    const { group, site } = access;
    const { blocks } = group.batch;
    // The lanes of a warp stand side by side.
    const first = group.thread.findIndex(
      (thread, lane) => thread === this.warp * WARP && blocks[group.slot[lane]] === this.block,
    );
    if (site.space === "local" || first < 0) return;
    const active = (access.mask ?? group.alive).subarray(first, first + WARP);
    if (!active.includes(1)) return;
    const asWritten = [{ offset: 0, width: site.width }];
    const merged = this.merged.get(site.instruction.index);
    const requests = (site.space === "shared" && merged) || asWritten;
    for (const { offset, width } of requests) this.record(access, first, active, offset, width);
  }

  /** @param first lane of the warp */
  record(access: Access, first: number, active: Uint8Array, offset: number, width: number) {
    const { memory, site, group, addresses } = access;
    const places = addresses.subarray(first, first + WARP).map((one) => one + offset - memory.base);
    const array = memory.arrayAt(places[active.indexOf(1)]);
    if (!array) return;
    const start = site.space === "global" ? array.start : 0;
    this.requests.push({
      line: site.instruction.location.line,
      space: site.space,
      array,
      isLoad: site.kind === LOAD || site.kind === COPY_READ,
      width,
      addresses: Array.from(places, (place, lane) => (active[lane] ? place - start : null)),
      epoch: group.batch.epoch[group.slot[first]],
    });
  }
}
