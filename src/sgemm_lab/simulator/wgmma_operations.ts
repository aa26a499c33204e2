// Matrix multiply-accumulate of a warp group, `wgmma`: four warps, factors in shared memory.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". Each warp of the four has 16
// rows of D, laid out as those of `mma`; nothing of it depends on the other three. A product is
// computed when it starts. That it runs on until `wgmma.wait_group` is seen by those who watch
// shared memory, and by `earlyUses`, which follows its registers through the kernel.

import { WARP } from "../hardware.py";
import { beginAlone } from "./accesses.ts";
import { type BasicBlock, END, successors } from "./control_flow.ts";
import { BITS, fragmentOf, itemsOf, NUMBERS, partOf } from "./fragments.ts";
import { LOAD, Site, type TensorRead, type ThreadGroup } from "./group.ts";
import { registersOf, registersRead, registersWritten } from "./operands.ts";
import { type Match, operations, reader, type Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { predicateOf } from "./registers.ts";
import { sentence } from "./sentences.ts";
import { elements, filling, floatBits, look, put, sumOfProducts } from "./tensor_operations.ts";

/** Bytes that always stand together in shared memory. */
export const PIECE = 16;
/** Bytes of a row of the swizzle's pattern, by the two highest bits of a descriptor. */
const SWIZZLES = [PIECE, 128, 64, 32];
const ROWS = 16;
/** Warps of a group, each of which has its rows. */
const GROUP_WARPS = 4;
const PRODUCT = "wgmma.mma_async";
const OLDEST = 8;
/** Stands for all registers of products before the first fence. */
const ANY = "";

/** Where a byte stands in a swizzled array: bits 4 to 6 are XORed with bits 7 to 9. */
export function swizzled(address: number, swizzle: number) {
  return address ^ ((address >> 3) & (Math.max(swizzle, PIECE) - PIECE));
}

/** A field of a descriptor, in bytes. */
const field = (descriptor: bigint, shift: bigint) =>
  Number((descriptor >> shift) & 0x3fffn) * PIECE;

/** A factor in shared memory: reads it for one warp by its descriptor. */
class Factor {
  /** elements of a piece */
  inPiece = (8 * PIECE) / BITS[this.type];
  depth = 2 * this.inPiece;
  into = elements(this.rows, this.depth);
  /** what `into` holds now: slot and descriptor */
  held = "";

  /** @param rows of a warp, or columns of B */
  constructor(
    public type: string,
    public rows: number,
    public transposed: boolean,
  ) {}

  /** Addresses of the pieces of one warp, line after line: rows, or k where it is transposed. */
  addresses(descriptor: bigint, part: number) {
    const { transposed, depth, inPiece, rows } = this;
    const width = SWIZZLES[Number(BigInt.asUintN(64, descriptor) >> 62n)];
    const [start, leading, stride] = [0n, 16n, 32n].map((shift) => field(descriptor, shift));
    const [lines, pieces] = transposed ? [depth, rows / inPiece] : [rows, depth / inPiece];
    const plain = width === PIECE;
    const inRow = width / PIECE;
    const [across, along] = plain ? [stride, leading] : [leading, stride];
    return Array.from({ length: lines * pieces }, (_, at) => {
      const line = Math.floor(at / pieces) + (transposed ? 0 : part * rows);
      const piece = (at % pieces) + (transposed ? part * pieces : 0);
      const [eights, rest] = [line >> 3, line & 7];
      const offset = transposed
        ? (piece % inRow) * PIECE + Math.floor(piece / inRow) * across + eights * along
        : piece * (plain ? leading : PIECE) + eights * stride;
      return swizzled(start + offset + rest * width, width);
    });
  }

  read(words: Int32Array, positions: Int32Array) {
    const { transposed, depth, inPiece, into, rows } = this;
    const pieces = (transposed ? rows : depth) / inPiece;
    const [bits, number] = [BITS[this.type], NUMBERS[this.type]];
    for (let at = 0; at < positions.length; at++) {
      const line = Math.floor(at / pieces);
      const first = (at % pieces) * inPiece;
      for (let one = 0; one < inPiece; one++) {
        const word = words[(positions[at] >> 2) + ((one * bits) >> 5)];
        const place = transposed ? (first + one) * depth + line : line * depth + first + one;
        put(into, place, number(partOf(word, one * bits, bits)));
      }
    }
    look(into);
  }
}

/** D = A·B, or A·B + D: one step for all warps that run it. */
function multiply(group: ThreadGroup, instruction: Instruction, { type, n }: Match): Step {
  const { operands, opcode, location } = instruction;
  const [columns, sums] = [Number(n), itemsOf(group, instruction, 0)];
  if (sums.length !== columns / 2) throw new TypeError(opcode);
  const held = operands[1].kind === "vector" ? itemsOf(group, instruction, 1) : null;
  const settings = operands
    .slice(4)
    .flatMap((o) => (o.kind === "immediate" ? [o.bits === 1n] : []));
  const sign = settings[0] === settings[1] ? 1 : -1;
  // TF32 is never transposed, nor is A in registers.
  const turned = [...(held ? [false] : []), ...settings.slice(2), false, false];
  const a = new Factor(type, ROWS, turned[0]);
  const b = new Factor(type, columns, turned[1]);
  const { depth } = a;
  const fillA =
    held &&
    filling(a.into, fragmentOf("a", [ROWS, columns, depth], BITS[type]), held, type, (row, k) => [
      row,
      k,
    ]);
  const starts = [1, 2].map((at) =>
    at === 1 && held ? null : reader(group, instruction, at, "u64"),
  );
  const adds = predicateOf(group.registers, operands[3]);
  const site = new Site(instruction, "shared", LOAD, PIECE, 1, false);
  const results = new Uint32Array(ROWS * columns);

  const load = (factor: Factor, start: (lane: number) => unknown, lane: number, part: number) => {
    const descriptor = start(lane) as bigint;
    const read = accessOf(group, site, lane, factor.addresses(descriptor, part));
    if (!read) return false;
    for (const observer of group.launch.observers) observer.onTensorRead?.(read);
    group.products.push({ ticket: group.committedProducts[lane], read });
    const key = `${group.slot[lane]} ${descriptor} ${part}`;
    if (factor.held !== key) factor.read(group.batch.shared.words, read.positions);
    factor.held = key;
    return true;
  };

  return (mask) => {
    [a.held, b.held] = ["", ""];
    const active = mask ?? group.alive;
    for (let first = 0; first < group.lanes; first += WARP) {
      const lanes = active.subarray(first, first + WARP);
      if (!lanes.includes(1)) continue;
      if (lanes.includes(0)) throw new PtxError(sentence("run.wmma", { place: `${location}` }));
      const part = Math.floor(group.thread[first] / WARP) % GROUP_WARPS;
      if (!starts[1] || !load(b, starts[1], first, 0)) continue;
      if (fillA) fillA(first);
      else if (!starts[0] || !load(a, starts[0], first, part)) continue;
      const add = (adds.row[first] ^ adds.flip) === 1;
      for (let at = 0; at < ROWS * columns; at++) {
        const [lane, number] = [Math.floor(at / sums.length), at % sums.length];
        const row = (lane >> 2) + 8 * ((number >> 1) & 1);
        const column = 8 * (number >> 2) + 2 * (lane & 3) + (number & 1);
        const addend = add ? sums[number].f32[first + lane] : 0;
        // The sum is cut towards zero, so that signs may be turned before and after it.
        const sum = sumOfProducts(
          a.into,
          row * depth,
          b.into,
          column * depth,
          depth,
          sign * addend,
        );
        results[at] = floatBits(sign * sum + 0);
      }
      for (let at = 0; at < ROWS * columns; at++) {
        sums[at % sums.length].u32[first + Math.floor(at / sums.length)] = results[at];
      }
    }
  };
}

/** Check where a factor stands, and say what a lane's warp reads; null if it is outside. */
function accessOf(group: ThreadGroup, site: Site, lane: number, pieces: number[]) {
  const { base, size } = group.batch.shared;
  const wrong = pieces.find((one) => one < base || one > base + size - PIECE);
  const access = beginAlone(group, site, lane, wrong ?? pieces[0]);
  if (wrong !== undefined) return null;
  const offset = group.sharedOffset[lane] - base;
  return { access, lane, positions: Int32Array.from(pieces, (one) => one + offset) };
}

function commit(group: ThreadGroup): Step {
  return (mask) => {
    for (let lane = 0; lane < group.lanes; lane++) {
      if (mask === null || mask[lane]) group.committedProducts[lane] += 1;
    }
  };
}

/** `wgmma.wait_group N`: all but the last N groups of products have read their factors. */
function wait(group: ThreadGroup, { operands }: Instruction): Step {
  const allowed = countOf(operands);
  return (mask) => {
    const isDone = ({ ticket, read: { lane } }: { ticket: number; read: TensorRead }) =>
      (mask === null || mask[lane] === 1) && ticket < group.committedProducts[lane] - allowed;
    const done = group.products.filter(isDone);
    group.products = group.products.filter((one) => !isDone(one));
    const reads = [done, group.products].map((some) => some.map(({ read }) => read));
    for (const observer of group.launch.observers) observer.onTensorDone?.(reads[0], reads[1]);
    // A product is one of four warps: where it is done, all four have come as far.
    const together: Map<string, [cluster: number, warps: Set<number>]> = new Map();
    for (const { lane } of reads[0]) {
      const [slot, warp] = [group.slot[lane], group.warpOf(lane)];
      const cluster = group.batch.clusterOf(slot);
      const key = `${slot} ${Math.floor(group.thread[lane] / WARP / GROUP_WARPS)}`;
      const [, warps] = together.get(key) ?? [cluster, new Set<number>()];
      together.set(key, [cluster, warps.add(warp)]);
    }
    for (const [cluster, warps] of together.values()) {
      group.batch.clocks?.synchronize(cluster, [...warps]);
    }
  };
}

function countOf(operands: Instruction["operands"]) {
  return operands[0]?.kind === "immediate" ? Number(operands[0].bits) : 0;
}

/** Registers of products that may run, and how many groups were committed since, at least. */
class Flight {
  sums: Map<string, number> = new Map();
  factors: Map<string, number> = new Map();
  /**
   * Registers of products that were written since the last `wgmma.fence`. Without what stands
   * between the fence and the end of its products: a compiler may move it there, and ptxas moves it
   * back.
   */
  dirty: Set<string> = new Set();
  fenced = false;

  /** Take in what may run on another path; tell whether that is new. */
  join(other: Flight) {
    const before = this.key();
    for (const [mine, others] of [
      [this.sums, other.sums],
      [this.factors, other.factors],
    ]) {
      for (const [name, age] of others) mine.set(name, Math.min(age, mine.get(name) ?? age));
    }
    for (const name of other.dirty) this.dirty.add(name);
    this.fenced &&= other.fenced;
    return before !== this.key();
  }

  copy() {
    const found = new Flight();
    found.join(this);
    found.fenced = this.fenced;
    return found;
  }

  /** A text that is another one after each change: ages only fall, and names only come. */
  key() {
    const ages = [this.sums, this.factors].map((one) => {
      let sum = 0;
      for (const age of one.values()) sum += age;
      return `${one.size} ${sum}`;
    });
    return `${ages} ${this.dirty.size} ${this.fenced}`;
  }

  /** Follow an instruction; return what is wrong with it, a key of the sentences. */
  after(instruction: Instruction, reads: string[], writes: string[]) {
    const { opcode, operands } = instruction;
    const [target = "", origin = ""] = copyOf(instruction) ?? [];
    if (opcode.startsWith("wgmma.fence")) {
      this.dirty.clear();
      this.fenced = true;
    } else if (opcode.startsWith("wgmma.commit")) {
      this.fenced = false;
      for (const ages of [this.sums, this.factors]) {
        for (const [name, age] of ages) ages.set(name, Math.min(age + 1, OLDEST));
      }
    } else if (opcode.startsWith("wgmma.wait")) {
      for (const ages of [this.sums, this.factors]) {
        for (const [name, age] of ages) if (age > countOf(operands)) ages.delete(name);
      }
    } else if (opcode.startsWith(PRODUCT)) {
      const early = reads.some((name) => this.sums.has(name));
      const unfenced = [ANY, ...reads, ...writes].some((name) => this.dirty.has(name));
      for (const name of writes) this.sums.set(name, 0);
      for (const name of reads) this.factors.set(name, 0);
      if (early) return "hazard.sum";
      return unfenced ? "hazard.fence" : null;
    } else if (origin && (this.sums.has(origin) || !this.dirty.has(origin))) {
      const age = this.sums.get(origin);
      this.dirty.delete(target);
      if (age !== undefined) this.sums.set(target, age);
      else if (this.sums.has(target)) return "hazard.sum";
      if (this.factors.has(target)) return "hazard.factor";
    } else {
      if (!this.fenced) for (const name of writes) this.dirty.add(name);
      if ([...reads, ...writes].some((name) => this.sums.has(name))) return "hazard.sum";
      if (writes.some((name) => this.factors.has(name))) return "hazard.factor";
    }
    return null;
  }
}

/** Target and source of a move between registers. */
function copyOf({ parts, operands: [target, origin] }: Instruction) {
  const moves = parts[0] === "mov" && target.kind === "register" && origin?.kind === "register";
  return moves ? [target.name, origin.name] : null;
}

/**
 * Find instructions that use registers of a product before it is waited for: by index of the
 * instruction a key of the sentences.
 */
export function earlyUses(blocks: BasicBlock[]) {
  const found: Map<number, "hazard.sum" | "hazard.factor" | "hazard.fence"> = new Map();
  const products = blocks.flatMap(({ instructions }) =>
    instructions.filter(({ opcode }) => opcode.startsWith(PRODUCT)),
  );
  if (!products.length) return found;
  // A descriptor is read when the product starts; elements in registers are until it is done.
  const held = products.flatMap(({ operands }) =>
    operands.slice(0, 2).filter(({ kind }) => kind === "vector"),
  );
  const mine = new Set(held.flatMap(registersOf).map(({ name }) => name));
  // A compiler may copy sums, which ptxas undoes: the copy may be what still runs.
  const copies = blocks.flatMap(({ instructions }) => instructions.flatMap((one) => [copyOf(one)]));
  for (let size = 0; size < mine.size; ) {
    size = mine.size;
    for (const copy of copies) {
      if (copy?.some((name) => mine.has(name))) for (const name of copy) mine.add(name);
    }
  }
  const names = (registers: { name: string }[]) =>
    registers.map(({ name }) => name).filter((name) => mine.has(name));
  const first = new Flight();
  first.dirty.add(ANY);
  const arriving = new Map([[0, first]]);
  const waiting = new Set([0]);
  while (waiting.size) {
    const number = Math.min(...waiting);
    waiting.delete(number);
    const flight = (arriving.get(number) as Flight).copy();
    for (const one of blocks[number].instructions) {
      const fault = flight.after(one, names(registersRead(one)), names(registersWritten(one)));
      if (fault && !found.has(one.index)) found.set(one.index, fault);
    }
    for (const next of successors(blocks[number])) {
      if (next === END) continue;
      const known = arriving.get(next);
      if (!known) arriving.set(next, flight.copy());
      if (!known || known.join(flight)) waiting.add(next);
    }
  }
  return found;
}

export const WGMMA_OPERATIONS = operations([
  [
    "wgmma\\.mma_async\\.sync\\.aligned\\.m64n(?<n>\\d+)k(?:8\\.f32(?=\\.tf32)|16\\.f32(?=\\.b?f16))" +
      "\\.(?<type>tf32|f16|bf16)\\.\\k<type>",
    multiply,
  ],
  ["wgmma\\.commit_group\\.sync\\.aligned", commit],
  ["wgmma\\.wait_group\\.sync\\.aligned", wait],
  ["wgmma\\.fence\\.sync\\.aligned", () => () => {}],
]);
