// Which shared accesses ptxas merges: from the PTX as written to the machine code as compiled.
//
// ptxas joins shared loads of one basic block into 64-bit and 128-bit ones, and shared stores too.
// The rules were read off the machine code (`nvdisasm`) of test kernels for sm_90. For both:
//
// * The addresses differ by constants, and the wide access must be aligned for certain: symbolic.ts
//   follows the address back through the code and counts the zero bits its value must end in.
// * Global accesses, volatile and guarded ones, and elements narrower than 32 bits are never
//   merged.
//
// Loads:
//
// * No shared store, barrier or other write to shared memory stands between them.
// * Of the four words of an aligned 16-byte piece, three or four make one 128-bit load; otherwise
//   two words that fill an aligned 8-byte piece make one 64-bit load.
//
// Stores:
//
// * They follow each other, in any order: no other access of shared memory and no barrier stands
//   between them, not even a store to another piece.
// * They fill an aligned piece of 16 bytes, or where not all of it is written, one of 8 bytes. No
//   store may write what nothing asked for, so there are no holes.
// * The first store of a piece is as narrow as any.
//
// Not seen here: merging across basic blocks after ptxas has removed a branch. Loops that ptxas
// unrolls by itself are written out before, see unroll.ts.

import type { BasicBlock } from "./control_flow.ts";
import { type Instruction, TYPE_BYTES } from "./ptx.ts";
import { BlockValues, Knowledge, type Linear } from "./symbolic.ts";

/**
 * A load or store in the machine code that stands for one or several in the PTX. `offset`: where it
 * starts, in bytes from the address of the PTX instruction it takes the place of; `width`: bytes
 * per lane.
 */
interface WideAccess {
  offset: number;
  width: number;
}

/**
 * For a shared access's instruction index, the machine accesses issued in its place: one, several,
 * or none where those of another PTX instruction bring or take its words. Accesses that ptxas never
 * merges are left out.
 */
export type Merged = Map<number, WideAccess[]>;

/** A shared access of the PTX that may be merged. */
interface Asked {
  index: number;
  place: Linear;
  key: string;
  width: number;
}

const WORD = 4;
const WIDEST = 16;
const ORDERS = new Set(["bar", "barrier", "membar", "fence", "cp", "ldmatrix", "mbarrier", "wmma"]);
const ACCESSES = new Set(["ld", "st", "red", "atom"]);
const OTHER_SPACES = ["global", "local", "param", "const"];

/** What ptxas makes of every shared load and store that no guard stands before. */
export function mergeSharedAccesses(
  blocks: BasicBlock[],
  shared: { name: string; start: number }[],
): Merged {
  const knowledge = new Knowledge(blocks, shared);
  const merged: Merged = new Map();
  for (const block of blocks) {
    const values = new BlockValues(knowledge);
    const loads: Map<string, Asked[]> = new Map();
    const stores = new StoreRun(values, merged);
    for (const instruction of block.instructions) {
      const asked = mergeable(instruction, values);
      if (isLoad(instruction) && asked) {
        const alike = loads.get(asked.key);
        if (alike) alike.push(asked);
        else loads.set(asked.key, [asked]);
        stores.end();
      } else if (mayAccessShared(instruction)) {
        if (!isLoad(instruction)) mergeLoads(loads, values, merged);
        if (asked) stores.add(asked);
        else stores.end();
      }
      values.step(instruction);
    }
    mergeLoads(loads, values, merged);
    stores.end();
  }
  return merged;
}

/** Start of each word of an access. */
function wordsOf({ place, width }: Asked) {
  return Array.from({ length: width / WORD }, (_, word) => place.constant + BigInt(word * WORD));
}

/** The multiple of `piece` at or below a position. */
function down(position: bigint, piece: number) {
  return position - BigInt.asUintN(Math.log2(piece), position);
}

function isLoad({ parts }: Instruction) {
  return parts[0] === "ld" || parts[0] === "ldmatrix";
}

function mergeable({ index, parts, operands, guard }: Instruction, values: BlockValues) {
  const loads = parts[0] === "ld";
  if ((!loads && parts[0] !== "st") || parts.includes("volatile") || guard) return null;
  const address = operands[loads ? 1 : 0];
  const element = TYPE_BYTES.get(parts[parts.length - 1]) ?? 0;
  const fits = element === WORD || (!loads && element === 2 * WORD);
  if (!parts[1].startsWith("shared") || !fits || address.kind !== "address") return null;
  const vector = parts.find((part) => part === "v2" || part === "v4");
  const place = values.place(address);
  return { index, place, key: place.key, width: element * Number(vector?.slice(1) ?? 1) };
}

/** Whether it may read or write shared memory, or orders those that do. */
function mayAccessShared({ parts }: Instruction) {
  if (ORDERS.has(parts[0])) return true;
  // An access that names no space may go to shared memory.
  return ACCESSES.has(parts[0]) && !OTHER_SPACES.some((space) => parts.includes(space));
}

/**
 * Say what some loads become, and forget them.
 * @param loads by the unknowns of their addresses
 */
function mergeLoads(loads: Map<string, Asked[]>, values: BlockValues, merged: Merged) {
  for (const asked of loads.values()) {
    const alignment = values.alignment(asked[0].place.terms);
    const owner: Map<bigint, Asked> = new Map();
    for (const load of asked) {
      for (const word of wordsOf(load)) if (!owner.has(word)) owner.set(word, load);
      merged.set(load.index, []);
    }
    for (const [start, width] of piecesOf([...owner.keys()], alignment)) {
      // The machine load stands where the first of its words is needed.
      let first = null;
      for (let word = start; word < start + BigInt(width); word += BigInt(WORD)) {
        const load = owner.get(word);
        if (load && (!first || load.index < first.index)) first = load;
      }
      if (!first) continue;
      merged.get(first.index)?.push({ offset: Number(start - first.place.constant), width });
    }
    for (const { index, place, width } of asked) {
      // Where the analysis cannot prove the alignment of a vector, the programmer vouches for it:
      // it is never cut.
      const crooked = place.constant !== down(place.constant, width);
      if (width > WORD && (alignment < width || crooked)) merged.set(index, [{ offset: 0, width }]);
    }
  }
  loads.clear();
}

/** Cut words that are loaded into start and width of machine loads. */
function piecesOf(words: bigint[], alignment: number): [start: bigint, width: number][] {
  const ordered = words.sort((a, b) => (a < b ? -1 : Number(a > b)));
  const left = new Set(ordered);
  const pieces: [bigint, number][] = [];
  const inside = (start: bigint, width: number) =>
    Array.from({ length: width / WORD }, (_, word) => start + BigInt(word * WORD)).filter((word) =>
      left.has(word),
    );
  for (const word of ordered) {
    if (!left.has(word)) continue;
    const [quad, pair] = [down(word, 16), down(word, 8)];
    let [start, width] = [word, WORD];
    if (alignment >= 16 && inside(quad, 16).length >= 3) [start, width] = [quad, 16];
    else if (alignment >= 8 && inside(pair, 8).length === 2) [start, width] = [pair, 8];
    pieces.push([start, width]);
    for (const taken of inside(start, width)) left.delete(taken);
  }
  return pieces;
}

/** Stores that follow each other and lie in one aligned piece of shared memory. */
class StoreRun {
  stores: Asked[] = [];

  /** @param merged takes what the stores become */
  constructor(
    public values: BlockValues,
    public merged: Merged,
  ) {}

  /** Take in one more store; where it starts a new run, the one before it ends. */
  add(store: Asked) {
    if (!this.continues(store)) this.end();
    this.stores.push(store);
  }

  /** Say what the stores of the run become, and forget them. */
  end() {
    const { stores, merged } = this;
    this.stores = [];
    for (const { index, width } of stores) merged.set(index, [{ offset: 0, width }]);
    if (stores.some(({ width }) => width < stores[0].width)) return;
    // Whole pieces are merged last, over pairs of words.
    for (const width of [2 * WORD, WIDEST]) {
      for (const start of new Set(stores.map(({ place }) => down(place.constant, width)))) {
        const inside = stores.filter(({ place }) => down(place.constant, width) === start);
        const filled = inside.reduce((sum, store) => sum + store.width, 0);
        if (filled !== width || width > this.piece(inside[0])) continue;
        // The machine store stands where the last of its words is known.
        const last = inside.reduce((one, other) => (other.index > one.index ? other : one));
        for (const { index } of inside) merged.set(index, []);
        merged.set(last.index, [{ offset: Number(start - last.place.constant), width }]);
      }
    }
  }

  continues(store: Asked) {
    if (!this.stores.length || store.key !== this.stores[0].key) return false;
    const piece = this.piece(store);
    const taken = new Set(this.stores.flatMap(wordsOf));
    const first = this.stores[0].place.constant;
    const samePiece = down(store.place.constant, piece) === down(first, piece);
    return samePiece && !wordsOf(store).some((word) => taken.has(word));
  }

  /** Bytes of the pieces that the store's alignment allows. */
  piece({ place }: Asked) {
    return Math.min(WIDEST, this.values.alignment(place.terms));
  }
}
