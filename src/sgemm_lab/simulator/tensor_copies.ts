// Copies of boxes of a matrix, `cp.async.bulk.tensor`, by tensor maps: tensor_copies.py in
// TypeScript, without clusters.

import { SECTOR_BYTES } from "../hardware.py";
import { ELEMENT_BYTES } from "../tensor_map.py";
import type { TensorMap } from "../tensor_map.ts";
import { addressOf, begin } from "./accesses.ts";
import { move, roundedToTf32 } from "./conversions.ts";
import type { ThreadGroup } from "./group.ts";
import { COPY_READ, COPY_WRITE, Site } from "./group.ts";
import { barrierAt, numberIn, placesOf, startBulkCopy } from "./mbarrier_operations.ts";
import { GLOBAL_BASE } from "./memory.py";
import { OUTSIDE } from "./memory.ts";
import type { Binder, Operations, Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx.ts";
import { sentence } from "./sentences.ts";
import { PIECE, swizzled } from "./wgmma_operations.ts";

/** Copy a box into shared memory of the block. */
function copyBox(group: ThreadGroup, instruction: Instruction): Step {
  const { operands, opcode, location } = instruction;
  const [handle, corner] = operands[1]?.kind === "vector" ? operands[1].items : [];
  if (corner?.kind !== "vector") throw new TypeError(opcode);
  const to = addressOf(group, instruction, 0);
  const places = placesOf(group, instruction, 2);
  const maps = numberIn(group, handle, "u64");
  const [x, y] = corner.items.map((one) => numberIn(group, one, "s32"));
  const write = new Site(instruction, "shared", COPY_WRITE, PIECE, 8, false);
  const read = new Site(instruction, "global", COPY_READ, 1, 1, false);
  return (mask) => {
    for (const [lane, place] of places(mask)) {
      const found = group.launch.tensorMaps.get(maps(lane));
      if (!found) throw new PtxError(sentence("run.tensor_map", { place: location }));
      const brought = boxOf(group, read, lane, found, x(lane), y(lane));
      const alone = new Uint8Array(group.lanes);
      alone[lane] = 1;
      const access = begin(group, write, to(), alone, { notify: false });
      if (!brought || !access.positions.length) continue;
      const { stride, size } = access.memory;
      const [first] = access.positions;
      const past = brought.data.byteLength - PIECE;
      const last = first + past;
      if (
        last % stride > size - PIECE ||
        Math.floor(last / stride) !== Math.floor(first / stride)
      ) {
        const ending = to().map((one) => one + past);
        begin(group, write, ending, alone, { notify: false });
        continue;
      }
      // Slots start at multiples of 128 bytes only: the swizzle goes by the address.
      const base = first - access.addresses[lane];
      const positions = new Int32Array(brought.data.byteLength / PIECE).map(
        (_, at) => base + swizzled(first - base + at * PIECE, found.map.swizzle),
      );
      barrierAt(group, instruction, place);
      startBulkCopy(group, access, lane, positions, brought.data, place, brought.sectors);
    }
  };
}

/** What a copy brings, and the sectors that it reads; null where the matrix lies in no array. */
function boxOf(
  group: ThreadGroup,
  site: Site,
  lane: number,
  { map, start }: { map: TensorMap; start: number },
  x: number,
  y: number,
) {
  const bytes = ELEMENT_BYTES[map.dtype];
  const memory = group.launch.globalMemory;
  const box = new Uint8Array(map.boxRows * map.boxColumns * bytes);
  const sectors = new Set();
  for (let row = Math.max(y, 0); row < Math.min(y + map.boxRows, map.rows); row++) {
    for (let col = Math.max(x, 0); col < Math.min(x + map.boxColumns, map.columns); col++) {
      const position = start - GLOBAL_BASE + row * map.pitchBytes + col * bytes;
      if ((memory.state[position] ?? OUTSIDE) === OUTSIDE) {
        const alone = new Uint8Array(group.lanes);
        alone[lane] = 1;
        const address = new Float64Array(group.lanes).fill(GLOBAL_BASE + position);
        begin(group, site, address, alone, { notify: false });
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

const PATTERNS: [string, Binder][] = [
  [
    "cp\\.async\\.bulk\\.tensor\\.2d\\.shared::(?:cluster|cta)\\.global(?:\\.tile)?" +
      "\\.mbarrier::complete_tx::bytes(?:\\.multicast::cluster)?(?:\\.L2::cache_hint)?",
    copyBox,
  ],
  // In a cluster of one block, an address is its own.
  ["mapa(?:\\.shared::cluster)?\\.(?<type>u32|u64)", move],
];

export const TENSOR_COPIES: Operations = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
