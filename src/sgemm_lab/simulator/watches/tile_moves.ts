// What bulk copies bring to which block, and which warp group stores which columns of C.

import { FLOAT_BYTES } from "../../hardware.py";
import { getOrInsert } from "../get_or_insert.ts";
import { type Access, type BulkCopy, type Observer, STORE } from "../group.ts";

/** Threads of a warp group. */
const GROUP = 128;

/** A bulk copy by a block, into the shared memory of one: the least and the largest float of it. */
interface Copied {
  block: number;
  into: number;
  least: number;
  largest: number;
}

/** The first and the last column of C that a warp group of a block stores. */
interface Stored {
  block: number;
  warpGroup: number;
  first: number;
  last: number;
}

/** Remembers what bulk copies bring, and who stores which columns of C. An observer. */
export class TileMoves implements Observer {
  forgetful = true;
  #copies: Copied[] = [];
  #stores: Map<string, Stored> = new Map();

  found() {
    return { copies: this.#copies, stores: [...this.#stores.values()] };
  }

  onAccess({ site, memory, group, lanes, positions }: Access) {
    if (site.space !== "global" || site.kind !== STORE || !site.isFloat) return;
    const c = memory.arrays.find(({ name }) => name === "C");
    const width = c?.shape.at(-1);
    if (!c || !width) return;
    for (let i = 0; i < positions.length; i++) {
      const lane = lanes ? lanes[i] : i;
      const block = group.batch.blocks[group.slot[lane]];
      const warpGroup = Math.floor(group.thread[lane] / GROUP);
      const key = `${block} ${warpGroup}`;
      const none = { block, warpGroup, first: width, last: 0 };
      const known = getOrInsert(this.#stores, key, () => none);
      const column = Math.floor((positions[i] - c.start) / FLOAT_BYTES) % width;
      known.first = Math.min(known.first, column);
      known.last = Math.max(known.last, column + site.words - 1);
    }
  }

  onBulkCopy({ access: { group, lanes, memory }, positions, data }: BulkCopy) {
    const { blocks } = group.batch;
    const values = new Float32Array(data.buffer, data.byteOffset, data.length);
    this.#copies.push({
      block: blocks[group.slot[lanes?.[0] ?? 0]],
      into: blocks[Math.floor(positions[0] / memory.stride)],
      least: values.reduce((one, other) => Math.min(one, other)),
      largest: values.reduce((one, other) => Math.max(one, other)),
    });
  }
}
