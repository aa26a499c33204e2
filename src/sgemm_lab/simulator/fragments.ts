// Where the elements of matrices lie among the lanes of a warp, and what their bits stand for.
//
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k8 / m16n8k16". How `wmma` spreads a matrix over
// the lanes is left to the GPU; here it is as in `mma`, which an H200 makes of it.

import { WARP } from "../hardware.py";
import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import type { ThreadGroup } from "./group.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { fromHalf, type RegisterRow } from "./registers.ts";
import { sentence } from "./sentences.ts";

/** Row and column of an element of a lane. */
type Place = (lane: number, element: number) => [row: number, column: number];
export type Sizes = [m: number, n: number, k: number];

/** The sizes in an opcode of `wmma`. */
export const SHAPE = "m(?<m>8|16|32)n(?<n>8|16|32)k(?<k>8|16|32)";

/** How many bits an element has. */
export const BITS: Record<string, number> = {
  ...{ f16: 16, bf16: 16, tf32: 32, f32: 32, s8: 8, u8: 8, s32: 32 },
};

/** The rows of an operand in braces. */
export function itemsOf(
  group: ThreadGroup,
  { operands, location, opcode }: Instruction,
  position: number,
) {
  const operand = operands[position];
  if (operand?.kind !== "vector") throw new PtxError(sentence("run.mma", { place: `${location}` }));
  return operand.items.map((item) => {
    const row = group.registers.source(item, 4);
    if (!row) throw new TypeError(opcode);
    return row;
  });
}

/** Where the elements of a fragment lie in its matrix: `count` for each lane. */
export class Fragment {
  rows;
  columns;

  constructor(
    public count: number,
    place: Place,
  ) {
    const places = Array.from({ length: WARP * count }, (_, at) =>
      place(Math.floor(at / count), at % count),
    );
    this.rows = Int32Array.from(places, ([row]) => row);
    this.columns = Int32Array.from(places, ([, column]) => column);
  }
}

/** A fragment of A of `mma.m16n8`, of B or of C, repeated below or beside itself. */
export function fragmentOf(matrix: string, [m, n, k]: Sizes, bits: number): Fragment {
  if (m === 8 && (n > 8 || matrix === "a")) {
    // m8n32: the product is made transposed. Of m8n8, A lies as B does, transposed.
    const other = fragmentOf({ a: "b", b: "a" }[matrix] ?? matrix, [n, m, k], bits);
    const at = (lane: number, element: number) => lane * other.count + element;
    return new Fragment(other.count, (lane, element) => [
      other.columns[at(lane, element)],
      other.rows[at(lane, element)],
    ]);
  }
  const packed = 32 / bits;
  if (matrix === "a") {
    const each = k / 2;
    return new Fragment((each * m) / 16, (lane, element) => {
      const [tile, register] = [Math.floor(element / each), Math.floor((element % each) / packed)];
      const row = 16 * tile + (lane >> 2) + 8 * (register % 2);
      return [row, packed * ((lane & 3) + 4 * (register >> 1)) + (element % packed)];
    });
  }
  if (matrix === "b") {
    const each = k / 4;
    return new Fragment((each * n) / 8, (lane, element) => {
      const [tile, register] = [Math.floor(element / each), Math.floor((element % each) / packed)];
      return [packed * ((lane & 3) + 4 * register) + (element % packed), 8 * tile + (lane >> 2)];
    });
  }
  const across = n / 8;
  return new Fragment((4 * across * m) / 16, (lane, element) => {
    const tile = element >> 2;
    const row = 16 * Math.floor(tile / across) + (lane >> 2) + 8 * ((element >> 1) & 1);
    return [row, 8 * (tile % across) + 2 * (lane & 3) + (element & 1)];
  });
}

/** An element of so many bits in a word, which starts at a bit. */
export function partOf(word: number, start: number, bits: number) {
  return (word >>> (start & 31)) & (-1 >>> (32 - bits));
}

/** An element among the bits of a lane's registers. */
export function elementIn(registers: RegisterRow[], lane: number, element: number, bits: number) {
  const start = element * bits;
  return partOf(registers[start >> 5].u32[lane], start, bits);
}

function asFloat(bits: number) {
  FLOAT_BITS[0] = bits;
  return FLOAT[0];
}

/** What bits stand for. Of a float32 the tensor core ignores the 13 lowest bits. */
export const NUMBERS: Record<string, (bits: number) => number> = {
  f16: fromHalf,
  bf16: (bits) => asFloat(bits << 16),
  tf32: (bits) => asFloat(bits & 0xffffe000),
  f32: asFloat,
  s8: (bits) => (bits << 24) >> 24,
  u8: (bits) => bits,
  s32: (bits) => bits | 0,
};
