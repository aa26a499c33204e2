// Loads and stores of the matrices of a warp, `wmma.load` and `wmma.store`.

import { WARP } from "../hardware.py";
import { addressOf, begin } from "./accesses.ts";
import { BITS, elementIn, Fragment, fragmentOf, itemsOf, SHAPE, type Sizes } from "./fragments.ts";
import type { Access, Kind, ThreadGroup } from "./group.ts";
import { countNonzero, LOAD, Site, STORE } from "./group.ts";
import type { Memory } from "./memory.ts";
import { inSpace, spaceOf } from "./memory_operations.ts";
import { type Match, operations, reader, type Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";

/** Rows and columns of 16-bit elements that one `ldmatrix` loads. */
const SIDE = 16;
function shapeOf(matrix: string, [m, n, k]: Sizes) {
  return matrix === "a" ? [m, k] : matrix === "b" ? [k, n] : [m, n];
}

/**
 * How an H200 moves a matrix: the elements of each lane, `together` of them at a time, which are
 * neighbours in memory. Those of 16 bits go two at a time, whichever way they lie: where neighbours
 * in memory are none in a fragment, the lanes exchange them afterwards. Sums of 32 bits go two at a
 * time too, where they are neighbours.
 */
function wordsOf(matrix: string, sizes: Sizes, bits: number, byRow: boolean) {
  const places = fragmentOf(matrix, sizes, matrix === "c" ? 32 : bits);
  const together = bits === 16 || matrix === "c" ? 2 : 32 / bits;
  if (areNeighbours(places, byRow, together)) return { places, together };
  if (bits !== 16 || matrix === "c") return { places, together: 1 };
  // Squares of 8×8, of which each lane has two neighbours.
  const shape = shapeOf(matrix, sizes);
  const across = shape[byRow ? 1 : 0] / 8;
  const squares = new Fragment((shape[0] * shape[1]) / WARP, (lane, element) => {
    const square = element >> 1;
    const slow = 8 * Math.floor(square / across) + (lane >> 2);
    const quick = 8 * (square % across) + 2 * (lane & 3) + (element & 1);
    return byRow ? [slow, quick] : [quick, slow];
  });
  return { places: squares, together };
}

/** Whether each lane's elements lie beside each other in memory, `count` at a time. */
function areNeighbours({ rows, columns }: Fragment, byRow: boolean, count: number) {
  const [slow, quick] = byRow ? [rows, columns] : [columns, rows];
  return rows.every((_, at) => {
    const first = at - (at % count);
    return slow[at] === slow[first] && quick[at] === quick[first] + at - first;
  });
}

/** Moves a matrix between memory and the lanes, word by word. */
class Mover {
  places;
  together;
  byRow;
  bytes;
  width;
  columns;
  size;
  stride;
  sites: Record<string, Site>;

  constructor(
    public group: ThreadGroup,
    public instruction: Instruction,
    match: Match,
    matrix: string,
    kind: Kind,
  ) {
    const sizes = [match.m, match.n, match.k].map(Number) as Sizes;
    this.byRow = match.layout === "row";
    const { places, together } = wordsOf(matrix, sizes, BITS[match.type], this.byRow);
    this.places = places;
    this.together = together;
    this.bytes = BITS[match.type] / 8;
    this.width = together * this.bytes;
    const [rows, columns] = shapeOf(matrix, sizes);
    this.columns = columns;
    this.size = rows * columns;
    const given = instruction.operands.length > 2;
    const dense = this.byRow ? columns : rows;
    this.stride = given ? reader(group, instruction, 2, "u32") : () => dense;
    const words = Math.max(1, this.width / 4);
    const sites = ["global", "shared", "local"].map((space): [string, Site] => [
      space,
      new Site(instruction, space, kind, this.width / words, words, match.type[0] === "f"),
    ]);
    this.sites = Object.fromEntries(sites);
  }

  /** Begin the access of each word in turn. */
  visit(
    space: string,
    addresses: Float64Array,
    mask: Mask | null,
    move: (access: Access, first: number) => void,
  ) {
    const { rows, columns, count } = this.places;
    const [slow, quick] = this.byRow ? [rows, columns] : [columns, rows];
    for (let first = 0; first < count; first += this.together) {
      const asked = addresses.map((address, lane) => {
        const at = (lane % WARP) * count + first;
        return address + (slow[at] * Number(this.stride(lane)) + quick[at]) * this.bytes;
      });
      move(begin(this.group, this.sites[space], asked, mask), first);
    }
  }

  /** Where an element of a lane lies among the matrices of all warps. */
  indexOf(lane: number, element: number) {
    const at = (lane % WARP) * this.places.count + element;
    const row = this.places.rows[at] * this.columns;
    return Math.floor(lane / WARP) * this.size + row + this.places.columns[at];
  }
}

/** An unsigned number of some bytes in a memory. */
function bitsAt({ bytes, words }: Memory, position: number, size: number) {
  if (size === 4) return words[position >> 2] >>> 0;
  return size === 2 ? bytes[position] | (bytes[position + 1] << 8) : bytes[position];
}

const laneOf = ({ lanes }: Access, i: number) => (lanes === null ? i : lanes[i]);

/** Tell the observers of the elements moved, which are in memory, in words of the site. */
function notifyValues(access: Access) {
  const { group, site, memory, positions } = access;
  if (!positions.length) return;
  const read = (word: number, i: number) =>
    bitsAt(memory, positions[i] + word * site.wordBytes, site.wordBytes);
  if (site.kind === STORE) {
    for (const observer of group.launch.observers) {
      observer.onStored?.(access, (word, i) => BigInt(read(word, i)));
    }
  }
  if (!group.launch.valueObservers.length) return;
  const values = Array.from({ length: site.words }, (_, word) =>
    Uint32Array.from(positions, (_, i) => read(word, i)),
  );
  for (const observer of group.launch.valueObservers) observer.onValues?.(access, values);
}

function load(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { matrix, type } = match;
  const mover = new Mover(group, instruction, match, matrix, LOAD);
  const sizes = [match.m, match.n, match.k].map(Number) as Sizes;
  const native = fragmentOf(matrix, sizes, matrix === "c" ? 32 : BITS[type]);
  const out = itemsOf(group, instruction, 0);
  const packed = 4 / mover.bytes;
  const byRows =
    mover.bytes === 2 && matrix !== "c" ? rowLoad(mover, shapeOf(matrix, sizes)) : null;
  return inSpace(spaceOf(match), addressOf(group, instruction, 1), (space, addresses, mask) => {
    checkWholeWarps(group, instruction, mask);
    const found = new Uint32Array(group.warps * mover.size);
    if (space === "shared" && byRows) byRows(found, addresses, mask);
    else {
      mover.visit(space, addresses, mask, (access, first) => {
        access.positions.forEach((position, i) => {
          for (let one = 0; one < mover.together; one++) {
            const bits = bitsAt(access.memory, position + one * mover.bytes, mover.bytes);
            found[mover.indexOf(laneOf(access, i), first + one)] = bits;
          }
        });
        notifyValues(access);
      });
    }
    const registers = native.count / packed;
    for (let lane = 0; lane < group.lanes; lane++) {
      if (mask !== null && !mask[lane]) continue;
      const start = Math.floor(lane / WARP) * mover.size;
      out.forEach((register, number) => {
        // Fragments of halves have room for every element twice.
        const first = (lane % WARP) * native.count + (number % registers) * packed;
        let word = 0;
        for (let one = 0; one < packed; one++) {
          const at = native.rows[first + one] * mover.columns + native.columns[first + one];
          word |= found[start + at] << (8 * mover.bytes * one);
        }
        register.u32[lane] = word;
      });
    }
  });
}

/**
 * What loads 16-bit elements from shared memory as `ldmatrix` does, 16 bytes a lane, once for each
 * 16×16 elements: a matrix with a side of 32 has twice as many as lanes can ask for.
 */
function rowLoad(mover: Mover, shape: number[]) {
  const { group, byRow, stride, size, columns } = mover;
  const [slows, quicks] = byRow ? shape : shape.toReversed();
  const [high, wide] = [Math.min(slows, SIDE), Math.min(quicks, SIDE)];
  const site = new Site(mover.instruction, "shared", LOAD, 4, 4, false);
  const quickOf = (lane: number) => Math.floor((lane % WARP) / high) * 8;
  return (found: Uint32Array, addresses: Float64Array, mask: Mask | null) => {
    const asking = Uint8Array.from(addresses, (_, lane) =>
      lane % WARP < (high * wide) / 8 && (mask === null || mask[lane]) ? 1 : 0,
    );
    for (let y = 0; y < slows; y += high) {
      for (let x = 0; x < quicks; x += wide) {
        const asked = addresses.map((address, lane) => {
          const slow = ((lane % WARP) % high) + y;
          return address + (slow * Number(stride(lane)) + quickOf(lane) + x) * 2;
        });
        const access = begin(group, site, asked, asking.includes(0) ? asking : null);
        notifyValues(access);
        access.positions.forEach((position, i) => {
          const lane = laneOf(access, i);
          const [slow, start] = [((lane % WARP) % high) + y, Math.floor(lane / WARP) * size];
          for (let one = 0; one < 8; one++) {
            const quick = quickOf(lane) + x + one;
            const at = byRow ? slow * columns + quick : quick * columns + slow;
            found[start + at] = bitsAt(access.memory, position + 2 * one, 2);
          }
        });
      }
    }
  };
}

function store(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const mover = new Mover(group, instruction, match, "c", STORE);
  const registers = itemsOf(group, instruction, 1);
  return inSpace(spaceOf(match), addressOf(group, instruction, 0), (space, addresses, mask) => {
    checkWholeWarps(group, instruction, mask);
    mover.visit(space, addresses, mask, (access, first) => {
      access.positions.forEach((position, i) => {
        for (let one = 0; one < mover.together; one++) {
          const bits = elementIn(registers, laneOf(access, i), first + one, 8 * mover.bytes);
          for (let byte = 0; byte < mover.bytes; byte++) {
            access.memory.bytes[position + one * mover.bytes + byte] = bits >>> (8 * byte);
          }
        }
      });
      access.memory.markWritten(access.positions, mover.width);
      notifyValues(access);
    });
  });
}

function checkWholeWarps(group: ThreadGroup, { location }: Instruction, mask: Mask | null) {
  if (mask !== null && group.warpsOf(mask) * WARP !== countNonzero(mask)) {
    throw new PtxError(sentence("run.wmma", { place: location }));
  }
}

const SPACE = "(?<space>\\.global|\\.shared(?:::cta)?)?";

export const WMMA_OPERATIONS = operations([
  [
    `wmma\\.load\\.(?<matrix>a|b|c)\\.sync\\.aligned\\.(?<layout>row|col)\\.${SHAPE}${SPACE}` +
      "\\.(?<type>f16|bf16|tf32|f32|s8|u8|s32)",
    load,
  ],
  [
    `wmma\\.store\\.d\\.sync\\.aligned\\.(?<layout>row|col)\\.${SHAPE}${SPACE}` +
      "\\.(?<type>f16|f32|s32)",
    store,
  ],
]);
