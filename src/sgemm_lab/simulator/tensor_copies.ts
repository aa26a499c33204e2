// Copies of boxes of a matrix, `cp.async.bulk.tensor`, by tensor maps; addresses in a cluster.
//
// Source: PTX ISA, "cp.async.bulk.tensor", "mapa", "Swizzling modes". The engine (TMA) reads a box
// of rows and columns, zeros outside of the matrix, and writes row after row; the swizzle permutes
// pieces of 16 bytes by their addresses.

import { SECTOR_BYTES } from "../hardware.py";
import { ELEMENT_BYTES } from "../tensor_map.py";
import { addressOf, beginAlone } from "./accesses.ts";
import { move, roundedToTf32 } from "./conversions.ts";
import type { TensorMaps, ThreadGroup } from "./group.ts";
import { CLUSTER_SHIFT, COPY_READ, COPY_WRITE, flatnonzero, Site } from "./group.ts";
import { barrierAt, numberIn, placesOf, startBulkCopy } from "./mbarrier_operations.ts";
import { GLOBAL_BASE, OUTSIDE, WRITTEN } from "./memory.ts";
import { type Match, nothing, operations, type Step, slowly } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { sentence } from "./sentences.ts";
import { PIECE, swizzled } from "./wgmma_operations.ts";

/** A tensor map, the address of its matrix, and the corner of a box in it. */
type Box = Omit<ReturnType<TensorMaps["get"]> & {}, "parameter"> & { x: number; y: number };

/** A function that gives a lane's tensor map, and the corner of the box in its matrix. */
function boxAsked(
  group: ThreadGroup,
  { operands, opcode, location }: Instruction,
  position: number,
) {
  const where = operands[position];
  const [handle, corner] = where?.kind === "vector" ? where.items : [];
  if (corner?.kind !== "vector") throw new TypeError(opcode);
  const maps = numberIn(group, handle, "u64");
  const [x, y] = corner.items.map((one) => numberIn(group, one, "s32"));
  return (lane: number) => {
    const found = group.launch.tensorMaps.get(maps(lane));
    if (!found) throw new PtxError(sentence("run.tensor_map", { place: location }));
    return { ...found, x: x(lane), y: y(lane) };
  };
}

/** Copy a box into shared memory of the block, or of all blocks of a mask. */
function copyBox(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const asked = boxAsked(group, instruction, 1);
  const to = addressOf(group, instruction, 0);
  const places = placesOf(group, instruction, 2);
  const chosen = match.multicast ? numberIn(group, instruction.operands[3], "u16") : null;
  const write = new Site(instruction, "shared", COPY_WRITE, PIECE, 8, false);
  const read = new Site(instruction, "global", COPY_READ, 1, 1, false);
  return (mask) => {
    for (const [lane, place] of places(mask)) {
      const box = asked(lane);
      const brought = boxOf(group, read, lane, box);
      const access = beginAlone(group, write, lane, to()[lane]);
      if (!brought || !access.positions.length) continue;
      const { stride, size } = access.memory;
      const [first] = access.positions;
      const past = brought.data.byteLength - PIECE;
      const last = first + past;
      if (
        last % stride > size - PIECE ||
        Math.floor(last / stride) !== Math.floor(first / stride)
      ) {
        beginAlone(group, write, lane, to()[lane] + past);
        continue;
      }
      // Slots start at multiples of 128 bytes only: the swizzle goes by the address.
      const base = first - access.addresses[lane];
      const positions = new Int32Array(brought.data.byteLength / PIECE).map(
        (_, at) => base + swizzled(first - base + at * PIECE, box.map.swizzle),
      );
      const { cluster } = group.launch;
      const rank = group.slot[lane] % cluster;
      const blocks = chosen ? chosen(lane) : 1 << rank;
      let { sectors } = brought;
      for (let one = 0; one < cluster; one++) {
        if (!((blocks >> one) & 1)) continue;
        const away = (one - rank) * stride;
        const there = positions.map((position) => position + away);
        barrierAt(group, instruction, place + away);
        startBulkCopy(group, access, lane, there, brought.data, place + away, sectors);
        sectors = 0;
      }
    }
  };
}

/** What a copy brings, and the sectors that it reads; null where the matrix lies in no array. */
function boxOf(group: ThreadGroup, site: Site, lane: number, { map, start, x, y }: Box) {
  const bytes = ELEMENT_BYTES[map.dtype];
  const memory = group.launch.globalMemory;
  const box = new Uint8Array(map.boxRows * map.boxColumns * bytes);
  const sectors = new Set();
  for (let row = Math.max(y, 0); row < Math.min(y + map.boxRows, map.rows); row++) {
    for (let col = Math.max(x, 0); col < Math.min(x + map.boxColumns, map.columns); col++) {
      const position = start - GLOBAL_BASE + row * map.pitchBytes + col * bytes;
      if ((memory.state[position] ?? OUTSIDE) === OUTSIDE) {
        beginAlone(group, site, lane, GLOBAL_BASE + position);
        return null;
      }
      sectors.add(Math.floor(position / SECTOR_BYTES));
      const at = ((row - y) * map.boxColumns + col - x) * bytes;
      box.set(memory.bytes.subarray(position, position + bytes), at);
    }
  }
  const data = new Int32Array(box.buffer);
  if (map.dtype === "tf32") {
    for (let i = 0; i < data.length; i++) data[i] = roundedToTf32(data[i] >>> 0, true);
  }
  return { data, sectors: sectors.size };
}

/**
 * Store a box from the block's shared memory; nothing outside of the matrix. It is carried out at
 * once, so a box that is overwritten before it was read is not found.
 */
function storeBox(group: ThreadGroup, instruction: Instruction): Step {
  const asked = boxAsked(group, instruction, 0);
  const origin = addressOf(group, instruction, 1);
  const site = new Site(instruction, "shared", COPY_READ, PIECE, 8, false);
  return (mask) => {
    for (const lane of flatnonzero(mask ?? new Uint8Array(group.lanes).fill(1))) {
      const { map, start, x, y } = asked(lane);
      const read = beginAlone(group, site, lane, origin()[lane]);
      if (!read.positions.length) continue;
      const bytes = ELEMENT_BYTES[map.dtype];
      const [first] = read.positions;
      const base = first - read.addresses[lane];
      const memory = group.launch.globalMemory;
      for (let row = Math.max(y, 0); row < Math.min(y + map.boxRows, map.rows); row++) {
        for (let col = Math.max(x, 0); col < Math.min(x + map.boxColumns, map.columns); col++) {
          const from = first - base + ((row - y) * map.boxColumns + col - x) * bytes;
          const piece = base + swizzled(from - (from % PIECE), map.swizzle) + (from % PIECE);
          const to = start - GLOBAL_BASE + row * map.pitchBytes + col * bytes;
          memory.bytes.set(read.memory.bytes.subarray(piece, piece + bytes), to);
          memory.state.fill(WRITTEN, to, to + bytes);
        }
      }
    }
  };
}

/** `mapa`: where an address of this block would be in another block of the cluster. */
function mapAddress(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  if (group.launch.cluster === 1) return move(group, instruction, { type });
  const [address, rank] = [
    numberIn(group, instruction.operands[1], type),
    numberIn(group, instruction.operands[2]),
  ];
  const shift = BigInt(CLUSTER_SHIFT);
  const bits = 0xffn << shift;
  return slowly(group, instruction, type, (lane) => {
    const block = (BigInt(rank(lane)) + 1n) << shift;
    return (BigInt(address(lane)) & ~bits) | (block & bits);
  });
}

export const TENSOR_COPIES = operations([
  [
    "cp\\.async\\.bulk\\.tensor\\.2d\\.shared::(?:cluster|cta)\\.global(?:\\.tile)?" +
      "\\.mbarrier::complete_tx::bytes(?<multicast>\\.multicast::cluster)?(?:\\.L2::cache_hint)?",
    copyBox,
  ],
  [
    "cp\\.async\\.bulk\\.tensor\\.2d\\.global\\.shared::cta(?:\\.tile)?\\.bulk_group" +
      "(?:\\.L2::cache_hint)?",
    storeBox,
  ],
  ["cp\\.async\\.bulk\\.(?:commit_group|wait_group(?:\\.read)?)", nothing],
  ["mapa(?:\\.shared::cluster)?\\.(?<type>u32|u64)", mapAddress],
]);
